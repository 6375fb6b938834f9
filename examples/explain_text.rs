//! Explains a text with the model that is part of the program, and writes a page that any browser shows.
//!
//!     cargo run --release --example explain_text
#![allow(clippy::print_stdout, reason = "an example speaks to whoever runs it")]

use exegete::LoadOptions;
use exegete::render::{Format, render};

const TEXT: &str = "The acting is wonderful, but the plot is a terrible mess and I nearly fell asleep.";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = exegete::load_default(&LoadOptions::default())?;
    let report = exegete::explain(&*model, TEXT)?;

    // One report, any format: here for the terminal and as one self-contained page.
    print!("{}", render(&report, Format::Text, &Default::default()));

    let page = std::env::temp_dir().join("why.html");
    std::fs::write(&page, render(&report, Format::Html, &Default::default()))?;
    println!("\nthe same with its charts: {}", page.display());
    Ok(())
}
