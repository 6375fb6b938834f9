use super::{Choice, Quantity, Scale, Target};
use crate::{Error, Result, Site};
use std::fmt;
use std::str::FromStr;

const FORMS: &str = "predicted, class:NAME, margin:A,B, loss, start, end, answer, tag:POS=LABEL, token:POS=WORD (POS is \
    a number or a word of the text) or unit:SITE[pos,i], and :logit, :prob or :logprob after them";

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (body, scale) = split_scale(text);
        let quantity = parse_quantity(body)
            .ok_or_else(|| Error::Request(format!("'{text}' is not a target; the targets are {FORMS}")))?;
        let unscaled = matches!(quantity, Quantity::Loss(_) | Quantity::Neuron(..));
        if unscaled && scale.is_some() {
            return Err(Error::Request(format!(
                "target '{text}': a loss or a unit is a plain number; leave off the scale"
            )));
        }
        Ok(Self { quantity, scale })
    }
}

/// Labels may hold colons, so only a scale at the very end counts.
fn split_scale(text: &str) -> (&str, Option<Scale>) {
    let split = text.rsplit_once(':').and_then(|(body, last)| Some((body, last.parse().ok()?)));
    split.map_or((text, None), |(body, scale)| (body, Some(scale)))
}

fn parse_quantity(body: &str) -> Option<Quantity> {
    let (kind, rest) = body.split_once(':').map_or((body, None), |(kind, rest)| (kind, Some(rest)));
    Some(match (kind, rest) {
        ("predicted", None) => Quantity::Predicted,
        ("loss", None) => Quantity::Loss(None),
        ("start", None) => Quantity::Start(None),
        ("end", None) => Quantity::End(None),
        ("answer", None) => Quantity::Answer(None),
        ("class", Some(name)) => Quantity::Class(choice(name)?),
        ("margin", Some(pair)) => {
            let (first, second) = pair.split_once(',')?;
            Quantity::Margin(choice(first)?, choice(second)?)
        }
        ("tag", Some(at)) => match placed(at)? {
            (Ok(position), label) => Quantity::Tag(position, label),
            (Err(word), label) => Quantity::TagOf(word, label),
        },
        ("token", Some(at)) => match placed(at) {
            Some((Ok(position), word)) => Quantity::Token(position, word),
            Some((Err(at), word)) => Quantity::TokenOf(Some(at), word),
            None => Quantity::TokenOf(None, only(at)?),
        },
        ("unit", Some(at)) => parse_unit(at)?,
        _ => return None,
    })
}

fn choice(name: &str) -> Option<Choice> {
    (!name.is_empty()).then(|| Choice { name: name.into(), index: None })
}

/// A position or a word, and what is asked there. A number is always a position.
fn placed(at: &str) -> Option<(Result<usize, String>, Choice)> {
    let (place, name) = at.split_once('=').filter(|(place, _)| !place.is_empty())?;
    Some((place.parse().map_err(|_| place.to_owned()), choice(name)?))
}

/// What is asked at the only mask: anything that names no place.
fn only(name: &str) -> Option<Choice> {
    choice(name).filter(|choice| !choice.name.contains('='))
}

fn parse_unit(at: &str) -> Option<Quantity> {
    let (site, indices) = at.strip_suffix(']')?.split_once('[')?;
    let index = |text: &str| if text.trim() == "*" { Some(None) } else { text.trim().parse().ok().map(Some) };
    Some(Quantity::Neuron(site.parse::<Site>().ok()?, indices.split(',').map(index).collect::<Option<_>>()?))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.quantity {
            Quantity::Predicted => f.write_str("predicted")?,
            Quantity::Class(class) => write!(f, "class:{}", class.name)?,
            Quantity::Margin(first, second) => write!(f, "margin:{},{}", first.name, second.name)?,
            Quantity::Loss(_) => f.write_str("loss")?,
            Quantity::Start(_) => f.write_str("start")?,
            Quantity::End(_) => f.write_str("end")?,
            Quantity::Answer(_) => f.write_str("answer")?,
            Quantity::Tag(position, label) => write!(f, "tag:{position}={}", label.name)?,
            Quantity::Token(position, word) => write!(f, "token:{position}={}", word.name)?,
            Quantity::TagOf(at, label) => write!(f, "tag:{at}={}", label.name)?,
            Quantity::TokenOf(Some(at), word) => write!(f, "token:{at}={}", word.name)?,
            Quantity::TokenOf(None, word) => write!(f, "token:{}", word.name)?,
            Quantity::Neuron(site, at) => {
                let index = |i: &Option<usize>| i.map_or("*".to_string(), |i| i.to_string());
                write!(f, "unit:{site}[{}]", at.iter().map(index).collect::<Vec<_>>().join(","))?;
            }
        }
        self.scale.map_or(Ok(()), |scale| write!(f, ":{scale}"))
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Logit => "logit",
            Self::Prob => "prob",
            Self::LogProb => "logprob",
        })
    }
}

impl FromStr for Scale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "logit" => Ok(Self::Logit),
            "prob" => Ok(Self::Prob),
            "logprob" => Ok(Self::LogProb),
            _ => Err(Error::Request(format!("'{text}' is not a scale; use logit, prob or logprob"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_survives_the_round_trip() {
        for text in [
            "predicted",
            "predicted:prob",
            "class:negative",
            "class:2:logprob",
            "class:a:b:logit",
            "margin:A,B",
            "loss",
            "start",
            "end:prob",
            "answer:logprob",
            "tag:3=B-PER",
            "tag:3=a=b:prob",
            "tag:London=B-LOC",
            "tag:x=B",
            "token:-1=a",
            "token:Paris:prob",
            "token:[MASK]=Paris",
            "token:4=Paris",
            "unit:layer.3.ffn.inner[5,17]",
            "unit:embed.word[*,0]",
            "unit:pooled[3]",
            "unit:layer.0.attn.probs[1,*,2]",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        let target: Target = "class:a:b:prob".parse().unwrap();
        assert_eq!(target.scale, Some(Scale::Prob));
        assert_eq!(target.quantity, Quantity::Class(Choice { name: "a:b".into(), index: None }));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "class",
            "class:",
            "class::prob",
            "predicted:x",
            "margin:A",
            "tag:3",
            "tag:=B",
            "tag:x=",
            "token:",
            "token:=a",
            "token:x=",
            "loss:prob",
            "unit:layer.3.out",
            "unit:no where[1,2]",
            "unit:embed[1,x]",
            "unit:embed[*,1]:prob",
            "PREDICTED",
        ] {
            assert!(text.parse::<Target>().is_err(), "{text:?} should be refused");
        }
    }
}
