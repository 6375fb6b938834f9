//! Pictures of an item's rows, and words on grounds.

use super::heat::ground;
use crate::figures::{count, figure};
use crate::markup::{Escaped, minus};
use crate::plot::{Plot, Source, Weighed, WeighedText, plot, weighed};
use exegete_core::report::{Picture, Shape};

/// Larger than on paper, so that letters are as large as the page's.
const LARGEST: f64 = 1.3;
/// Smaller letters could not be read: a narrow page scrolls.
const SMALLEST: f64 = 0.74;

/// All pictures of an item.
pub(super) fn plots(pictures: &[Picture], source: Source<'_>) -> String {
    let drawn: String = pictures.iter().filter_map(|picture| one(picture, source)).collect();
    if drawn.is_empty() { drawn } else { format!("<div class=\"plots\">\n{drawn}</div>\n") }
}

fn one(picture: &Picture, source: Source<'_>) -> Option<String> {
    if picture.shape == Shape::Words {
        return words(picture, source);
    }
    plot(picture, source).map(|plot| figure_of(&plot))
}

/// A laid out picture under its title.
pub(super) fn figure_of(plot: &Plot) -> String {
    let (wide, high) = (plot.width, plot.height);
    let notes: String =
        plot.notes.iter().map(|note| format!("<p class=\"soft\">{}</p>\n", Escaped(note))).collect();
    let title = Escaped(&plot.title);
    format!(
        "<figure>\n<figcaption>{title}</figcaption>\n<div class=\"wide\"><svg class=\"plot\" role=\"img\" viewBox=\"0 0 {wide:.0} {high:.0}\" \
         style=\"width:{:.0}px;min-width:{:.0}px\"><title>{title}</title>\n{}</svg></div>\n{notes}</figure>\n",
        wide * LARGEST,
        wide * SMALLEST,
        plot.body
    )
}

/// Each text by its weightings side by side.
fn words(picture: &Picture, source: Source<'_>) -> Option<String> {
    let (texts, more) = weighed(picture, source);
    let side = |side: &Weighed| {
        let words: Vec<String> = side.words.iter().map(word).collect();
        format!(
            "<div><figure class=\"text\">\n<figcaption>{}</figcaption>\n<p dir=\"auto\">{}</p>\n</figure></div>\n",
            Escaped(&side.name),
            words.join(" ")
        )
    };
    let text = |WeighedText { name, sides }: &WeighedText| {
        let name = if name.is_empty() { String::new() } else { format!("<p>{}</p>\n", Escaped(name)) };
        format!("{name}<div class=\"columns\">\n{}</div>\n", sides.iter().map(side).collect::<String>())
    };
    let texts: String = texts.iter().map(text).collect();
    let more = if more == 0 {
        String::new()
    } else {
        format!("<p class=\"soft\">and {}</p>\n", count(more, "more text"))
    };
    (!texts.is_empty()).then(|| {
        format!("<div class=\"weighed\">\n<h3>{}</h3>\n{texts}{more}</div>\n", Escaped(&picture.title))
    })
}

fn word((word, weight, strength): &(String, f64, f64)) -> String {
    let (word, title) = (Escaped(word), minus(&figure(*weight)));
    match ground(*strength) {
        Some(ground) => format!("<span {ground} title=\"{title}\">{word}</span>"),
        None => format!("<span title=\"{title}\">{word}</span>"),
    }
}
