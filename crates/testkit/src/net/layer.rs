use exegete_core::{Array, Axis, Plan, Record, Result, Role, Row, Site, SiteInfo, Sites};
use exegete_engine::{Op, Tensor, Unary, Var};
use exegete_models::encoder::Network;
use exegete_models::run::Run;

/// One layer: a(W·x + b).
#[derive(Debug, Clone)]
pub struct Dense {
    pub(super) weight: Tensor<f64>,
    pub(super) bias: Option<Tensor<f64>>,
    activation: Option<Unary>,
}

impl Dense {
    /// W, one row an output.
    pub fn new<const I: usize>(weight: &[[f64; I]]) -> Self {
        Self {
            weight: Tensor::new(weight.len(), I, weight.as_flattened().to_vec()),
            bias: None,
            activation: None,
        }
    }

    /// W, `outputs` rows of `inputs` numbers.
    pub fn of(outputs: usize, inputs: usize, weight: Vec<f64>) -> Self {
        Self { weight: Tensor::new(outputs, inputs, weight), bias: None, activation: None }
    }

    /// The unit matrix.
    pub fn identity<const I: usize>() -> Self {
        Self::new(&std::array::from_fn::<[f64; I], I, _>(|row| std::array::from_fn(|i| f64::from(row == i))))
    }

    /// The same layer with a bias.
    #[must_use]
    pub fn bias(mut self, bias: &[f64]) -> Self {
        self.bias = Some(Tensor::new(1, bias.len(), bias.to_vec()));
        self
    }

    /// The same layer with an activation.
    #[must_use]
    pub fn then(mut self, activation: Unary) -> Self {
        self.activation = Some(activation);
        self
    }

    /// The same layer with a rectifier.
    #[must_use]
    pub fn relu(self) -> Self {
        self.then(Unary::Relu)
    }

    /// How many numbers it takes.
    pub(super) fn inputs(&self) -> usize {
        self.weight.cols()
    }

    /// How many numbers it gives.
    pub(super) fn outputs(&self) -> usize {
        self.weight.rows()
    }

    /// Its weight or bias by the last part of a name, with its shape.
    pub(super) fn parameter(&mut self, name: &str) -> Option<(Vec<usize>, &mut Tensor<f64>)> {
        match name {
            "weight" => Some((vec![self.weight.rows(), self.weight.cols()], &mut self.weight)),
            "bias" => self.bias.as_mut().map(|bias| (vec![bias.cols()], bias)),
            _ => None,
        }
    }

    /// \[B, I\] → \[B, O\]
    fn forward(&self, run: &mut Run<'_, f64>, n: usize, x: Var<f64>) -> Result<Var<f64>> {
        let mut inputs = vec![x, self.weight.clone().into()];
        inputs.extend(self.bias.clone().map(Var::from));
        let x = run.tape.apply(Op::Linear, inputs); // [B, O]
        let x = run.site(mixed(n), x)?;
        Ok(match self.activation {
            Some(activation) => run.tape.apply(Op::Unary(activation), [x]), // [B, O]
            None => x,
        })
    }
}

/// The layers of a net.
#[derive(Debug, Clone)]
pub(super) struct Layers {
    pub(super) dense: Vec<Dense>,
    sites: Sites,
}

/// The numbers of the text, one a token.
pub(super) const WORDS: Site = Site::named("embed.word");
const EMBED: Site = Site::named("embed");
pub(super) const LOGITS: Site = Site::named("logits");

/// Before the activation of a layer.
fn mixed(n: usize) -> Site {
    format!("layer.{n}.attn.out").parse().unwrap_or(LOGITS)
}

/// After it.
fn out(n: usize) -> Site {
    format!("layer.{n}.out").parse().unwrap_or(LOGITS)
}

impl Layers {
    pub(super) fn new(dense: Vec<Dense>) -> Self {
        let numbers = [Axis::Token, Axis::Neuron(1)];
        let mut sites = vec![
            SiteInfo::new(WORDS, "embed", Role::Words, numbers).cut(),
            SiteInfo::new(EMBED, "embed", Role::Embedding, numbers).cut(),
        ];
        for (n, layer) in dense.iter().enumerate() {
            let (part, units) = (format!("layer.{n}"), [Axis::Neuron(layer.outputs())]);
            sites.push(SiteInfo::new(mixed(n), part.clone(), Role::Mixed, units));
            sites.push(SiteInfo::new(out(n), part, Role::LayerOutput, units).cut());
        }
        let classes = [Axis::Class(dense.last().map_or(0, Dense::outputs))];
        sites.push(SiteInfo::new(LOGITS, "head", Role::Outputs, classes).carrying_all());
        Self { dense, sites: Sites::new(sites) }
    }
}

impl Network<f64> for Layers {
    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn elements(&self, row: &Row, plan: &Plan) -> usize {
        let copies = if plan.record == Record::Nothing { 1 } else { 3 };
        copies * self.sites.iter().map(|info| info.elements(&row.encoded)).sum::<usize>()
    }

    fn forward(&self, run: &mut Run<'_, f64>) -> Result<()> {
        let rows = run.segments().count();
        let mut x = run.cut(WORDS, |run| {
            let values: Vec<f64> = run.ids().iter().map(|&id| f32::from_bits(id as u32).into()).collect();
            Ok(Tensor::new(values.len(), 1, values).into()) // [T, 1]
        })?;
        x = run.cut(EMBED, |_| Ok(x))?; // [T, 1]
        for (n, layer) in self.dense.iter().enumerate() {
            x = run.cut(out(n), |run| {
                let x = match n {
                    0 => run.tape.apply(Op::Reshape(rows, layer.inputs()), [x]), // [B, I]
                    _ => x,
                };
                layer.forward(run, n, x) // [B, O]
            })?;
        }
        run.site(LOGITS, x).map(drop)
    }
}

/// A tensor of an array's elements.
pub(super) fn tensor(value: &Array, like: &Tensor<f64>) -> Tensor<f64> {
    Tensor::new(like.rows(), like.cols(), value.data.iter().map(|&x| x.into()).collect())
}
