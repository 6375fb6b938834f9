//! Two opinions in one sentence, and a question about one of them.

use super::fillers::{opinion, sign};
use super::row::spans;
use super::words::ASPECTS;
use super::{GeneratedRow, GeneratedSet, LabelledRow, PAIR, RowDraws};

/// The opinion of the aspect that is asked for decides.
pub(super) const ASPECT: GeneratedSet = GeneratedSet {
    name: "aspect",
    summary: "two aspects with an opinion each; the pair names one, whose opinion decides",
    columns: PAIR,
    has_lines: false,
    parameters: &[],
    new: |_| Ok(Box::new(aspect)),
};

fn aspect(draws: &mut RowDraws) -> GeneratedRow {
    let first = draws.below(ASPECTS.len());
    let second = (first + 1 + draws.below(ASPECTS.len() - 1)) % ASPECTS.len();
    let asked = draws.below(2);
    let other = draws.coin();
    let (mut words, mut places) = (Vec::new(), [0; 2]);
    for (clause, aspect) in [first, second].into_iter().enumerate() {
        if clause == 1 {
            words.push(draws.pick(&["and", "but", ","]));
        }
        words.extend(["the", ASPECTS[aspect], "was"]);
        words.extend(draws.pick(&[None, Some("very"), Some("quite"), Some("rather")]));
        places[clause] = words.len();
        words.push(opinion(draws, if clause == asked { draws.side } else { other }));
    }
    GeneratedRow::Labelled(LabelledRow {
        text: words.join(" "),
        pair: Some(ASPECTS[[first, second][asked]].to_owned()),
        label: sign(draws.side).to_owned(),
        truth: vec![spans(&words)[places[asked]]],
        line: None,
    })
}
