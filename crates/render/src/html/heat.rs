//! The text itself, each unit on a ground by its score.

use crate::figures::{column_decimals, error, share, signed};
use crate::markup::{Escaped, minus};
use crate::passage::{PassagePiece, passages as of};
use crate::scale::Scale;
use crate::sense::{SharedSense, exceptions, explained, without_sign};
use exegete_core::report::Attribution;

/// The marks of units.
pub(super) const LINES: [&str; 2] = ["dashed line", "solid line"];

/// The fields of a text, apart and with their names where there are several.
pub(super) fn passages(attribution: &Attribution) -> String {
    let scale = Scale::new(&attribution.values);
    let passages = of(&attribution.subject.input, &attribution.units);
    let named = passages.len() > 1;
    let mut out = String::new();
    for passage in &passages {
        let name = if named {
            format!("<figcaption>{}</figcaption>\n", Escaped(passage.name))
        } else {
            String::new()
        };
        let pieces: String =
            passage.pieces.iter().map(|piece| self::piece(piece, attribution, scale)).collect();
        out += &format!("<figure class=\"text\">\n{name}<p dir=\"auto\">{pieces}</p>\n</figure>\n");
    }
    out
}

/// Weak units have a number but no ground.
fn piece(piece: &PassagePiece<'_>, attribution: &Attribution, scale: Scale) -> String {
    let text = Escaped(piece.text);
    let Some(unit) = piece.unit else { return text.to_string() };
    let value = attribution.values.get(unit).copied().unwrap_or(f64::NAN);
    let decimals = column_decimals(scale.largest());
    let error =
        attribution.errors.get(unit).map_or_else(String::new, |own| format!(" {}", error(*own, decimals)));
    let title = format!("{}{error}, {}", minus(&signed(value, decimals)), share(scale.share(value)));
    match ground(scale.strength(value)) {
        Some(ground) => format!("<span {ground} title=\"{title}\">{text}</span>"),
        None => format!("<span title=\"{title}\">{text}</span>"),
    }
}

/// Attributes that colour something by a strength; none where it is too weak to see.
pub(super) fn ground(strength: f64) -> Option<String> {
    let class = if strength < 0.0 { "against" } else { "for" };
    (strength.abs() >= 0.04).then(|| format!("class=\"{class}\" style=\"--s:{:.2}\"", strength.abs()))
}

/// How to read the colours, and the marks that say the same without them.
pub(super) fn legend(target: &str, read: &SharedSense<'_>, [against, r#for]: [&str; 2]) -> String {
    let step = |strength: &f64| {
        ground(*strength)
            .map_or_else(String::new, |ground| format!("<span {ground}>&nbsp;&nbsp;&nbsp;</span>"))
    };
    let steps = |signs: &[f64]| -> String { signs.iter().map(step).collect() };
    let rising = [0.1, 0.3, 0.6, 1.0];
    let unsigned = match read {
        SharedSense::Alike(sense) => without_sign(*sense),
        SharedSense::Mixed(_) => None,
    };
    if let Some(words) = unsigned {
        return format!("<p class=\"legend\">{} {words} ({for})</p>\n", steps(&rising));
    }
    let falling = [-1.0, -0.6, -0.3, -0.1];
    let told = exceptions(read);
    format!(
        "<p class=\"legend\">against ({against}) {}{} for ({for}) <code>{}</code>{}</p>\n",
        steps(&falling),
        steps(&rising),
        Escaped(explained(target)),
        Escaped(&told)
    )
}
