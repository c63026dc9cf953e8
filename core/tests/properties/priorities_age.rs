//! Without interruptions every look is one pick, so the bounds of ageing hold to the letter, and tasks of
//! high priority come in their order.

use proptest::prelude::*;

use crate::play::play;
use crate::script::{Weights, script};

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn priorities_age(script in script(Weights {
        submit: 25,
        rest: 1,
        leave: 0,
        stop: 0,
        interrupted: 0,
        ..Weights::default()
    })) {
        play(&script)?;
    }
}
