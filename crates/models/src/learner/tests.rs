use super::*;
use exegete_testkit::golden::{self, Golden};

/// What the driver budgets with is an upper bound: plain numbers need no more than is said, and duals no more than twice.
#[test]
fn gradients_need_no_more_memory_than_is_said() {
    for case in golden::losses().unwrap() {
        let folder = golden::root().join(&case.folder);
        let inputs = Golden::open(&folder).unwrap().described.inputs;
        let label = |i: usize| std::array::from_fn::<Label, 1, _>(|_| (&case.labels[i]).into());
        for (i, input) in inputs.iter().enumerate() {
            // A context of its own: larger buffers that another row left behind would count.
            let model = crate::folder::open::<f32>(&folder, 1).unwrap();
            let rows = [Row::new(model.encode(&input.example()).unwrap())];
            let (select, shapes): (Vec<String>, Vec<Vec<usize>>) = model.parameters().into_iter().unzip();
            let v: Vec<Array> = shapes.into_iter().map(|shape| Array::full(shape, 0.01)).collect();
            // Gradients of parameters are no activations.
            let own: usize = v.iter().map(|v| v.len() * size_of::<f32>()).sum();
            let said = model.learning_bytes(&rows[0]) + own;
            model.gradient(&rows, &label(i), &select).unwrap();
            let plain = model.parts.ctx.counts().peak_bytes;
            model.hvp(&rows, &label(i), &select, &v).unwrap();
            let dual = model.duals().unwrap().ctx.counts().peak_bytes;
            println!("{:14} {i} said {said}, plain {plain}, dual {dual}", case.folder);
            assert!(0 < plain && plain <= said, "{} {i}: {plain} bytes, {said} were said", case.folder);
            assert!(0 < dual && dual <= 2 * said, "{} {i}: {dual} bytes of duals", case.folder);
        }
    }
}
