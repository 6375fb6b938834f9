//! What an experiment comes to.

use super::table;
use crate::judgement::{findings, word};
use crate::markup::Escaped;
use exegete_core::report::Judgement;

/// The verdict, its sentences, the numbers behind them.
pub(super) fn judgement(judgement: &Judgement) -> String {
    let sentence = |text: &String| format!("<p class=\"verdict\">{}</p>\n", Escaped(text));
    let sentences: String = judgement.sentences.iter().map(sentence).collect();
    let findings = if judgement.findings.is_empty() {
        String::new()
    } else {
        let findings = findings(judgement);
        format!("<h2 class=\"part\">{}</h2>\n{}", Escaped(&findings.title), table::body(&findings))
    };
    format!("<h1>{}</h1>\n{sentences}{findings}{}", Escaped(&word(judgement)), super::notes(&judgement.notes))
}
