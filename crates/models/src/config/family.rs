//! What a config says in its family's own words, and what must be refused.

use super::{Activation, Fields, Rates};
use crate::families::{self, DropoutKeys, Family, Sharing};
use crate::fault::{fault, unsupported};
use exegete_core::Result;

/// The type that a config names, with its family.
pub(super) fn known_type(fields: &Fields) -> Result<(String, &'static Family)> {
    let known = families::known().join(", ");
    let Some(name) = fields.text("model_type")? else {
        return Err(fault(fields.place(), format!("'model_type' is missing; known types are {known}")));
    };
    match families::of(&name) {
        Some(family) => Ok((name, family)),
        None => {
            Err(unsupported(fields.place(), format!("model type '{name}' is not known; known are {known}")))
        }
    }
}

/// Variants that would run and give wrong numbers are refused by name.
pub(super) fn refuse(fields: &Fields) -> Result<()> {
    let place = fields.place();
    if let Some(kind) = fields.text("position_embedding_type")?
        && kind != "absolute"
    {
        return Err(unsupported(
            place,
            format!("position_embedding_type '{kind}' is not supported, only 'absolute' is"),
        ));
    }
    for flag in ["is_decoder", "add_cross_attention"] {
        if fields.flag_or(flag, false)? {
            return Err(unsupported(place, format!("'{flag}' is set; only encoders are supported")));
        }
    }
    for (key, what) in
        [("pruned_heads", "pruned attention heads"), ("quantization_config", "quantised weights")]
    {
        if fields.is_filled(key) {
            return Err(unsupported(place, format!("'{key}' is set; {what} are not supported")));
        }
    }
    Ok(())
}

pub(super) fn activation(fields: &Fields, (key, default): (&str, &str)) -> Result<Activation> {
    let name = fields.text(key)?.unwrap_or_else(|| default.to_owned());
    Activation::parse(&name).ok_or_else(|| {
        let known = "gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, gelu_python, relu, tanh, silu, swish";
        unsupported(fields.place(), format!("activation '{name}' is not known; known are {known}"))
    })
}

/// How many sets of weights the layers share.
pub(super) fn groups(fields: &Fields, keys: &Sharing, layers: usize) -> Result<usize> {
    let inner = fields.size_or(&[keys.inner], 1)?;
    if inner != 1 {
        let what = format!("{} {inner} is not supported, only 1 is", keys.inner);
        return Err(unsupported(fields.place(), what));
    }
    let groups = fields.size_or(&[keys.groups], 1)?;
    if groups > layers {
        let what = format!("{} {groups} is more than the {layers} layers", keys.groups);
        return Err(fault(fields.place(), what));
    }
    Ok(groups)
}

/// The rates of a config, under the family's names.
pub(super) fn dropout(fields: &Fields, names: &DropoutKeys) -> Result<Rates> {
    let rate = |(key, default): (&str, f64)| {
        let rate = fields.number_or(key, default)?;
        if (0.0..1.0).contains(&rate) {
            Ok(rate)
        } else {
            Err(fault(fields.place(), format!("'{key}' is {rate}, expected a share from 0 up to 1")))
        }
    };
    let (hidden, attention) = (rate(names.hidden)?, rate(names.attention)?);
    let (key, own) = names.head;
    Ok(places(names, hidden, attention, rate((key, own.unwrap_or(hidden)))?))
}

/// The rates at the places where a family drops anything: none does at all of them.
pub(super) fn places(family: &DropoutKeys, hidden: f64, attention: f64, head: f64) -> Rates {
    let rate = |rate: f64, has: bool| if has { rate } else { 0.0 };
    Rates {
        embedding: hidden,
        attention,
        attention_out: rate(hidden, family.attention_out),
        feed_forward: rate(hidden, family.feed_forward),
        head_in: rate(head, family.head_in),
        head,
    }
}
