//! Lines that fit a terminal.

use super::paint::{Span, Tone, code};
use crate::visible::{fenced, width};
use unicode_segmentation::UnicodeSegmentation;

/// A terminal's lines, as they are put together.
pub(super) struct Screen {
    out: String,
    /// Whether escape sequences are written.
    pub(super) colour: bool,
    /// The columns of the terminal.
    pub(super) width: usize,
}

/// How a piece of running text joins the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// Without space; a break only where the whole does not fit a line.
    Glued,
    /// After a space, where lines may break.
    Spaced,
    /// The same with a space that belongs to a unit.
    Within,
    /// On a new line.
    Broken,
}

/// A piece of running text.
pub(super) struct Atom {
    pub(super) span: Span,
    pub(super) join: Join,
}

/// Running text on its way into lines.
struct Filling<'a> {
    screen: &'a mut Screen,
    lead: String,
    body: String,
    used: usize,
    hang: usize,
    fenced: bool,
}

impl Screen {
    pub(super) fn new(colour: bool, width: usize) -> Self {
        Self { out: String::new(), colour, width }
    }

    /// Everything, with one newline at the end and no empty line before it.
    pub(super) fn finish(self) -> String {
        format!("{}\n", self.out.trim_end())
    }

    /// An empty line, unless there is one.
    pub(super) fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Spans as they are on one line; the caller has seen to their width.
    pub(super) fn row(&mut self, spans: &[Span]) {
        let line: String = spans.iter().map(|span| self.painted(span)).collect();
        self.push(&line);
    }

    /// Spans broken into lines at spaces: the first begins at `indent`, the others at `hang`.
    pub(super) fn line(&mut self, indent: usize, hang: usize, spans: &[Span]) {
        self.fill(&" ".repeat(indent), hang, &words(spans), false);
    }

    /// A name with spans beside it, in a column of their own.
    pub(super) fn entry(&mut self, name: &str, column: usize, spans: &[Span]) {
        self.fill(
            &format!("  {name:<width$} ", width = column.saturating_sub(3)),
            column,
            &words(spans),
            false,
        );
    }

    /// Running text after a lead. `fenced` lines run in the direction of their own first letter.
    pub(super) fn fill(&mut self, lead: &str, hang: usize, atoms: &[Atom], fenced: bool) {
        let (lead, used) = (lead.to_owned(), width(lead));
        let mut filling = Filling { screen: self, lead, body: String::new(), used, hang, fenced };
        let mut rest = atoms;
        while let Some(first) = rest.first() {
            let glued = rest[1..].iter().take_while(|atom| atom.join == Join::Glued).count();
            let (run, after) = rest.split_at(glued + 1);
            filling.run(first.join, run);
            rest = after;
        }
        filling.end();
    }

    fn painted(&self, span: &Span) -> String {
        match code(span.tone()).filter(|_| self.colour && !span.text().is_empty()) {
            Some(code) => format!("\u{1b}[{code}m{}\u{1b}[0m", span.text()),
            None => span.text().to_owned(),
        }
    }

    fn push(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }
}

impl Filling<'_> {
    /// Atoms without space between them stay together where a line can hold them.
    fn run(&mut self, join: Join, run: &[Atom]) {
        if join == Join::Broken {
            self.end();
        }
        let columns: usize = run.iter().map(|atom| atom.span.width()).sum();
        let space = usize::from(self.begun() && matches!(join, Join::Spaced | Join::Within));
        let fits = self.used + space + columns <= self.screen.width;
        if !fits && self.used > self.hang && self.hang + columns <= self.screen.width {
            self.end();
        }
        for (index, atom) in run.iter().enumerate() {
            self.atom(atom, if index == 0 { join } else { Join::Glued });
        }
    }

    fn atom(&mut self, atom: &Atom, join: Join) {
        let space = self.begun() && matches!(join, Join::Spaced | Join::Within);
        if self.used > self.hang && self.used + usize::from(space) + atom.span.width() > self.screen.width {
            self.end();
        } else if space {
            let tone = if join == Join::Within { atom.span.tone() } else { Tone::Plain };
            self.body.push_str(&self.screen.painted(&Span::running(" ", tone)));
            self.used += 1;
        }
        for piece in self.cut(&atom.span) {
            if self.used > self.hang && self.used + piece.width() > self.screen.width {
                self.end();
            }
            self.body.push_str(&self.screen.painted(&piece));
            self.used += piece.width();
        }
    }

    /// A span that no line can hold, in pieces that one can.
    fn cut(&self, span: &Span) -> Vec<Span> {
        let room = self.screen.width.saturating_sub(self.hang).max(2);
        if span.width() <= room {
            return vec![span.clone()];
        }
        let mut pieces = vec![String::new()];
        for grapheme in span.text().graphemes(true) {
            if pieces.last().is_some_and(|piece| width(piece) + width(grapheme) > room) {
                pieces.push(String::new());
            }
            if let Some(piece) = pieces.last_mut() {
                piece.push_str(grapheme);
            }
        }
        pieces.iter().map(|piece| span.with(piece)).collect()
    }

    fn begun(&self) -> bool {
        !self.body.is_empty()
    }

    fn end(&mut self) {
        let lead = std::mem::replace(&mut self.lead, " ".repeat(self.hang));
        let body = std::mem::take(&mut self.body);
        self.used = self.hang;
        if body.is_empty() && lead.trim().is_empty() {
            return;
        }
        let body = body.trim_end();
        let body = if self.fenced { fenced(body) } else { body.to_owned() };
        self.screen.push(&format!("{lead}{body}"));
    }
}

/// Spans cut at their spaces.
pub(super) fn words(spans: &[Span]) -> Vec<Atom> {
    let mut atoms = Vec::new();
    let mut join = Join::Glued;
    for span in spans {
        for (index, word) in span.text().split(' ').enumerate() {
            if index > 0 {
                join = Join::Spaced;
            }
            if !word.is_empty() {
                atoms.push(Atom { span: span.with(word), join });
                join = Join::Glued;
            }
        }
    }
    atoms
}
