use crate::baseline::{MASK, PAD, UNKNOWN, special};
use exegete_core::{
    Axis, Change, Edit, Encoded, Error, Open, Pick, Quantity, Result, Row, Site, Target, Token, Unit,
};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// How tokens become absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Masker {
    /// They are taken out, and what follows moves up.
    #[default]
    Delete,
    /// They become the mask token.
    Mask,
    /// They become the padding token, which is attended to.
    Pad,
    /// They become the unknown token.
    Unknown,
    /// Their word vectors become zero.
    Zero,
}

impl Masker {
    /// Every masker.
    pub const ALL: [Self; 5] = [Self::Delete, Self::Mask, Self::Pad, Self::Unknown, Self::Zero];

    /// The masker for a text and a target: deletion, unless positions must stay or nothing would be left to read.
    ///
    /// Positions must stay where the target is about one, or where the row carries edits, which are made for its length.
    pub fn suited(open: &dyn Open, row: &Row, units: &[Unit], target: &Target) -> Self {
        let hidden: usize = units.iter().map(|unit| unit.tokens.len()).sum();
        let left = row.encoded.len().saturating_sub(hidden);
        let movable = left > 0 && row.edits.is_empty() && !is_about_a_position(open, target);
        if movable { Self::Delete } else { Self::in_place(open) }
    }

    /// The first of mask, unknown, padding and zero that the model's vocabulary has.
    pub fn in_place(open: &dyn Open) -> Self {
        let known = [Self::Mask, Self::Unknown, Self::Pad].into_iter();
        known.into_iter().find(|masker| masker.token(open).is_ok()).unwrap_or(Self::Zero)
    }

    /// The row without some of its tokens.
    pub fn hide(self, open: &dyn Open, row: &Row, tokens: &[usize]) -> Result<Row> {
        if tokens.is_empty() {
            return Ok(row.clone());
        }
        match self {
            Self::Delete if row.edits.is_empty() => Ok(Row::new(without(&row.encoded, tokens)?)),
            Self::Delete => Err(Error::Request(
                "tokens of an edited text cannot be deleted: its edits are made for its length; use mask or zero"
                    .into(),
            )),
            Self::Zero => {
                let at = vec![Pick::Only(tokens.to_vec())];
                Ok(row.clone().edit(Edit { site: Site::EmbedWord, at, change: Change::Zero }))
            }
            Self::Mask | Self::Pad | Self::Unknown => {
                let Token { id, piece, .. } = self.token(open)?;
                let mut encoded = Encoded::clone(&row.encoded);
                for &token in tokens {
                    let token = encoded.tokens.get_mut(token).ok_or_else(|| no_token(token))?;
                    (token.id, token.piece) = (id, piece.clone());
                }
                Ok(Row { encoded: Arc::new(encoded), ..row.clone() })
            }
        }
    }

    fn token(self, open: &dyn Open) -> Result<Token> {
        match self {
            Self::Mask => special(open, &MASK),
            Self::Pad => special(open, &PAD),
            Self::Unknown => special(open, &UNKNOWN),
            Self::Delete | Self::Zero => Err(Error::Request(format!("'{self}' puts no token in place"))),
        }
    }
}

/// Whether the target would be about another token if tokens before it were gone.
fn is_about_a_position(open: &dyn Open, target: &Target) -> bool {
    match &target.quantity {
        Quantity::Tag(..)
        | Quantity::Token(..)
        | Quantity::Start(_)
        | Quantity::End(_)
        | Quantity::Answer(_) => true,
        Quantity::Unit(site, at) => {
            let info = open.sites().into_iter().find(|info| info.site == *site);
            let mut axes = info.iter().flat_map(|info| info.axes.iter().zip(at));
            axes.any(|(axis, index)| *axis == Axis::Token && index.is_some())
        }
        Quantity::Predicted | Quantity::Class(_) | Quantity::Margin(..) | Quantity::Loss(_) => false,
    }
}

fn without(encoded: &Encoded, tokens: &[usize]) -> Result<Encoded> {
    let mut gone = vec![false; encoded.len()];
    for &token in tokens {
        *gone.get_mut(token).ok_or_else(|| no_token(token))? = true;
    }
    if gone.iter().all(|&gone| gone) {
        return Err(Error::Request("deleting every token leaves nothing to read; use mask or zero".into()));
    }
    let left = encoded.tokens.iter().zip(gone).filter(|(_, gone)| !gone).map(|(token, _)| token.clone());
    Ok(Encoded { tokens: left.collect(), fields: encoded.fields.clone(), truncated: encoded.truncated })
}

fn no_token(token: usize) -> Error {
    Error::Request(format!("there is no token {token} to hide"))
}

impl fmt::Display for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delete => "delete",
            Self::Mask => "mask",
            Self::Pad => "pad",
            Self::Unknown => "unk",
            Self::Zero => "zero",
        })
    }
}

impl FromStr for Masker {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|masker| masker.to_string() == text).ok_or_else(|| {
            Error::Request(format!("'{text}' is no way to hide words; one of delete, mask, pad, unk, zero"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Example, Model, Units};
    use exegete_testkit::Toy;

    fn ids(row: &Row) -> Vec<u32> {
        row.encoded.tokens.iter().map(|token| token.id).collect()
    }

    #[test]
    fn names() {
        for masker in Masker::ALL {
            assert_eq!(masker.to_string().parse(), Ok(masker));
        }
        assert!("blank".parse::<Masker>().is_err());
    }

    #[test]
    fn tokens_are_taken_out_or_zeroed() {
        let toy = Toy::default();
        let open = toy.open().unwrap();
        let row = Row::new(open.encode(&Example::text("not good film")).unwrap());
        assert_eq!(ids(&Masker::Delete.hide(open, &row, &[1]).unwrap()), [3, 4]);
        assert_eq!(ids(&Masker::Delete.hide(open, &row, &[]).unwrap()), [3, 1, 4]);
        assert!(Masker::Delete.hide(open, &row, &[0, 1, 2]).is_err());
        assert!(Masker::Delete.hide(open, &row, &[3]).is_err());
        let zeroed = Masker::Zero.hide(open, &row, &[0, 2]).unwrap();
        assert_eq!(zeroed.edits[0].at, [Pick::Only(vec![0, 2])]);
        assert!(Masker::Delete.hide(open, &zeroed, &[1]).is_err());
        assert!(Masker::Mask.hide(open, &row, &[1]).is_err(), "the toy has no mask token");
    }

    #[test]
    fn positions_and_lone_texts_stay_in_place() {
        let toy = Toy::default();
        let open = toy.open().unwrap();
        let mut encoded = open.encode(&Example::text("not good film")).unwrap();
        encoded.tokens[0].special = true;
        let row = Row::new(encoded);
        let units = Units::Word.of(&row.encoded);
        let suited = |target: &str| Masker::suited(open, &row, &units, &target.parse().unwrap());
        assert_eq!(suited("class:0"), Masker::Delete);
        assert_eq!(suited("unit:pooled[1]"), Masker::Delete);
        assert_eq!(suited("unit:layer.0.out[*,1]"), Masker::Delete);
        assert_eq!(suited("unit:layer.0.out[2,1]"), Masker::Zero);
        assert_eq!(suited("tag:1=x"), Masker::Zero);
        let all: Vec<Unit> = (0..3).map(|i| Unit { span: units[0].span, tokens: vec![i] }).collect();
        assert_eq!(Masker::suited(open, &row, &all, &"class:0".parse().unwrap()), Masker::Zero);
    }
}
