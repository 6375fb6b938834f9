use exegete_core::Span;

/// One row of generated data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GeneratedRow {
    /// A text, or a pair of texts, with its label.
    Labelled(LabelledRow),
    /// A text and what it becomes.
    Aligned(AlignedRow),
}

/// A text with its label and the bytes that decide it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelledRow {
    /// The text itself, field 0.
    pub text: String,
    /// The second text, field 1, in sets that have one.
    pub pair: Option<String>,
    /// The right label of the text.
    pub label: String,
    /// The bytes that make it right, in their order.
    pub truth: Vec<Span>,
    /// The row as a line for language models, in sets that have such lines.
    pub line: Option<String>,
}

/// A source and its target, word by word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlignedRow {
    /// The words that are given, with a space between two.
    pub source: String,
    /// The words that are to be made of them, with a space between two.
    pub target: String,
    /// Which word of the source each word of the target comes from: source and target, from 0, in the order of the source.
    pub alignment: Vec<(usize, usize)>,
}

impl GeneratedRow {
    /// The cells as files hold them, with the names of their columns.
    pub fn cells(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Labelled(row) => {
                let text = [("text", Some(row.text.clone())), ("pair", row.pair.clone())];
                let rest = [("label", Some(row.label.clone())), ("truth", Some(row.written_truth()))];
                text.into_iter().chain(rest).filter_map(|(name, cell)| Some((name, cell?))).collect()
            }
            Self::Aligned(row) => {
                let pairs: Vec<String> = row.alignment.iter().map(|(i, j)| format!("{i}-{j}")).collect();
                let (source, target) = (row.source.clone(), row.target.clone());
                vec![("source", source), ("target", target), ("alignment", pairs.join(" "))]
            }
        }
    }

    /// The row as a line for language models, in sets that have such lines.
    pub fn line(&self) -> Option<&str> {
        match self {
            Self::Labelled(row) => row.line.as_deref(),
            Self::Aligned(_) => None,
        }
    }
}

impl LabelledRow {
    /// `a-b` for every span, with the field before it where there are two.
    fn written_truth(&self) -> String {
        let span = |span: &Span| match self.pair {
            None => format!("{}-{}", span.start, span.end),
            Some(_) => format!("{}:{}-{}", span.field, span.start, span.end),
        };
        self.truth.iter().map(span).collect::<Vec<_>>().join(" ")
    }

    /// The row of a text whose words are known, with those that decide.
    pub(super) fn of_words(words: &[&str], label: &str, deciding: &[usize]) -> Self {
        let spans = spans(words);
        let truth = deciding.iter().map(|&word| spans[word]).collect();
        Self { text: words.join(" "), label: label.to_owned(), truth, ..Self::default() }
    }

    /// The same with the line that a language model learns from: the text, then the label.
    pub(super) fn with_line(self) -> Self {
        Self { line: Some(format!("{} {}", self.text, self.label)), ..self }
    }
}

/// The bytes of each word where one blank stands between each two.
pub(super) fn spans(words: &[&str]) -> Vec<Span> {
    let mut start = 0;
    let span = |word: &&str| {
        let span = Span { field: 0, start, end: start + word.len() };
        start = span.end + 1;
        span
    };
    words.iter().map(span).collect()
}
