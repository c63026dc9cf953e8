//! Whatever the interleaving, the core answers as the reference allows.

use proptest::prelude::*;

use crate::play::play;
use crate::script::{Weights, script};

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn each_task_runs_once_where_it_may(script in script(Weights::default())) {
        play(&script)?;
    }
}
