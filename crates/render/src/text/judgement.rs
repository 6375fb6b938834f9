//! What an experiment comes to.

use super::paint::Span;
use super::screen::Screen;
use super::table;
use crate::judgement::{findings, word};
use exegete_core::report::Judgement;

/// The verdict, its sentences, the numbers behind them.
pub(super) fn judgement(screen: &mut Screen, judgement: &Judgement) {
    screen.line(0, 2, &[Span::strong(word(judgement))]);
    for sentence in &judgement.sentences {
        screen.line(0, 2, &[Span::plain(sentence)]);
    }
    if !judgement.findings.is_empty() {
        screen.blank();
        table::table(screen, &findings(judgement));
    }
    super::notes(screen, 0, &judgement.notes);
}
