//! I4: a stop reaches every worker within one park; after a drain every accepted task ran, after an
//! abandonment each ran or came back, once, whatever raced the five steps.

use proptest::prelude::*;

use crate::play::play;
use crate::script::{Weights, script};

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
}
