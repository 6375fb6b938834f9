//! What an experiment comes to.

use super::Sheet;
use crate::judgement::word;
use exegete_core::report::Judgement;

/// The verdict and its sentences.
pub(super) fn judgement(sheet: &mut Sheet, judgement: &Judgement) {
    sheet.caption(&word(judgement), 16.0, "bold");
    judgement.sentences.iter().for_each(|sentence| sheet.told(sentence, 12.0));
}
