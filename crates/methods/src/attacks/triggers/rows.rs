//! Which rows of a data set a trigger is looked for on, and which it is tried on afterwards.

use super::search::{Aim, Answering, sample};
use crate::{Corpus, TextSource};
use exegete_core::task::Classes;
use exegete_core::{Encoded, Error, Example, Open, Result, Row, Target, class_index};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Rows whose class is asked from the model where no row has a label.
const UNLABELLED: usize = 2000;

/// Texts of a source by their numbers, with the class of each.
#[derive(Clone)]
pub(super) struct Classed<'e> {
    pub(super) source: &'e dyn TextSource,
    pub(super) rows: Vec<(usize, usize)>,
    /// Whether the classes are the model's own answers.
    pub(super) by_model: bool,
}

impl Classed<'_> {
    /// Whether any row is of this class.
    pub(super) fn has(&self, class: usize) -> bool {
        self.rows.iter().any(|(_, own)| *own == class)
    }
}

/// The class of each text: its label, or what the model says where no text has one. Rows without a label among labelled
/// ones are left out.
pub(super) fn classed<'e>(
    corpus: &Corpus<'e>,
    source: &'e dyn TextSource,
    random: &mut ChaCha8Rng,
) -> Result<Classed<'e>> {
    let card = corpus.model.card();
    if card.task.classes() != Classes::One {
        return Err(Error::Unsupported(format!(
            "{} has no classes; triggers are looked for in classifiers",
            card.name
        )));
    }
    let (mut rows, mut texts) = (Vec::new(), 0);
    for text in corpus.pass(source)? {
        let (index, example) = text?;
        texts = index + 1;
        let Some(label) = example.label.as_deref() else { continue };
        let unknown = || {
            let known = card.labels.join(", ");
            Error::Input(format!("row {texts}: '{label}' is no label of {}; one of {known}", card.name))
        };
        rows.push((index, class_index(&card.labels, label).ok_or_else(unknown)?));
    }
    if !rows.is_empty() {
        return Ok(Classed { source, rows, by_model: false });
    }
    let some = sample(&(0..texts).collect::<Vec<_>>(), UNLABELLED, random);
    let open = corpus.model.require_open()?;
    let examples = corpus.fetch(source, &some)?;
    let encoded = examples.iter().map(|example| Ok(Row::new(open.encode(example)?)));
    let (mut classes, target) = (Vec::new(), Target::class(0));
    corpus.driver.read(corpus.model, encoded, &Answering { card, target: &target }, &mut |(_, class)| {
        classes.push(class);
        Ok(())
    })?;
    Ok(Classed { source, rows: some.into_iter().zip(classes).collect(), by_model: true })
}

/// Some of the rows that an aim concerns, as the model reads them.
pub(super) fn chosen<'e>(
    corpus: &Corpus<'e>,
    open: &dyn Open,
    classed: &Classed<'e>,
    aim: Aim,
    count: usize,
    random: &mut ChaCha8Rng,
) -> Result<Vec<(Example, Arc<Encoded>)>> {
    let concerned = classed.rows.iter().filter(|(_, class)| aim.concerns(*class)).map(|(index, _)| *index);
    let some = sample(&concerned.collect::<Vec<_>>(), count, random);
    let examples = corpus.fetch(classed.source, &some)?.into_iter();
    examples.map(|example| open.encode(&example).map(|encoded| (example, Arc::new(encoded)))).collect()
}
