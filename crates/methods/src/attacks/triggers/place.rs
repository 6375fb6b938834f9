use crate::attacks::ReplacementWords;
use exegete_core::{Encoded, Error, Result, Span, Token};
use std::ops::Range;
use std::sync::Arc;

/// Where a trigger is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SiteChoice {
    /// The field that the trigger is put into, from 0.
    pub(super) field: usize,
    /// Behind its last token instead of before its first.
    pub(super) after: bool,
}

impl SiteChoice {
    /// The text with a trigger, and where the trigger is. Where that is more than the model reads, the field loses its
    /// last tokens.
    pub(super) fn put(
        self,
        encoded: &Encoded,
        trigger: &[u32],
        vocabulary: &ReplacementWords,
        max_tokens: usize,
    ) -> Result<(Arc<Encoded>, Range<usize>)> {
        let own = self.tokens(encoded)?;
        let over = (encoded.len() + trigger.len()).saturating_sub(max_tokens);
        if over >= own.len() {
            return Err(Error::Input(format!(
                "a trigger of {} tokens leaves no room for the text in the {max_tokens} that the model reads",
                trigger.len()
            )));
        }
        let own = own.start..own.end - over;
        let at = if self.after { own.end } else { own.start };
        let model = &encoded.tokens[own.start];
        let end = encoded.tokens[own.end - 1].span.map_or(0, |span| span.end);
        let byte = if self.after { end } else { 0 };
        let token = |&id: &u32| Token {
            id,
            type_id: model.type_id,
            piece: vocabulary.piece(id).unwrap_or_default().to_owned(),
            span: Some(Span { field: self.field, start: byte, end: byte }),
            special: false,
            weight: None,
        };
        let mut tokens = encoded.tokens[..own.end].to_vec();
        tokens.extend_from_slice(&encoded.tokens[own.end + over..]);
        tokens.splice(at..at, trigger.iter().map(token));
        let truncated = encoded.truncated || over > 0;
        let put = Encoded { tokens, fields: encoded.fields.clone(), truncated };
        Ok((Arc::new(put), at..at + trigger.len()))
    }

    /// The tokens of the field.
    fn tokens(self, encoded: &Encoded) -> Result<Range<usize>> {
        let is_own = |token: &Token| token.span.is_some_and(|span| span.field == self.field);
        let first = encoded.tokens.iter().position(is_own);
        let last = encoded.tokens.iter().rposition(is_own);
        let found = first.zip(last).map(|(first, last)| first..last + 1);
        found.ok_or_else(|| Error::Request(format!("field={}: the texts have no such field", self.field + 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Example, Model};
    use exegete_testkit::Toy;

    /// The ids of the pair "good film" and "bad" between special tokens, with "not not" put in.
    fn check(field: usize, after: bool, max_tokens: usize, expected: &[u32], at: Range<usize>) {
        let toy = Toy::default();
        let open = toy.open().unwrap();
        let vocabulary = ReplacementWords::of(open).unwrap();
        let mut encoded = open.encode(&Example::pair("good film", "bad")).unwrap();
        let special = Token { id: 0, type_id: 0, piece: "?".into(), span: None, special: true, weight: None };
        encoded.tokens[2].type_id = 1;
        encoded.tokens.insert(2, special.clone());
        encoded.tokens.insert(0, special);
        let (put, range) =
            SiteChoice { field, after }.put(&encoded, &[3, 3], &vocabulary, max_tokens).unwrap();
        assert_eq!(put.tokens.iter().map(|token| token.id).collect::<Vec<_>>(), expected);
        assert_eq!(range, at);
        assert!(put.tokens[range].iter().all(|token| token.type_id == field as u32 && !token.special));
        assert_eq!(put.truncated, max_tokens < 7);
    }

    #[test]
    fn before_and_behind_each_field() {
        check(0, false, 99, &[0, 3, 3, 1, 4, 0, 2], 1..3);
        check(0, true, 99, &[0, 1, 4, 3, 3, 0, 2], 3..5);
        check(1, false, 99, &[0, 1, 4, 0, 3, 3, 2], 4..6);
        check(1, true, 7, &[0, 1, 4, 0, 2, 3, 3], 5..7);
        check(0, false, 6, &[0, 3, 3, 1, 0, 2], 1..3);
        check(0, true, 6, &[0, 1, 3, 3, 0, 2], 2..4);
    }

    #[test]
    fn what_has_no_place_is_refused() {
        let toy = Toy::default();
        let open = toy.open().unwrap();
        let vocabulary = ReplacementWords::of(open).unwrap();
        let encoded = open.encode(&Example::text("good film")).unwrap();
        let refused = |field: usize, max: usize| {
            assert!(SiteChoice { field, after: false }.put(&encoded, &[3], &vocabulary, max).is_err());
        };
        refused(1, 99);
        refused(0, 1);
    }
}
