//! What stands around marks, without the rest of a long text.

use super::{Mark, Stretch};

/// Words that are left on each side of a mark.
const AROUND: usize = 8;

/// Texts of so many words lose none.
const WHOLE: usize = 40;

/// In a long text, what has no mark is cut down to a few words on each side; what is left out becomes an ellipsis.
pub(crate) fn excerpt<'a>(stretches: &[Stretch<'a>]) -> Vec<Stretch<'a>> {
    if stretches.iter().map(|stretch| words(stretch.text).count()).sum::<usize>() <= WHOLE {
        return stretches.to_vec();
    }
    let last = stretches.len().saturating_sub(1);
    let cut = |(index, stretch): (usize, &Stretch<'a>)| match stretch.mark {
        Mark::Plain => around(stretch.text, index > 0 || last == 0, index < last || last == 0),
        _ => vec![*stretch],
    };
    stretches.iter().enumerate().flat_map(cut).collect()
}

/// The words after the mark before it, and the words before the mark after it.
fn around(text: &str, after: bool, before: bool) -> Vec<Stretch<'_>> {
    let starts: Vec<usize> = words(text).collect();
    let kept = AROUND * (usize::from(after) + usize::from(before));
    if starts.len() <= kept + 1 {
        return vec![Stretch::new(text, Mark::Plain)];
    }
    let mut parts = Vec::new();
    if after {
        parts.push(&text[..starts[AROUND]]);
    }
    parts.push(if before { "… " } else { "…" });
    if before {
        parts.push(&text[starts[starts.len() - AROUND]..]);
    }
    parts.into_iter().map(|part| Stretch::new(part, Mark::Plain)).collect()
}

/// The places where words begin, in bytes.
fn words(text: &str) -> impl Iterator<Item = usize> {
    let mut space = true;
    text.char_indices().filter_map(move |(at, c)| {
        let begins = space && !c.is_whitespace();
        space = c.is_whitespace();
        begins.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::signed;
    use super::*;

    fn numbers(range: std::ops::Range<usize>) -> String {
        range.map(|n| format!("{n} ")).collect()
    }

    #[test]
    fn marks_keep_their_neighbours() {
        let (long, few) = (numbers(0..50), numbers(0..30));
        let (plain, mark) = (|text| Stretch::new(text, Mark::Plain), Stretch::new("x", Mark::Held));
        for (stretches, expected) in [
            (vec![plain(&few), mark], format!("{few}[x]")),
            (vec![plain(&long), mark], format!("… {}[x]", numbers(42..50))),
            (vec![mark, plain(&long)], format!("[x]{}…", numbers(0..8))),
            (vec![mark, plain(&long), mark], format!("[x]{}… {}[x]", numbers(0..8), numbers(42..50))),
            (vec![plain(&long)], format!("{}… {}", numbers(0..8), numbers(42..50))),
            (vec![], String::new()),
        ] {
            assert_eq!(signed(&excerpt(&stretches)), expected);
        }
    }
}
