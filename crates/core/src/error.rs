use thiserror::Error;

/// What went wrong, where, and what to do about it, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The user's text or data file.
    #[error("{0}")]
    Input(String),
    /// A fault of the model's files, of what they hold or of how they fit together.
    #[error("{0}")]
    Model(String),
    /// A request that makes no sense: an unknown site, a selection outside its axes, a wrong shape.
    #[error("{0}")]
    Request(String),
    /// A sound request that this model cannot serve.
    #[error("{0}")]
    Unsupported(String),
    /// The work was told to stop before its end; what was finished is kept.
    #[error("stopped before the end")]
    Stopped,
}

impl Error {
    /// Puts the place in front of the message: `file.txt: line 3: …`.
    #[must_use]
    pub fn at(self, place: impl std::fmt::Display) -> Self {
        let prefix = |message: String| format!("{place}: {message}");
        match self {
            Self::Input(m) => Self::Input(prefix(m)),
            Self::Model(m) => Self::Model(prefix(m)),
            Self::Request(m) => Self::Request(prefix(m)),
            Self::Unsupported(m) => Self::Unsupported(prefix(m)),
            Self::Stopped => Self::Stopped,
        }
    }
}

/// The result of everything in exegete that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;
