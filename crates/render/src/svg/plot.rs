//! Pictures of an item's rows, and words on grounds, one below the other.

use super::passage::{Look, PLAIN, text};
use super::{MARGIN, Sheet};
use crate::figures::count;
use crate::plot::{PAPER, Plot, Source, WeighedText, plot, weighed};
use exegete_core::report::{Picture, Shape};

/// Whether there was anything to draw.
pub(super) fn plots(sheet: &mut Sheet, pictures: &[Picture], source: Source<'_>) -> bool {
    let begun = sheet.y;
    for picture in pictures {
        match picture.shape {
            Shape::Words => words(sheet, picture, source),
            _ => plot(picture, source).iter().for_each(|plot| put(sheet, plot)),
        }
    }
    sheet.y > begun
}

/// A picture that is wider than the sheet makes it wider.
pub(super) fn put(sheet: &mut Sheet, plot: &Plot) {
    sheet.skip(10.0);
    sheet.caption(&plot.title, 13.0, "bold");
    sheet.skip(8.0);
    if !sheet.out.contains(PAPER) {
        sheet.out += PAPER;
    }
    sheet.width = sheet.width.max(plot.width + 2.0 * MARGIN);
    sheet.out +=
        &format!("<g class=\"plot\" transform=\"translate({MARGIN} {:.1})\">\n{}</g>\n", sheet.y, plot.body);
    sheet.skip(plot.height);
    plot.notes.iter().for_each(|note| sheet.told(note, 10.0));
}

fn words(sheet: &mut Sheet, picture: &Picture, source: Source<'_>) {
    let (texts, more) = weighed(picture, source);
    if texts.is_empty() {
        return;
    }
    sheet.skip(10.0);
    sheet.caption(&picture.title, 13.0, "bold");
    for WeighedText { name, sides } in &texts {
        sheet.skip(8.0);
        if !name.is_empty() {
            sheet.told(name, 11.0);
        }
        for side in sides {
            sheet.skip(6.0);
            sheet.caption(&side.name, 11.0, "normal");
            sheet.skip(4.0);
            let stretches = side.words.iter().flat_map(|(word, _, strength)| {
                [(word.as_str(), Look { strength: *strength, ..PLAIN }), (" ", PLAIN)]
            });
            text(sheet, stretches);
        }
    }
    if more > 0 {
        sheet.skip(6.0);
        sheet.caption(&format!("and {}", count(more, "more text")), 10.0, "normal");
    }
}
