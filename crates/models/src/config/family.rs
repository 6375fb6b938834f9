//! Where the families differ in how they write their config: names, defaults, and what must be refused.

use super::{Activation, Fields, KNOWN, Rates};
use crate::fault::{fault, unsupported};
use exegete_core::Result;

/// What transformers assumes where the file is silent.
pub(super) struct Defaults {
    pub(super) activation: &'static str,
    pub(super) pad: usize,
    /// Whether the family tells token types apart.
    pub(super) typed: bool,
    /// Whether the family projects narrow word vectors to H.
    pub(super) projected: bool,
}

impl Defaults {
    pub(super) fn of(model_type: &str) -> Self {
        Self {
            activation: if model_type == "albert" { "gelu_new" } else { "gelu" },
            pad: usize::from(is_roberta(model_type)),
            typed: model_type != "distilbert",
            projected: matches!(model_type, "albert" | "electra"),
        }
    }
}

pub(super) fn is_roberta(model_type: &str) -> bool {
    matches!(model_type, "roberta" | "xlm-roberta" | "camembert")
}

pub(super) struct Sizes {
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) inner: usize,
}

impl Sizes {
    pub(super) fn read(fields: &Fields, model_type: &str) -> Result<Self> {
        let distil = model_type == "distilbert";
        let size = |own: &'static str, common: &'static str| {
            if distil { fields.size(&[own, common]) } else { fields.size(&[common]) }
        };
        Ok(Self {
            hidden: size("dim", "hidden_size")?,
            layers: size("n_layers", "num_hidden_layers")?,
            heads: size("n_heads", "num_attention_heads")?,
            inner: size("hidden_dim", "intermediate_size")?,
        })
    }
}

pub(super) fn known_type(fields: &Fields) -> Result<String> {
    let known = KNOWN.join(", ");
    match fields.text("model_type")? {
        Some(name) if KNOWN.contains(&name.as_str()) => Ok(name),
        Some(name) => {
            Err(unsupported(fields.place(), format!("model type '{name}' is not known; known are {known}")))
        }
        None => Err(fault(fields.place(), format!("'model_type' is missing; known types are {known}"))),
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

pub(super) fn activation(fields: &Fields, default: &str) -> Result<Activation> {
    let key =
        if fields.text("model_type")?.as_deref() == Some("distilbert") { "activation" } else { "hidden_act" };
    let name = fields.text(key)?.unwrap_or_else(|| default.to_owned());
    Activation::parse(&name).ok_or_else(|| {
        let known = "gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, gelu_python, relu, tanh, silu, swish";
        unsupported(fields.place(), format!("activation '{name}' is not known; known are {known}"))
    })
}

pub(super) fn groups(fields: &Fields, model_type: &str, layers: usize) -> Result<usize> {
    if model_type != "albert" {
        return Ok(layers);
    }
    let inner = fields.size_or(&["inner_group_num"], 1)?;
    if inner != 1 {
        return Err(unsupported(
            fields.place(),
            format!("inner_group_num {inner} is not supported, only 1 is"),
        ));
    }
    let groups = fields.size_or(&["num_hidden_groups"], 1)?;
    if groups > layers {
        return Err(fault(
            fields.place(),
            format!("num_hidden_groups {groups} is more than the {layers} layers"),
        ));
    }
    Ok(groups)
}

/// The rates of a config; each family has names of its own.
pub(super) fn dropout(fields: &Fields, model_type: &str) -> Result<Rates> {
    let rate = |key: &str, default: f64| {
        let rate = fields.number_or(key, default)?;
        if (0.0..1.0).contains(&rate) {
            Ok(rate)
        } else {
            Err(fault(fields.place(), format!("'{key}' is {rate}, expected a share from 0 up to 1")))
        }
    };
    let (hidden, attention, head) = match model_type {
        "distilbert" => {
            (rate("dropout", 0.1)?, rate("attention_dropout", 0.1)?, rate("seq_classif_dropout", 0.2)?)
        }
        "albert" => (
            rate("hidden_dropout_prob", 0.0)?,
            rate("attention_probs_dropout_prob", 0.0)?,
            rate("classifier_dropout_prob", 0.1)?,
        ),
        _ => {
            let hidden = rate("hidden_dropout_prob", 0.1)?;
            (hidden, rate("attention_probs_dropout_prob", 0.1)?, rate("classifier_dropout", hidden)?)
        }
    };
    let everywhere = Rates {
        embedding: hidden,
        attention,
        attention_out: hidden,
        feed_forward: hidden,
        head_in: head,
        head,
    };
    Ok(places(model_type, everywhere))
}

/// No family drops at every place.
pub(super) fn places(model_type: &str, rates: Rates) -> Rates {
    let keep = |rate: f64, has: bool| if has { rate } else { 0.0 };
    Rates {
        attention_out: keep(rates.attention_out, model_type != "distilbert"),
        feed_forward: keep(rates.feed_forward, model_type != "albert"),
        head_in: keep(rates.head_in, is_roberta(model_type) || model_type == "electra"),
        ..rates
    }
}
