//! The report itself, for other programs and for `read`.

use exegete_core::report::Report;

/// The report as an indented document.
pub(crate) fn pretty(report: &Report) -> String {
    finish(serde_json::to_string_pretty(report))
}

/// The report as one line of JSON.
pub(crate) fn line(report: &Report) -> String {
    finish(serde_json::to_string(report))
}

/// Writing to memory what has strings for keys cannot fail, so there is no error to hand on. DEL and the C1 controls
/// need no escape in JSON, but a terminal may obey them.
fn finish(json: serde_json::Result<String>) -> String {
    let mut out = String::new();
    for c in json.unwrap_or_default().chars() {
        match c {
            '\u{7f}'..='\u{9f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('\n');
    out
}
