//! I4: a stop reaches every worker within one park; after a drain every accepted task ran, after an
//! abandonment each ran or came back, once, whatever raced the five steps.

use parkade_core::StopPolicy;
use proptest::prelude::*;

use crate::play::play;
use crate::script::{Act, Op, Script, Weights, Who, script};

/// A script at whose end a worker with queued tasks retires, and all of a drain up to the stopped lots
/// comes in the middle of that.
fn a_drain_inside_a_retirement() -> impl Strategy<Value = Script> {
    let weights = Weights {
        stop: 0,
        leave: 1,
        interrupted: 0,
        ..Weights::default()
    };
    (script(weights), 0..30_usize).prop_map(|(mut script, seam)| {
        let worker = Who { tag: 0, worker: 0 };
        let calm = |op| Act {
            op,
            seam: 0,
            meanwhile: Vec::new(),
        };
        let push = [Op::Push(worker), Op::Push(worker), Op::Step(worker)];
        script.acts.extend(push.map(calm));
        script.acts.push(calm(Op::RequestRetire(worker)));
        script.acts.push(Act {
            op: Op::Step(worker),
            seam,
            meanwhile: vec![Op::Stop(StopPolicy::Drain); 4],
        });
        script
    })
}

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn a_stop_leaves_nothing_behind(script in script(Weights {
        stop: 12,
        leave: 4,
        ..Weights::default()
    })) {
        play(&script)?;
    }

    #[test]
    fn a_drain_inside_a_retirement_leaves_nothing_behind(
        script in a_drain_inside_a_retirement()
    ) {
        play(&script)?;
    }
}
