//! Shapes that cannot be built, and registrations that cannot be made, each named.

use parkade_core::{ConfigError, RegisterError, TagConfig, TagIndex, TaskControl};

use crate::script::*;

fn error(tags: &[TagConfig]) -> ConfigError {
    TaskControl::new(&Script::default(), tags).unwrap_err()
}

#[test]
fn every_impossible_shape_names_its_value() {
    let good = TagConfig::new(1);
    let tag = TagIndex(1);
    assert_eq!(error(&[]), ConfigError::NoTags);
    let cases = [
        (TagConfig::new(0), ConfigError::NoWorkers { tag }),
        (
            good.run_queue(3),
            ConfigError::RunQueue { tag, capacity: 3 },
        ),
        (
            good.run_queue(1),
            ConfigError::RunQueue { tag, capacity: 1 },
        ),
        (good.inbox_limit(0), ConfigError::InboxLimit { tag }),
        (good.ageing(1), ConfigError::Ageing { tag, picks: 1 }),
        (
            good.run_queue(8).steal_batch(5),
            ConfigError::StealBatch {
                tag,
                tasks: 5,
                largest: 4,
            },
        ),
    ];
    for (bad, expected) in cases {
        assert_eq!(error(&[good, bad]), expected);
        assert!(expected.to_string().starts_with("tag 1 "), "{expected}");
    }
}

#[test]
fn a_slot_has_one_worker_at_a_time() {
    let (control, _) = control(TagConfig::new(1));
    let worker = control.register(slot(0)).unwrap();
    let taken = control.register(slot(0)).unwrap_err();
    assert_eq!(taken, RegisterError::SlotTaken(slot(0)));
    assert_eq!(control.workers(), 1);
    drop(worker);
    assert_eq!(control.workers(), 0);
    assert!(control.register(slot(0)).is_ok());
    let missing = control.register(slot(1)).unwrap_err();
    assert_eq!(missing, RegisterError::NoSuchSlot(slot(1)));
    assert_eq!(missing.to_string(), "there is no worker 1 of tag 0");
}
