//! Thread names: at most 15 bytes, unique, and the worker's index always whole.
//!
//! Linux cuts a thread's name after 15 bytes, which is where the index stands. So the front is cut
//! instead: `analytics-heavy` with worker 117 becomes `analytics~2-117`, where `~2` is the tag's own
//! index, put in so that two tags with one beginning stay apart.

use std::collections::HashSet;

/// The longest name that every supported system shows whole, in bytes.
pub(crate) const MAX_NAME: usize = 15;

/// For each tag, given by name and number of workers, what its threads' names begin with; `-` and the
/// worker's index follow.
pub(crate) fn labels(prefix: &str, tags: &[(&str, usize)]) -> Vec<String> {
    let room = |workers: usize| MAX_NAME - 1 - digits(workers.saturating_sub(1));
    let whole: Vec<String> = tags
        .iter()
        .map(|(name, _)| format!("{prefix}{name}"))
        .collect();
    let mut taken: HashSet<String> = tags
        .iter()
        .zip(&whole)
        .filter(|((_, workers), label)| label.len() <= room(*workers))
        .map(|(_, label)| label.clone())
        .collect();
    let mut labels = Vec::with_capacity(tags.len());
    for (index, ((_, workers), label)) in tags.iter().zip(whole).enumerate() {
        let room = room(*workers);
        if label.len() <= room {
            labels.push(label);
            continue;
        }
        let suffix = format!("~{index}");
        let mut keep = room.saturating_sub(suffix.len());
        let short = loop {
            let short = format!("{}{suffix}", &label[..label.floor_char_boundary(keep)]);
            // Somebody else's whole name may look like it: then one byte less.
            if keep == 0 || !taken.contains(&short) {
                break short;
            }
            keep -= 1;
        };
        taken.insert(short.clone());
        labels.push(short);
    }
    labels
}

/// The name of a thread that is no worker: the prefix, cut if need be, and what it is. A worker's name ends in
/// a number.
pub(crate) fn own_thread(prefix: &str, what: &str) -> String {
    let front = &prefix[..prefix.floor_char_boundary(MAX_NAME - what.len())];
    format!("{front}{what}")
}

fn digits(number: usize) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A7.
    #[test]
    fn short_names_stay_and_long_ones_keep_the_index() {
        let tags = [
            ("io", 2),
            ("analytics-heavy", 118),
            ("analytics-heavier", 118),
        ];
        assert_eq!(labels("", &tags), ["io", "analytics~1", "analytics~2"]);
        for label in labels("pk-", &tags) {
            assert!(format!("{label}-117").len() <= MAX_NAME, "{label}");
        }
    }

    #[test]
    fn a_tag_that_is_called_like_a_cut_one_collides_with_nobody() {
        let tags = [("aaaaaaaaaaaaaaaaaaaa", 1), ("aaaaaaaaaaa~0", 1)];
        let labels = labels("", &tags);
        assert_ne!(labels[0], labels[1]);
        assert_eq!(labels[1], "aaaaaaaaaaa~0");
    }

    #[test]
    fn the_timer_thread_is_named_too() {
        assert_eq!(own_thread("pk-", "timer"), "pk-timer");
        assert_eq!(own_thread("a-long-service-", "timer"), "a-long-sertimer");
    }

    #[test]
    fn cuts_fall_between_characters() {
        let labels = labels("", &[("ääääääääääääää", 4096)]);
        assert_eq!(labels, ["ääää~0"]);
    }
}
