use super::ReplacementWords;
use exegete_core::report::Swap;
use exegete_core::{Encoded, Field, Token, Unit};
use std::sync::Arc;

/// Units that are replaced by a whole word each, in the order of the text.
pub(super) type Flips = Vec<(usize, u32)>;

/// A text with some units replaced, as the model reads it.
#[derive(Debug, Clone)]
pub(super) struct Flipped {
    pub(super) encoded: Arc<Encoded>,
    /// The tokens of each unit now.
    pub(super) places: Vec<Vec<usize>>,
}

/// These flips and one more, in the order of the text.
pub(super) fn with(flips: &Flips, unit: usize, id: u32) -> Flips {
    let at = flips.partition_point(|(other, _)| *other < unit);
    let mut flips = flips.clone();
    flips.insert(at, (unit, id));
    flips
}

/// Puts one token in the place of all tokens of each flipped unit. Spans go on pointing at the original text.
pub(super) fn apply(
    encoded: &Encoded,
    units: &[Unit],
    flips: &Flips,
    vocabulary: &ReplacementWords,
) -> Flipped {
    let mut owner = vec![None; encoded.len()];
    for (index, unit) in units.iter().enumerate() {
        unit.tokens.iter().for_each(|&token| owner[token] = Some(index));
    }
    let mut places = vec![Vec::new(); units.len()];
    let mut tokens: Vec<Token> = Vec::with_capacity(encoded.len());
    for (token, owner) in encoded.tokens.iter().zip(owner) {
        let flip = owner.and_then(|unit| flips.iter().find(|(flipped, _)| *flipped == unit));
        match (flip, owner) {
            (Some((unit, _)), _) if !places[*unit].is_empty() => continue,
            (Some(&(unit, id)), _) => {
                let piece = vocabulary.piece(id).unwrap_or_default().to_owned();
                tokens.push(Token { id, piece, span: Some(units[unit].span), ..token.clone() });
            }
            _ => tokens.push(token.clone()),
        }
        if let Some(unit) = owner {
            places[unit].push(tokens.len() - 1);
        }
    }
    let encoded = Encoded { tokens, fields: encoded.fields.clone(), truncated: encoded.truncated };
    Flipped { encoded: Arc::new(encoded), places }
}

/// The flips as changes of the text.
pub(super) fn swaps(
    encoded: &Encoded,
    units: &[Unit],
    flips: &Flips,
    vocabulary: &ReplacementWords,
) -> Vec<Swap> {
    let swap = |&(unit, id): &(usize, u32)| {
        let span = units[unit].span;
        Swap {
            field: span.field,
            start: span.start,
            end: span.end,
            before: encoded.slice(span).to_owned(),
            after: vocabulary.word(id).unwrap_or_default().to_owned(),
        }
    };
    flips.iter().map(swap).collect()
}

/// The fields after changes that do not overlap and come in the order of the text.
pub(super) fn written(fields: &[Field], swaps: &[Swap]) -> Vec<Field> {
    let mut fields = fields.to_vec();
    for swap in swaps.iter().rev() {
        let range = swap.start..swap.end;
        if let Some(field) =
            fields.get_mut(swap.field).filter(|field| field.text.get(range.clone()).is_some())
        {
            field.text.replace_range(range, &swap.after);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Example, Model, Units};
    use exegete_testkit::Toy;

    #[test]
    fn one_token_takes_the_place_of_a_whole_word() {
        let toy = Toy::default();
        let open = toy.open().unwrap();
        let vocabulary = ReplacementWords::of(open).unwrap();
        let encoded = open.encode(&Example::text("not good film")).unwrap();
        // "not good" as one unit of two tokens.
        let mut units = Units::Word.of(&encoded);
        let second = units.remove(1);
        units[0].tokens.extend(second.tokens);
        units[0].span.end = second.span.end;
        let flips = with(&with(&Vec::new(), 1, 1), 0, 2);
        assert_eq!(flips, [(0, 2), (1, 1)]);
        let flipped = apply(&encoded, &units, &flips, &vocabulary);
        let ids: Vec<u32> = flipped.encoded.tokens.iter().map(|token| token.id).collect();
        assert_eq!((ids, flipped.places), (vec![2, 1], vec![vec![0], vec![1]]));
        let swaps = swaps(&encoded, &units, &flips, &vocabulary);
        assert_eq!((swaps[0].before.as_str(), swaps[0].after.as_str()), ("not good", "bad"));
        assert_eq!(written(&encoded.fields, &swaps)[0].text, "bad good");
        let same = apply(&encoded, &units, &Vec::new(), &vocabulary);
        assert_eq!((&*same.encoded, same.places), (&encoded, vec![vec![0, 1], vec![2]]));
    }
}
