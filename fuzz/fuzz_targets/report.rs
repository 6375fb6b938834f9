//! Bytes as a saved report: refused in one line, or written in every format and read back as it was.
#![no_main]

use exegete_render::{Format, RenderOptions, read, render};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let report = match read(data) {
        Err(error) => return assert_one_line(&error.to_string()),
        Ok(report) => report,
    };
    for options in
        [RenderOptions::default(), RenderOptions { colour: true, width: 0, ..RenderOptions::default() }]
    {
        for format in Format::ALL {
            let written = render(&report, format, &options);
            assert!(written.ends_with('\n'), "{}", format.name());
            if matches!(format, Format::Json | Format::Jsonl) {
                assert_eq!(read(written.as_bytes()).as_ref().ok(), Some(&report), "{written}");
            }
        }
    }
});

fn assert_one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains(['\n', '\r']), "{message:?}");
}
