use exegete_core::{Error, Label, Result, Row, Task};
use exegete_engine::{Op, Scalar, Tape, Tensor, Unary, Var};

/// The loss of every row, \[B, 1\], from logits \[B, C\]. Labels must be of one kind, and fit the task.
pub(crate) fn losses<T: Scalar>(
    tape: &mut Tape<T>,
    logits: Var<T>,
    rows: &[Row],
    labels: &[Label],
    task: Task,
) -> Result<Var<T>> {
    let classes = logits.value.cols();
    if rows.len() != labels.len() || labels.is_empty() {
        return Err(Error::Request(format!("{} rows but {} labels", rows.len(), labels.len())));
    }
    if !matches!(task, Task::Classification | Task::MultiLabel | Task::Regression) {
        return Err(Error::Unsupported("a loss needs a model that classifies whole texts".into()));
    }
    match &labels[0] {
        Label::Class(_) => {
            let columns = labels.iter().map(|label| class(label, classes)).collect::<Result<_>>()?;
            let log_probs = tape.apply(Op::LogSoftmax, [logits]); // [B, C]
            let right = tape.apply(Op::Pick(columns), [log_probs]); // [B, 1]
            Ok(tape.apply(Op::Scale(-1.0), [right]))
        }
        Label::Soft(_) => {
            let shares = targets(labels, classes, |label| match label {
                Label::Soft(shares) => Some(&shares[..]),
                _ => None,
            })?;
            let log_probs = tape.apply(Op::LogSoftmax, [logits]); // [B, C]
            let weighted = tape.apply(Op::Mul, [log_probs, shares]); // [B, C]
            let total = tape.apply(Op::RowSum, [weighted]); // [B, 1]
            Ok(tape.apply(Op::Scale(-1.0), [total]))
        }
        Label::Labels(_) => {
            let shares = targets(labels, classes, |label| match label {
                Label::Labels(shares) => Some(&shares[..]),
                _ => None,
            })?;
            // −y ln σ(x) − (1−y) ln(1−σ(x)) = softplus(x) − y·x
            let agree = tape.apply(Op::Mul, [logits.clone(), shares]); // [B, C]
            let both = tape.apply(Op::Unary(Unary::Softplus), [logits]); // [B, C]
            let loss = tape.apply(Op::Sub, [both, agree]); // [B, C]
            Ok(tape.apply(Op::RowSum, [loss]))
        }
        Label::Value(_) => {
            let wanted = targets(labels, classes, |label| match label {
                Label::Value(value) => Some(std::slice::from_ref(value)),
                _ => None,
            })?;
            let error = tape.apply(Op::Sub, [logits, wanted]); // [B, 1]
            let square = tape.apply(Op::Unary(Unary::Square), [error]); // [B, 1]
            Ok(tape.apply(Op::Scale(0.5), [square]))
        }
    }
}

fn class(label: &Label, classes: usize) -> Result<usize> {
    match label {
        Label::Class(class) if *class < classes => Ok(*class),
        Label::Class(class) => Err(Error::Request(format!("class {class} of a model with {classes}"))),
        _ => Err(mixed()),
    }
}

fn targets<'a, T: Scalar>(
    labels: &'a [Label],
    classes: usize,
    read: impl Fn(&'a Label) -> Option<&'a [f32]>,
) -> Result<Var<T>> {
    let mut data = Vec::with_capacity(labels.len() * classes);
    for label in labels {
        let values = read(label).ok_or_else(mixed)?;
        if values.len() != classes {
            return Err(Error::Request(format!("{} targets for {classes} outputs", values.len())));
        }
        data.extend(values.iter().map(|&v| T::from_f64(v.into())));
    }
    Ok(Tensor::new(labels.len(), classes, data).into())
}

fn mixed() -> Error {
    Error::Request("labels of different kinds in one call".into())
}
