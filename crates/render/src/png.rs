//! The picture as a bitmap, with letters of its own.

use crate::RenderOptions;
use exegete_core::report::Report;
use exegete_core::{Error, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

/// Latin, Greek, Cyrillic and signs; see `fonts/README.md`.
const FONTS: [&[u8]; 2] =
    [include_bytes!("../fonts/DejaVuSans.ttf"), include_bytes!("../fonts/DejaVuSans-Bold.ttf")];
/// Pixels a unit of the picture, so that letters are sharp on dense screens.
const SCALE: f64 = 2.0;
/// No bitmap has more pixels; a picture that would is drawn with fewer a unit.
const PIXELS: f64 = 60e6;

/// A report's texts and pictures as a PNG file on white paper.
pub fn png(report: &Report, options: &RenderOptions) -> Result<Vec<u8>> {
    let svg = crate::svg::render(report, options);
    let mut fonts = fontdb::Database::new();
    FONTS.iter().for_each(|font| fonts.load_font_data(font.to_vec()));
    fonts.set_sans_serif_family("DejaVu Sans");
    let options =
        Options { fontdb: Arc::new(fonts), font_family: "DejaVu Sans".to_owned(), ..Options::default() };
    let broken =
        |told: String| Error::Input(format!("the picture cannot be drawn: {told}; --format svg may serve"));
    let tree = Tree::from_str(&svg, &options).map_err(|error| broken(error.to_string()))?;
    let (wide, high) = (f64::from(tree.size().width()), f64::from(tree.size().height()));
    let scale = SCALE.min((PIXELS / (wide * high)).sqrt());
    let (columns, rows) = ((wide * scale).ceil() as u32, (high * scale).ceil() as u32);
    let too_large = || broken(format!("{columns} × {rows} pixels are too many"));
    let mut pixels = Pixmap::new(columns, rows).ok_or_else(too_large)?;
    resvg::render(&tree, Transform::from_scale(scale as f32, scale as f32), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| broken(error.to_string()))
}
