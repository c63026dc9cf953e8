//! I5: a worker that was asked to retire runs what its mailbox holds and leaves the rest to others, also
//! when it is asked in the middle of a look, claimed, or given up and registered again.

use proptest::prelude::*;

use crate::play::play;
use crate::script::{Weights, script};

proptest! {
    #![proptest_config(crate::config())]

    #[test]
    fn a_retiring_worker_starts_nothing_else(script in script(Weights {
        leave: 10,
        targeted: 12,
        ..Weights::default()
    })) {
        play(&script)?;
    }
}
