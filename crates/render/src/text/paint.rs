//! Text with a meaning that colour or signs can show.

use crate::visible::{isolated, visible};

/// What a stretch of text means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Tone {
    /// Text as it is, without colour.
    Plain,
    /// What the reader looks for first.
    Strong,
    /// What can be skipped.
    Faint,
    /// What should be known.
    Warning,
    /// Something that went wrong.
    Failure,
    /// A bar for the target.
    For,
    /// A bar against it.
    Against,
    /// A condition of a rule.
    Held,
    /// What was taken out.
    Removed,
    /// What was put in.
    Added,
    /// A score from −1 to 1.
    Heat(f64),
}

/// Text that is safe to print, and its tone.
#[derive(Debug, Clone)]
pub(super) struct Span {
    text: String,
    tone: Tone,
}

impl Span {
    /// Whatever steers terminals is taken out here, once, so that no caller can forget it.
    pub(super) fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: isolated(visible(text.as_ref())), tone }
    }

    pub(super) fn plain(text: impl AsRef<str>) -> Self {
        Self::new(text, Tone::Plain)
    }

    pub(super) fn strong(text: impl AsRef<str>) -> Self {
        Self::new(text, Tone::Strong)
    }

    pub(super) fn faint(text: impl AsRef<str>) -> Self {
        Self::new(text, Tone::Faint)
    }

    /// A unit of running text: right-to-left units are not fenced off one by one, or their order would turn.
    pub(super) fn running(text: &str, tone: Tone) -> Self {
        Self { text: visible(text), tone }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn tone(&self) -> Tone {
        self.tone
    }

    pub(super) fn width(&self) -> usize {
        crate::visible::width(&self.text)
    }

    /// The same tone over other text of this span.
    pub(super) fn with(&self, text: &str) -> Self {
        Self { text: text.to_owned(), tone: self.tone }
    }
}

/// The 256-colour sequence of a tone; none where it is shown as it is.
///
/// Blue is for, orange against. Strength goes from coloured letters over muted to vivid grounds of about the same
/// lightness, with black letters on them, so that it reads alike on dark and on light terminals.
pub(super) fn code(tone: Tone) -> Option<String> {
    let heat = |strength: f64| {
        let ramp = if strength < 0.0 { [172, 137, 173, 208] } else { [68, 67, 68, 33] };
        match strength.abs() {
            size if size >= 0.75 => Some(format!("1;38;5;16;48;5;{}", ramp[3])),
            size if size >= 0.5 => Some(format!("38;5;16;48;5;{}", ramp[2])),
            size if size >= 0.25 => Some(format!("38;5;16;48;5;{}", ramp[1])),
            size if size >= 1.0 / 12.0 => Some(format!("38;5;{}", ramp[0])),
            _ => None,
        }
    };
    match tone {
        Tone::Plain => None,
        Tone::Strong => Some("1".to_owned()),
        Tone::Faint => Some("2".to_owned()),
        Tone::Warning => Some("33".to_owned()),
        Tone::Failure => Some("1;31".to_owned()),
        Tone::For => Some("38;5;33".to_owned()),
        Tone::Against => Some("38;5;208".to_owned()),
        Tone::Held => Some("1;38;5;33".to_owned()),
        Tone::Removed => Some("9;38;5;208".to_owned()),
        Tone::Added => Some("4;38;5;33".to_owned()),
        Tone::Heat(strength) => heat(strength),
    }
}
