use crate::{Encoded, Error, Result, Token};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// The name of a place in a model: `embed.word`, `layer.3.attn.probs`, `logits`.
///
/// Which places there are, in what order and of what kind, only the model's own list of [`Sites`] says. The name lies in
/// the value itself, so that it is copied like a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Site {
    len: u8,
    bytes: [u8; Self::LONGEST],
}

impl Site {
    /// The longest name in bytes.
    pub const LONGEST: usize = 47;

    /// A name that the code itself spells; one that is no name does not compile where this is a constant.
    pub const fn named(name: &'static str) -> Self {
        let text = name.as_bytes();
        assert!(!text.is_empty() && text.len() <= Self::LONGEST, "a site's name has 1 to 47 bytes");
        let (mut bytes, mut i) = ([0; Self::LONGEST], 0);
        while i < text.len() {
            assert!(is_name_byte(text[i]), "a site's name is made of a-z, 0-9, '_', '-' and '.'");
            bytes[i] = text[i];
            i += 1;
        }
        Self { len: text.len() as u8, bytes }
    }

    /// The name as users write it.
    pub fn name(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

const fn is_name_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.')
}

impl Hash for Site {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Site {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let fits = (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(is_name_byte);
        if !fits {
            return Err(Error::Request(format!(
                "'{text}' is not a site; `exegete model sites` lists them, for example layer.3.out"
            )));
        }
        let mut bytes = [0; Self::LONGEST];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self { len: text.len() as u8, bytes })
    }
}

impl Serialize for Site {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Site {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// One axis of a site's per-row value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// One entry a token of the row; its length changes from row to row.
    Token,
    /// One entry a token of the text itself, special ones left out.
    Content,
    /// One entry a token of one field of a pair, its markers included: the tokens of this type.
    FieldToken(u32),
    /// One entry a token of one field of a pair, special ones left out.
    FieldContent(u32),
    /// One entry a sentence, as the model's markers tell them apart: a run of the text's tokens between special ones.
    Sentence,
    /// One entry a place of the text that is being written: the tokens of type 1.
    Target,
    /// One entry a run of so many neighbouring tokens, as an unpadded convolution of that width reads them.
    Window(usize),
    /// One entry an attention head.
    Head(usize),
    /// One entry a neuron or dimension; documents say `unit`.
    #[serde(rename = "unit")]
    Neuron(usize),
    /// One entry an output class.
    Class(usize),
}

impl Axis {
    /// Its length for a row of these tokens.
    pub fn len(self, encoded: &Encoded) -> usize {
        match self {
            Self::Token => encoded.len(),
            Self::Content => encoded.tokens.iter().filter(|token| !token.special).count(),
            Self::FieldToken(field) => encoded.tokens.iter().filter(|token| token.type_id == field).count(),
            Self::FieldContent(field) => {
                encoded.tokens.iter().filter(|token| token.type_id == field && !token.special).count()
            }
            Self::Sentence => encoded.sentences().len(),
            Self::Target => encoded.tokens.iter().filter(|token| token.type_id == 1).count(),
            Self::Window(width) => (encoded.len() + 1).saturating_sub(width),
            Self::Head(n) | Self::Neuron(n) | Self::Class(n) => n,
        }
    }

    /// The tokens of the row that each of its entries is about; none where entries are no places of the text.
    pub fn places(self, encoded: &Encoded) -> Option<Vec<Vec<usize>>> {
        let of = |wanted: &dyn Fn(&Token) -> bool| {
            let tokens = encoded.tokens.iter().enumerate();
            Some(tokens.filter(|(_, token)| wanted(token)).map(|(at, _)| vec![at]).collect())
        };
        match self {
            Self::Token => of(&|_| true),
            Self::Content => of(&|token| !token.special),
            Self::FieldToken(field) => of(&|token| token.type_id == field),
            Self::FieldContent(field) => of(&|token| token.type_id == field && !token.special),
            Self::Target => of(&|token| token.type_id == 1),
            Self::Sentence => Some(encoded.sentences().into_iter().map(Iterator::collect).collect()),
            Self::Window(width) => {
                Some((0..self.len(encoded)).map(|first| (first..first + width).collect()).collect())
            }
            Self::Head(_) | Self::Neuron(_) | Self::Class(_) => None,
        }
    }

    /// Whether its entries are places of the text.
    pub fn is_position(self) -> bool {
        !matches!(self, Self::Head(_) | Self::Neuron(_) | Self::Class(_))
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.write_str("token"),
            Self::Content => f.write_str("content"),
            Self::FieldToken(field) => write!(f, "token of field {field}"),
            Self::FieldContent(field) => write!(f, "content of field {field}"),
            Self::Sentence => f.write_str("sentence"),
            Self::Target => f.write_str("target"),
            Self::Window(width) => write!(f, "window {width}"),
            Self::Head(n) => write!(f, "head {n}"),
            Self::Neuron(n) => write!(f, "unit {n}"),
            Self::Class(n) => write!(f, "class {n}"),
        }
    }
}

/// What a site holds, for those who look for a kind of place and not for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The looked-up vector of each token: where texts are mixed with baselines and noise is put.
    Words,
    /// What the first layer reads.
    Embedding,
    /// What attention weighs: one vector a token.
    Values,
    /// What attention says of each pair before the softmax that makes weights of it.
    Scores,
    /// Attention weights that sum to one over what is attended to.
    Weights,
    /// What each head read from the tokens it attended to.
    Contexts,
    /// What attention adds to the stream.
    Mixed,
    /// What a convolution gives at each position, before anything is pooled.
    Convolution,
    /// What a layer hands on to the next.
    LayerOutput,
    /// The model's answer before any softmax.
    Outputs,
    /// Any place without a role of its own.
    Inner,
}

/// A site as data: what a network says about one of its places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SiteInfo {
    /// The place that is described.
    pub site: Site,
    /// The axes of one row's value, outermost first.
    pub axes: Vec<Axis>,
    /// Whether a run can start here.
    pub cut: bool,
    /// Whether everything that the output depends on goes through here, so that scores can add up to F.
    #[serde(skip)]
    pub carries_all: bool,
    /// Whether it is computed step by step, so that an edit at one token moves it at others too.
    #[serde(skip)]
    pub in_steps: bool,
    /// Which part of the model it belongs to: `embed`, `layer.3`, `head`.
    #[serde(skip)]
    pub part: String,
    /// What kind of values the place holds.
    #[serde(skip)]
    pub role: Role,
}

impl SiteInfo {
    /// A place inside a part of the model, where no run can start and which not everything goes through.
    pub fn new(site: Site, part: impl Into<String>, role: Role, axes: impl Into<Vec<Axis>>) -> Self {
        Self {
            site,
            axes: axes.into(),
            cut: false,
            carries_all: false,
            in_steps: false,
            part: part.into(),
            role,
        }
    }

    /// The same as a place where a run can start.
    #[must_use]
    pub fn cut(self) -> Self {
        Self { cut: true, carries_all: true, ..self }
    }

    /// The same as a place that everything goes through.
    #[must_use]
    pub fn carrying_all(self) -> Self {
        Self { carries_all: true, ..self }
    }

    /// The same as a place that is computed step by step.
    #[must_use]
    pub fn stepwise(self) -> Self {
        Self { in_steps: true, ..self }
    }

    /// The shape of a row's value.
    pub fn shape(&self, encoded: &Encoded) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.len(encoded)).collect()
    }

    /// The number of elements of a row's value.
    pub fn elements(&self, encoded: &Encoded) -> usize {
        self.axes.iter().map(|axis| axis.len(encoded)).product()
    }
}

/// Every site of a model, in the order of computation: a later one may depend on an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Sites(Vec<SiteInfo>);

impl Sites {
    /// Sites in the order of computation; the last one is the model's output.
    pub const fn new(infos: Vec<SiteInfo>) -> Self {
        Self(infos)
    }

    /// All of them, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, SiteInfo> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is known of a site, or an error that says where to look.
    pub fn get(&self, site: Site) -> Result<&SiteInfo> {
        self.find(site).ok_or_else(|| {
            Error::Request(format!("the model has no site {site}; `exegete model sites` lists them"))
        })
    }

    /// What is known of a site, where there is one of this name.
    pub fn find(&self, site: Site) -> Option<&SiteInfo> {
        self.0.iter().find(|info| info.site == site)
    }

    /// Its place in the order; sites that the model has not come after all others.
    pub fn order(&self, site: Site) -> usize {
        self.0.iter().position(|info| info.site == site).unwrap_or(self.0.len())
    }

    /// The first of these in the order of computation.
    pub fn first_of(&self, sites: impl IntoIterator<Item = Site>) -> Option<Site> {
        sites.into_iter().min_by_key(|&site| self.order(site))
    }

    /// The last of these in the order of computation.
    pub fn last_of(&self, sites: impl IntoIterator<Item = Site>) -> Option<Site> {
        sites.into_iter().max_by_key(|&site| self.order(site))
    }

    /// The sites of a kind, in order.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &SiteInfo> {
        self.0.iter().filter(move |info| info.role == role)
    }

    /// The site of a kind in the same part of the model as another.
    pub fn beside(&self, site: Site, role: Role) -> Result<Site> {
        let part = &self.get(site)?.part;
        let found = self.with_role(role).find(|info| info.part == *part);
        found.map(|info| info.site).ok_or_else(|| {
            Error::Unsupported(format!(
                "{part} of this model has no site for its {role:?}; see `exegete model sites`"
            ))
        })
    }

    /// Where the scores are that a softmax makes these attention weights of; none where the weights are given.
    pub fn scores_of(&self, weights: Site) -> Option<Site> {
        let of = self.find(weights).filter(|info| info.role == Role::Weights)?;
        let beside = |info: &&SiteInfo| info.part == of.part && info.axes == of.axes;
        self.with_role(Role::Scores).find(beside).map(|info| info.site)
    }

    /// The sites where a run can start, in order.
    pub fn cuts(&self) -> impl Iterator<Item = Site> {
        self.0.iter().filter(|info| info.cut).map(|info| info.site)
    }

    /// Where the word vectors are.
    pub fn words(&self) -> Result<Site> {
        let found = self.with_role(Role::Words).next();
        found.map(|info| info.site).ok_or_else(|| {
            Error::Unsupported(
                "this model has no word vectors that could be changed or differentiated".into(),
            )
        })
    }

    /// Where the model's answer is.
    pub fn outputs(&self) -> Result<Site> {
        let found = self.with_role(Role::Outputs).next();
        found
            .map(|info| info.site)
            .ok_or_else(|| Error::Model("the model lists no site for its outputs".into()))
    }
}

impl<'a> IntoIterator for &'a Sites {
    type Item = &'a SiteInfo;
    type IntoIter = std::slice::Iter<'a, SiteInfo>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names() {
        for name in ["embed.word", "layer.11.attn.probs", "backward.enc.0.hidden", "conv.3", "x"] {
            assert_eq!(name.parse::<Site>().unwrap().to_string(), name);
        }
        for text in ["", "Layer.1", "layer 1", "läyer", &"x".repeat(48)] {
            assert!(text.parse::<Site>().is_err(), "{text:?}");
        }
        assert_eq!(Site::named("logits"), "logits".parse().unwrap());
        assert_ne!(Site::named("embed"), Site::named("embed.word"));
    }

    #[test]
    fn axes_have_their_lengths_in_the_text() {
        let mut encoded = Encoded::of_words(&crate::Example::pair("It is good. I like it", "Why"));
        encoded.tokens[0].special = true;
        encoded.tokens[3].special = true;
        let lengths = [Axis::Token, Axis::Content, Axis::Sentence, Axis::Target, Axis::Neuron(5)];
        assert_eq!(lengths.map(|axis| axis.len(&encoded)), [8, 6, 2, 1, 5]);
        let fields = [Axis::FieldToken(0), Axis::FieldContent(0), Axis::FieldToken(1), Axis::FieldContent(1)];
        assert_eq!(fields.map(|axis| axis.len(&encoded)), [7, 5, 1, 1]);
        assert_eq!([1, 3, 8, 9, 10].map(|width| Axis::Window(width).len(&encoded)), [8, 6, 1, 0, 0]);
        // Every axis of the text knows its tokens, as many times as it is long.
        let all = [&lengths[..4], &fields, &[1, 3, 8, 9].map(Axis::Window)].concat();
        for axis in all {
            let places = axis.places(&encoded).unwrap();
            assert_eq!(places.len(), axis.len(&encoded), "{axis}");
            assert!(axis.is_position() && places.iter().flatten().all(|&at| at < encoded.len()), "{axis}");
        }
        assert_eq!(Axis::Sentence.places(&encoded).unwrap(), [vec![1, 2], vec![4, 5, 6, 7]]);
        assert_eq!(Axis::FieldContent(0).places(&encoded).unwrap().concat(), [1, 2, 4, 5, 6]);
        assert_eq!(Axis::Window(7).places(&encoded).unwrap()[1], [1, 2, 3, 4, 5, 6, 7]);
        assert!(Axis::Neuron(5).places(&encoded).is_none() && !Axis::Neuron(5).is_position());
    }

    #[test]
    fn order_is_the_lists() {
        let info = |name: &'static str, role| SiteInfo::new(Site::named(name), "p", role, [Axis::Token]);
        let sites = Sites::new(vec![info("b", Role::Words).cut(), info("a", Role::Outputs)]);
        let (a, b) = (Site::named("a"), Site::named("b"));
        assert_eq!(sites.first_of([a, b]), Some(b));
        assert_eq!(sites.last_of([a, b]), Some(a));
        assert_eq!((sites.words().unwrap(), sites.outputs().unwrap()), (b, a));
        assert_eq!(sites.cuts().collect::<Vec<_>>(), [b]);
        assert_eq!(sites.beside(b, Role::Outputs).unwrap(), a);
        assert!(sites.beside(b, Role::Values).is_err());
        assert!(sites.get(Site::named("c")).is_err());
    }

    #[test]
    fn scores_belong_to_the_weights_of_their_part() {
        let info = |name: &'static str, part: &str, role| {
            SiteInfo::new(Site::named(name), part, role, [Axis::Token])
        };
        let sites = Sites::new(vec![
            info("x", "one", Role::Scores),
            info("y", "two", Role::Scores),
            info("one.probs", "one", Role::Weights),
            info("two.probs", "two", Role::Weights),
            info("three.probs", "three", Role::Weights),
        ]);
        let found = ["one.probs", "two.probs", "three.probs", "x"].map(|of| sites.scores_of(Site::named(of)));
        assert_eq!(found, [Some(Site::named("x")), Some(Site::named("y")), None, None]);
    }
}
