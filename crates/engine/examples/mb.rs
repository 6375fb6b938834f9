use exegete_engine::*;
use std::sync::Arc;
use std::time::Instant;
fn main() {
    let ms: Vec<usize> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let ctx = Context::<f32>::new(2);
    let h = 384;
    let w = |o: usize, i: usize, s: usize| Tensor::new(o, i, (0..o*i).map(|j| (((j*7+s*13)%101) as f32-50.0)*0.001).collect()).keeping_panels();
    let layers: Vec<Vec<(Tensor<f32>, Tensor<f32>)>> = (0..6).map(|l| vec![(w(h,h,l),w(1,h,1)),(w(h,h,l+1),w(1,h,1)),(w(h,h,l+2),w(1,h,1)),(w(h,h,l+3),w(1,h,1)),(w(4*h,h,l),w(1,4*h,1)),(w(h,4*h,l),w(1,h,1))]).collect();
    let gain = Tensor::new(1,h,vec![1.0f32;h]); let bias = Tensor::new(1,h,vec![0.0f32;h]);
    for &m in &ms { for grad in [false, true] {
        let one = |ctx: &Arc<Context<f32>>| {
            let mut tape = Tape::new(ctx.clone(), if grad {Mode::Gradient} else {Mode::Off});
            let x0 = Tensor::new(m,h,(0..m*h).map(|j| ((j%17) as f32-8.0)*0.1).collect());
            let mut x: Var<f32> = x0.into();
            if grad { x = tape.watch(x); }
            let start = x.clone();
            for l in &layers {
                let lin = |tape: &mut Tape<f32>, x: Var<f32>, i: usize| { let v: Vec<Var<f32>> = vec![x, l[i].0.clone().into(), l[i].1.clone().into()]; tape.apply(Op::Linear, v) };
                let q = lin(&mut tape, x.clone(), 0); let k = lin(&mut tape, x.clone(), 1); let v = lin(&mut tape, x.clone(), 2);
                let s = tape.apply(Op::Add,[q,k]); let s = tape.apply(Op::Add,[s,v]);
                let o = lin(&mut tape, s, 3);
                let n = tape.add_layer_norm(o, x, gain.clone().into(), bias.clone().into(), 1e-5);
                let i = lin(&mut tape, n.clone(), 4); let i = tape.apply(Op::Unary(Unary::Gelu), [i]);
                let o = lin(&mut tape, i, 5);
                x = tape.add_layer_norm(o, n, gain.clone().into(), bias.clone().into(), 1e-5);
            }
            if grad { let seed = Tensor::new(m,h,vec![0.01f32;m*h]); let g = tape.backward(vec![(x.node.unwrap(), seed)], &[start.node.unwrap()], &Gradient); std::hint::black_box(&g.is_ok()); }
            std::hint::black_box(x.value.data()[0]);
        };
        let serial = ctx.serial(std::env::var("NP").map_or(2,|v| v.parse().unwrap()));
        let flops = 2.0*(2*m*6*12*h*h) as f64 * if grad {2.0} else {1.0};
        for _ in 0..3 { ctx.map(&[0,1], |_| one(&serial)); }
        let t0=Instant::now(); let mut best=f64::MAX; let mut n=0;
        while t0.elapsed().as_secs_f64()<2.0 { let t=Instant::now(); ctx.map(&[0,1], |_| one(&serial)); best=best.min(t.elapsed().as_secs_f64()); n+=1; }
        println!("m {m} grad {grad}: mean {:.1} best {:.1} GF/s (two threads)", flops*n as f64/t0.elapsed().as_secs_f64()/1e9, flops/best/1e9);
    } }
}
