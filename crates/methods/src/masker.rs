use crate::baseline::{MASK, PAD, UNKNOWN, special};
use crate::words::{Word, Words};
use crate::{Question, Set, Stream};
use exegete_core::{
    Axis, Change, Edit, Encoded, Error, Field, Model, Pick, Result, Row, Span, Target, Token,
};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// How units of a text become absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Masker {
    /// They are taken out, and what follows moves up.
    #[default]
    Delete,
    /// Their tokens become the mask token.
    Mask,
    /// They become the padding token, which is attended to.
    Pad,
    /// They become the unknown token.
    Unknown,
    /// Their word vectors become zero.
    Zero,
    /// Each becomes a word that is drawn for it.
    Sampled(Arc<Words>),
}

/// Streams are told apart by draw and unit; a text has fewer units than this.
const MOST_UNITS: u64 = 1 << 20;

impl Masker {
    /// Every masker that needs no words.
    pub const ALL: [Self; 5] = [Self::Delete, Self::Mask, Self::Pad, Self::Unknown, Self::Zero];

    /// The masker for a text and a target: deletion, unless positions must stay or nothing would be left to read.
    ///
    /// Positions must stay where the target is about one, or where the row carries edits, which are made for its length.
    /// A model that reads plain text may be given an empty one.
    pub fn suited(job: &Question<'_>) -> Self {
        let hidden: usize = job.units.iter().map(|unit| unit.tokens.len()).sum();
        let left = job.encoded().len().saturating_sub(hidden);
        let readable = left > 0 || job.model.open().is_none();
        let movable = readable && job.row.edits.is_empty() && !is_about_a_position(job.model, &job.target);
        if movable { Self::Delete } else { Self::in_place(job.model) }
    }

    /// The first of mask, unknown, padding and zero that the model's vocabulary has.
    pub fn in_place(model: &dyn Model) -> Self {
        let known = [Self::Mask, Self::Unknown, Self::Pad].into_iter();
        known.into_iter().find(|masker| masker.token(model).is_ok()).unwrap_or(Self::Zero)
    }

    /// Whether hiding the same units again may give another text.
    pub fn draws(&self) -> bool {
        matches!(self, Self::Sampled(_))
    }

    /// The row without some of its units. Of a masker that draws, each `draw` is another text, and one draw puts the same
    /// word in a unit's place whatever else is hidden.
    pub fn hide(&self, job: &Question<'_>, hidden: &Set, draw: u64) -> Result<Row> {
        let row = &job.row;
        if hidden.is_empty() {
            return Ok(row.clone());
        }
        let tokens = tokens(job, hidden)?;
        match self {
            Self::Delete | Self::Sampled(_) if !row.edits.is_empty() => Err(Error::Request(
                "tokens of an edited text cannot be deleted: its edits are made for its length; use mask or zero"
                    .into(),
            )),
            Self::Delete => Ok(Row::new(without(job, &tokens)?)),
            Self::Sampled(words) => self.replaced(job, words, hidden, draw),
            Self::Zero if job.model.open().is_none() => Err(Error::Unsupported(format!(
                "{} gives predictions only, so no word vector can be zero; use delete, mask or sampled",
                job.card().name
            ))),
            Self::Zero => {
                let at = vec![Pick::Only(tokens)];
                Ok(row.clone().edit(Edit { site: job.words()?, at, change: Change::Zero }))
            }
            Self::Mask | Self::Pad | Self::Unknown => {
                let Token { id, piece, .. } = self.token(job.model)?;
                let mut encoded = Encoded::clone(&row.encoded);
                for token in tokens {
                    let token = &mut encoded.tokens[token];
                    (token.id, token.piece) = (id, piece.clone());
                }
                Ok(Row { encoded: Arc::new(encoded), ..row.clone() })
            }
        }
    }

    /// What a reader sees of the text then.
    pub fn shown(&self, job: &Question<'_>, hidden: &Set, draw: u64) -> Result<Vec<Field>> {
        let mut pieces: Vec<(Span, String)> = Vec::new();
        for (index, unit) in job.units.iter().enumerate() {
            let piece = match hidden.contains(&index) {
                false => Some(job.encoded().slice(unit.span).to_owned()),
                true => self.instead(job, index, draw)?,
            };
            pieces.extend(piece.map(|piece| (unit.span, piece)));
        }
        let field = |(index, field): (usize, &Field)| {
            let own = pieces.iter().filter(|(span, _)| span.field == index);
            field.with(&own.map(|(span, piece)| (*span, piece.as_str())).collect::<Vec<_>>())
        };
        Ok(job.encoded().fields.iter().enumerate().map(field).collect())
    }

    /// What a reader sees in place of one unit; nothing where it is taken out.
    pub fn instead(&self, job: &Question<'_>, unit: usize, draw: u64) -> Result<Option<String>> {
        Ok(match self {
            Self::Mask | Self::Pad | Self::Unknown => Some(self.token(job.model)?.piece),
            Self::Sampled(words) => Some(drawn(words, job, unit, draw).text.clone()),
            Self::Delete | Self::Zero => None,
        })
    }

    fn replaced(&self, job: &Question<'_>, words: &Words, hidden: &Set, draw: u64) -> Result<Row> {
        if is_about_a_position(job.model, &job.target) {
            return Err(Error::Request(format!(
                "the target {} is about one token, which other words would move; use mask or zero",
                job.target
            )));
        }
        let mut first = vec![None; job.encoded().len()];
        let mut gone = vec![false; job.encoded().len()];
        for &unit in hidden {
            let own = &job.units[unit].tokens;
            own.iter().for_each(|&token| gone[token] = true);
            own.iter().take(1).for_each(|&token| first[token] = Some(unit));
        }
        let mut encoded = Encoded { tokens: Vec::new(), ..Encoded::clone(job.encoded()) };
        for (at, token) in job.encoded().tokens.iter().enumerate() {
            if let Some(unit) = first[at] {
                let Word { tokens, .. } = drawn(words, job, unit, draw);
                let span = Some(job.units[unit].span);
                encoded.tokens.extend(tokens.iter().map(|word| Token {
                    type_id: token.type_id,
                    span,
                    ..word.clone()
                }));
            } else if !gone[at] {
                encoded.tokens.push(token.clone());
            }
        }
        let most = job.card().max_tokens;
        if most > 0 && encoded.len() > most && job.model.open().is_some() {
            return Err(Error::Request(format!(
                "with other words the text has {} tokens, the model reads {most}; shorten it or use mask",
                encoded.len()
            )));
        }
        Ok(Row::new(encoded))
    }

    fn token(&self, model: &dyn Model) -> Result<Token> {
        let names = match self {
            Self::Mask => &MASK,
            Self::Pad => &PAD,
            Self::Unknown => &UNKNOWN,
            _ => return Err(Error::Request(format!("'{self}' puts no token in place"))),
        };
        match model.open() {
            Some(open) => special(open, names),
            None => Ok(Token {
                id: 0,
                type_id: 0,
                piece: names[0].to_owned(),
                span: None,
                special: false,
                weight: None,
            }),
        }
    }
}

/// The word that one draw puts in a unit's place.
fn drawn<'w>(words: &'w Words, job: &Question<'_>, unit: usize, draw: u64) -> &'w Word {
    let place = draw.wrapping_mul(MOST_UNITS).wrapping_add(unit as u64);
    words.draw(&mut Stream::Words.random(job.seed, place))
}

/// Whether the target would be about another token if tokens before it were gone.
fn is_about_a_position(model: &dyn Model, target: &Target) -> bool {
    let Some((site, at)) = target.unit() else {
        return target.position().is_some() && !writes(model);
    };
    let info = model.open().and_then(|open| open.sites().find(site));
    let mut axes = info.iter().flat_map(|info| info.axes.iter().zip(at));
    // Every other axis is as long as the text that is left.
    let fixed = |axis: &Axis| matches!(axis, Axis::Head(_) | Axis::Neuron(_) | Axis::Class(_) | Axis::Target);
    axes.any(|(axis, index)| !fixed(axis) && index.is_some())
}

/// Whether positions of targets are places of a text that the model writes, and not tokens of the text that it reads.
pub(crate) fn writes(model: &dyn Model) -> bool {
    let axes = model.open().and_then(|open| Some(&open.sites().find(open.sites().outputs().ok()?)?.axes));
    axes.is_some_and(|axes| axes.first() == Some(&Axis::Target))
}

/// The tokens of some units, in order.
fn tokens(job: &Question<'_>, hidden: &Set) -> Result<Vec<usize>> {
    let mut tokens = Vec::new();
    for &unit in hidden {
        let unit =
            job.units.get(unit).ok_or_else(|| Error::Request(format!("there is no unit {unit} to hide")))?;
        tokens.extend_from_slice(&unit.tokens);
    }
    tokens.sort_unstable();
    match tokens.last() {
        Some(&last) if last >= job.encoded().len() => {
            Err(Error::Request(format!("there is no token {last} to hide")))
        }
        _ => Ok(tokens),
    }
}

fn without(job: &Question<'_>, tokens: &[usize]) -> Result<Encoded> {
    let encoded = job.encoded();
    let mut gone = vec![false; encoded.len()];
    tokens.iter().for_each(|&token| gone[token] = true);
    if job.model.open().is_some() && gone.iter().all(|&gone| gone) {
        return Err(Error::Request("deleting every token leaves nothing to read; use mask or zero".into()));
    }
    let left = encoded.tokens.iter().zip(gone).filter(|(_, gone)| !gone).map(|(token, _)| token.clone());
    Ok(Encoded { tokens: left.collect(), fields: encoded.fields.clone(), truncated: encoded.truncated })
}

impl fmt::Display for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delete => "delete",
            Self::Mask => "mask",
            Self::Pad => "pad",
            Self::Unknown => "unk",
            Self::Zero => "zero",
            Self::Sampled(_) => "sampled",
        })
    }
}

impl FromStr for Masker {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "sampled" {
            return Err(Error::Request(
                "'sampled' needs words to draw from: give them with --words FILE".into(),
            ));
        }
        Self::ALL.into_iter().find(|masker| masker.to_string() == text).ok_or_else(|| {
            Error::Request(format!(
                "'{text}' is no way to hide words; one of delete, mask, pad, unk, zero, sampled"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Driver, Example, Unit, Units};
    use exegete_testkit::Toy;

    fn ids(row: &Row) -> Vec<u32> {
        row.encoded.tokens.iter().map(|token| token.id).collect()
    }

    fn job<'a>(toy: &'a Toy, driver: &'a Driver) -> Question<'a> {
        let row = Row::new(toy.encoded(&Example::text("not good film")).unwrap());
        Question::new(toy, driver, row, Target::class(0))
    }

    #[test]
    fn names() {
        for masker in Masker::ALL {
            assert_eq!(masker.to_string().parse(), Ok(masker));
        }
        assert!("blank".parse::<Masker>().is_err());
        assert!("sampled".parse::<Masker>().unwrap_err().to_string().contains("--words"));
    }

    #[test]
    fn tokens_are_taken_out_or_zeroed() {
        let (toy, driver) = (Toy::default(), Driver::default());
        let job = job(&toy, &driver);
        let delete = |hidden: &[usize]| Masker::Delete.hide(&job, &hidden.to_vec(), 0);
        assert_eq!(ids(&delete(&[1]).unwrap()), [3, 4]);
        assert_eq!(ids(&delete(&[]).unwrap()), [3, 1, 4]);
        assert!(delete(&[0, 1, 2]).is_err());
        assert!(delete(&[3]).is_err());
        let zeroed = Masker::Zero.hide(&job, &vec![0, 2], 0).unwrap();
        assert_eq!(zeroed.edits[0].at, [Pick::Only(vec![0, 2])]);
        let edited = Question { row: zeroed, ..job.clone() };
        assert!(Masker::Delete.hide(&edited, &vec![1], 0).is_err());
        assert!(Masker::Mask.hide(&job, &vec![1], 0).is_err(), "the toy has no mask token");
        assert_eq!(Masker::Delete.shown(&job, &vec![1], 0).unwrap()[0].text, "not film");
    }

    #[test]
    fn words_are_drawn_for_their_unit() {
        let (toy, driver) = (Toy::default(), Driver::default());
        let job = job(&toy, &driver);
        let counts = [("good".to_owned(), 1.0), ("film".to_owned(), 1.0), ("not".to_owned(), 1.0)];
        let masker = Masker::Sampled(Arc::new(Words::new(&toy, &counts).unwrap()));
        let hide = |hidden: &[usize], draw| ids(&masker.hide(&job, &hidden.to_vec(), draw).unwrap());
        let (one, both) = (hide(&[0], 7), hide(&[0, 2], 7));
        assert_eq!((one.len(), one[1], one[2]), (3, 1, 4), "what is not hidden stays");
        assert_eq!(one[0], both[0], "one draw has one word for a unit");
        let draws: std::collections::HashSet<Vec<u32>> = (0..100).map(|draw| hide(&[0, 2], draw)).collect();
        assert_eq!(draws.len(), 9, "all pairs of words come up");
        let shown = masker.shown(&job, &vec![0, 2], 7).unwrap();
        assert_eq!(ids(&Row::new(toy.encoded(&Example::text(&shown[0].text)).unwrap())), both);
    }

    #[test]
    fn positions_and_lone_texts_stay_in_place() {
        let (toy, driver) = (Toy::default(), Driver::default());
        let mut encoded = toy.encoded(&Example::text("not good film")).unwrap();
        encoded.tokens[0].special = true;
        let row = Row::new(encoded);
        let units: Arc<[Unit]> = Units::Word.of(&row.encoded).into();
        let job = Question { units: units.clone(), ..Question::new(&toy, &driver, row, Target::class(0)) };
        let suited =
            |target: &str| Masker::suited(&Question { target: target.parse().unwrap(), ..job.clone() });
        assert_eq!(suited("class:0"), Masker::Delete);
        assert_eq!(suited("unit:pooled[1]"), Masker::Delete);
        assert_eq!(suited("unit:layer.0.out[*,1]"), Masker::Delete);
        assert_eq!(suited("unit:layer.0.out[2,1]"), Masker::Zero);
        assert_eq!(suited("tag:1=x"), Masker::Zero);
        let all = (0..3).map(|i| Unit { span: units[0].span, tokens: vec![i] }).collect();
        assert_eq!(Masker::suited(&Question { units: all, ..job.clone() }), Masker::Zero);
    }
}
