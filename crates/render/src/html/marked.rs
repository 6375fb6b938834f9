//! Running text with what a rule holds and what edits change.

use crate::marked::{Mark, Marked, Stretch, excerpt};
use crate::markup::Escaped;

/// The fields of a text, apart and with their names where there are several. `whole` texts lose nothing; others are
/// shown as far as their marks reach.
pub(super) fn passages(fields: &[Marked<'_>], whole: bool) -> String {
    let field = |Marked { name, stretches }: &Marked<'_>| {
        let name = if fields.len() > 1 {
            format!("<figcaption>{}</figcaption>\n", Escaped(name))
        } else {
            String::new()
        };
        let stretches = if whole { stretches.clone() } else { excerpt(stretches) };
        let text = match stretches.is_empty() {
            true => "<span class=\"soft\">(no text)</span>".to_owned(),
            false => text(&stretches),
        };
        let class = if whole { "text" } else { "text small" };
        format!("<figure class=\"{class}\">\n{name}<p dir=\"auto\">{text}</p>\n</figure>\n")
    };
    fields.iter().map(field).collect()
}

/// Stretches one after the other, each with its mark.
pub(super) fn text(stretches: &[Stretch<'_>]) -> String {
    let before = std::iter::once(Mark::Plain).chain(stretches.iter().map(|stretch| stretch.mark));
    stretches.iter().zip(before).map(|(stretch, before)| marked(stretch, before)).collect()
}

/// What replaces something follows it after an arrow.
fn marked(stretch: &Stretch<'_>, before: Mark) -> String {
    let text = Escaped(stretch.text);
    match stretch.mark {
        Mark::Plain => text.to_string(),
        Mark::Held => format!("<mark title=\"the rule holds on to this\">{text}</mark>"),
        Mark::Removed => format!("<del title=\"taken out\">{text}</del>"),
        Mark::Added if before == Mark::Removed => {
            format!("<span class=\"arrow\">→</span><ins title=\"put in its place\">{text}</ins>")
        }
        Mark::Added => format!("<ins title=\"put in\">{text}</ins>"),
    }
}
