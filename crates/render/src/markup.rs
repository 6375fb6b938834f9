//! Text inside HTML and SVG.

use std::fmt;

/// Text with everything escaped that means something in markup, attributes included, and nothing that steers a
/// reader's machine. Line breaks stay.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' => f.write_str("\n")?,
                c => f.write_str(&crate::visible::visible(c.encode_utf8(&mut [0; 4])))?,
            }
        }
        Ok(())
    }
}

/// A number with a true minus sign.
pub(crate) fn minus(number: &str) -> String {
    number.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_markup_reads() {
        for (text, expected) in [
            ("<script>alert('x')</script>", "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"),
            ("\" onmouseover=\"x", "&quot; onmouseover=&quot;x"),
            ("a\0\u{1b}b\nc\r", "a␀␛b\nc "),
            ("&lt;", "&amp;lt;"),
        ] {
            assert_eq!(Escaped(text).to_string(), expected);
        }
    }
}
