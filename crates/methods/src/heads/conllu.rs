//! Sentences of treebanks in the CoNLL-U format: ten columns a word, an empty line behind each sentence. Lines of several
//! words (`1-2`) and of words that are not written (`1.1`) are passed over.

use std::ops::Range;

/// A sentence and its tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeSentence {
    /// The words with spaces between them, except where the treebank says that there is none.
    pub text: String,
    /// The bytes of each word in the text.
    pub spans: Vec<Range<usize>>,
    /// The head of each word, from 1; 0 for the root.
    pub heads: Vec<usize>,
    /// The relation of each word to its head, without what follows a colon.
    pub relations: Vec<String>,
}

/// Reads sentences line by line.
#[derive(Debug, Default)]
pub struct ConlluReader {
    sentence: TreeSentence,
    /// The line of each word's head.
    lines: Vec<usize>,
    /// Whether a space stands before the next word.
    space: bool,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConlluError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl ConlluReader {
    /// Takes a line; an empty one ends a sentence, which is returned. Call it with an empty line at the end of the file.
    pub fn line(&mut self, number: usize, line: &str) -> Result<Option<TreeSentence>, ConlluError> {
        if line.trim().is_empty() {
            return self.finished();
        }
        if line.starts_with('#') {
            return Ok(None);
        }
        let wrong = |what: String| ConlluError { line: number, what };
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, form, _, _, _, _, head, relation, _, misc] = columns[..] else {
            return Err(wrong(format!("has {} columns between tabs; CoNLL-U has ten", columns.len())));
        };
        if id.contains(['-', '.']) {
            return Ok(None);
        }
        let expected = self.sentence.heads.len() + 1;
        if id.parse() != Ok(expected) {
            return Err(wrong(format!("the word's number is '{id}', expected {expected}")));
        }
        if form.trim().is_empty() || relation.is_empty() {
            return Err(wrong("the word or its relation is empty".to_owned()));
        }
        let head = head.parse().map_err(|_| wrong(format!("the head '{head}' is no number")))?;
        self.add(number, form, head, relation, !misc.split('|').any(|word| word == "SpaceAfter=No"));
        Ok(None)
    }

    fn add(&mut self, number: usize, form: &str, head: usize, relation: &str, space: bool) {
        let sentence = &mut self.sentence;
        if self.space && !sentence.text.is_empty() {
            sentence.text.push(' ');
        }
        let start = sentence.text.len();
        sentence.text.push_str(form);
        sentence.spans.push(start..sentence.text.len());
        sentence.heads.push(head);
        sentence.relations.push(relation.split(':').next().unwrap_or_default().to_owned());
        self.lines.push(number);
        self.space = space;
    }

    fn finished(&mut self) -> Result<Option<TreeSentence>, ConlluError> {
        let Self { sentence, lines, .. } = std::mem::take(self);
        let words = sentence.heads.len();
        if let Some(i) = sentence.heads.iter().position(|&head| head > words) {
            let what = format!("the head {} of a sentence of {words} words", sentence.heads[i]);
            return Err(ConlluError { line: lines[i], what });
        }
        Ok((words > 0).then_some(sentence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<TreeSentence>, ConlluError> {
        let mut reader = ConlluReader::default();
        let mut found = Vec::new();
        for (i, line) in text.lines().chain([""]).enumerate() {
            found.extend(reader.line(i + 1, line)?);
        }
        Ok(found)
    }

    fn word(id: &str, form: &str, head: &str, relation: &str, misc: &str) -> String {
        format!("{id}\t{form}\t_\t_\t_\t_\t{head}\t{relation}\t_\t{misc}\n")
    }

    #[test]
    fn several_words_and_unwritten_ones_are_passed_over() {
        let text = [
            "# text = I don't.\n".to_owned(),
            word("1", "I", "2", "nsubj:pass", "_"),
            word("2-3", "don't", "_", "_", "SpaceAfter=No"),
            word("2", "do", "0", "root", "_"),
            word("3", "n't", "2", "advmod", "SpaceAfter=No|X=Y"),
            word("3.1", "go", "_", "_", "_"),
            word("4", ".", "2", "punct", "_"),
        ];
        let [found] = &read(&text.concat()).unwrap()[..] else { panic!("one sentence") };
        assert_eq!(found.text, "I do n't.");
        assert_eq!(found.heads, [2, 0, 2, 2]);
        assert_eq!(found.relations, ["nsubj", "root", "advmod", "punct"]);
        assert_eq!(
            found.spans.iter().map(|span| &found.text[span.clone()]).collect::<Vec<_>>(),
            ["I", "do", "n't", "."]
        );
    }

    #[test]
    fn what_is_broken_is_named_with_its_line() {
        let cases = [
            ("# x\n1\tI\t_\t_\n".to_owned(), 2, "4 columns"),
            (word("1", "I", "0", "root", "_") + &word("3", "x", "1", "obj", "_"), 2, "expected 2"),
            (word("1", "I", "two", "root", "_"), 1, "'two'"),
            (word("1", "I", "0", "root", "_") + &word("2", "x", "7", "obj", "_"), 2, "head 7"),
            (word("1", "I", "0", "", "_"), 1, "empty"),
        ];
        for (text, line, what) in cases {
            let error = read(&text).unwrap_err();
            assert!(error.line == line && error.what.contains(what), "{error:?}");
        }
    }
}
