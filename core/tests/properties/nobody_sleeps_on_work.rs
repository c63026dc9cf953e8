//! I1 to I3: with sleepers about, a task that comes in the middle of an announcement, a steal or a
//! release wakes somebody or is found, and nobody is woken for nothing.

use proptest::prelude::*;

use crate::play::play;
use crate::script::{Weights, script};

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn nobody_sleeps_on_work(script in script(Weights {
        rest: 15,
        submit: 20,
        leave: 1,
        interrupted: 60,
        ..Weights::default()
    })) {
        play(&script)?;
    }
}
