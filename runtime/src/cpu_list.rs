//! CPU lists as people write them: `"0-3,5"`.
//!
//! The parser is bounded: no CPU above [`CpuList::MAX_CPU`] and no list longer than
//! [`CpuList::MAX_LEN`], so that a slip of the keyboard is an error at once and not four billion CPUs.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A list of CPU numbers, in the order in which it was written.
///
/// Worker `i` of a tag is pinned to CPU `list[i % len]`, so order and repetition mean something. Ranges
/// include both ends.
///
/// ```
/// use parkade::CpuList;
///
/// let list: CpuList = "0-3,5,7".parse()?;
/// assert_eq!(list.cpus(), [0, 1, 2, 3, 5, 7]);
/// assert_eq!(list.to_string(), "0-3,5,7");
/// assert_eq!("3-1".parse::<CpuList>().unwrap_err().to_string(), "the CPU range \"3-1\" runs backwards");
/// # Ok::<(), parkade::CpuListError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CpuList(Vec<usize>);

/// A CPU list that cannot be read; each variant names the piece at fault.
///
/// ```
/// use parkade::{CpuList, CpuListError};
///
/// let error = "3-1".parse::<CpuList>().unwrap_err();
/// println!("{error}");
/// assert!("0-4294967295".parse::<CpuList>().is_err(), "too many to be meant");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CpuListError {
    /// Nothing was written at all.
    #[error("the CPU list is empty")]
    Empty,
    /// A piece between commas is neither a number nor a range of two numbers.
    #[error("{piece:?} in the CPU list {list:?} is neither a CPU number nor a range like 0-3")]
    NotACpu {
        /// The piece.
        piece: String,
        /// The whole list.
        list: String,
    },
    /// A range whose end is below its start.
    #[error("the CPU range {piece:?} runs backwards")]
    Reversed {
        /// The range.
        piece: String,
    },
    /// A CPU number above [`CpuList::MAX_CPU`].
    #[error("{piece:?} names a CPU above {limit}, the largest that is supported")]
    TooLarge {
        /// The number or range.
        piece: String,
        /// The largest CPU number.
        limit: usize,
    },
    /// More CPUs than [`CpuList::MAX_LEN`] in all.
    #[error("the CPU list {list:?} names more than {limit} CPUs")]
    TooLong {
        /// The whole list.
        list: String,
        /// The longest list, in CPUs.
        limit: usize,
    },
}

impl CpuList {
    /// The largest CPU number that is accepted.
    ///
    /// ```
    /// use parkade::CpuList;
    ///
    /// let all = format!("0-{}", CpuList::MAX_CPU).parse::<CpuList>()?;
    /// assert_eq!(all.cpus().len(), CpuList::MAX_LEN);
    /// assert!(format!("{all},0").parse::<CpuList>().is_err(), "one more");
    /// # Ok::<(), parkade::CpuListError>(())
    /// ```
    pub const MAX_CPU: usize = 4095;
    /// The most CPUs that one list may name, repetitions included. See [`CpuList::MAX_CPU`] for an example.
    pub const MAX_LEN: usize = 4096;

    /// Of CPUs that are within the bounds, at least one.
    pub(crate) fn of(cpus: Vec<usize>) -> Self {
        Self(cpus)
    }

    /// The CPU numbers, in the order in which they were written; at least one. See [`CpuList`] for an example.
    #[must_use]
    pub fn cpus(&self) -> &[usize] {
        &self.0
    }
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(list: &str) -> Result<Self, CpuListError> {
        if list.trim().is_empty() {
            return Err(CpuListError::Empty);
        }
        let mut cpus = Vec::new();
        for piece in list.split(',') {
            let (first, last) = parse_piece(piece.trim(), list)?;
            if cpus.len() + (last - first + 1) > Self::MAX_LEN {
                return Err(CpuListError::TooLong {
                    list: list.to_owned(),
                    limit: Self::MAX_LEN,
                });
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

/// Reads one piece as a range with both ends; a single CPU is a range of one.
fn parse_piece(piece: &str, list: &str) -> Result<(usize, usize), CpuListError> {
    let (first, last) = match piece.split_once('-') {
        Some((first, last)) => (
            parse_cpu(first, piece, list)?,
            parse_cpu(last, piece, list)?,
        ),
        None => {
            let cpu = parse_cpu(piece, piece, list)?;
            (cpu, cpu)
        }
    };
    let piece = || piece.to_owned();
    if first > last {
        Err(CpuListError::Reversed { piece: piece() })
    } else if last > CpuList::MAX_CPU {
        Err(CpuListError::TooLarge {
            piece: piece(),
            limit: CpuList::MAX_CPU,
        })
    } else {
        Ok((first, last))
    }
}

fn parse_cpu(number: &str, piece: &str, list: &str) -> Result<usize, CpuListError> {
    let number = number.trim();
    // `parse` would take "+1".
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CpuListError::NotACpu {
            piece: piece.to_owned(),
            list: list.to_owned(),
        });
    }
    // All digits, so the only way to fail is to be too large.
    Ok(number.parse().unwrap_or(usize::MAX))
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ranges(&self.0).fmt(f)
    }
}

/// As it is written, for [`Tag::cpus`](crate::Tag::cpus).
impl From<CpuList> for String {
    fn from(list: CpuList) -> Self {
        list.to_string()
    }
}

/// CPU numbers that print as a list. Unlike a [`CpuList`] it may be empty and without bounds: the CPUs of
/// a process are not what somebody wrote.
pub(crate) struct Ranges<'a>(pub(crate) &'a [usize]);

impl fmt::Display for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for run in self.0.chunk_by(|a, b| a + 1 == *b) {
            match run {
                [only] => write!(f, "{separator}{only}")?,
                [first, .., last] => write!(f, "{separator}{first}-{last}")?,
                [] => {}
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(list: &str) -> Vec<usize> {
        list.parse::<CpuList>().unwrap().0
    }

    fn error(list: &str) -> CpuListError {
        list.parse::<CpuList>().unwrap_err()
    }

    /// A4.
    #[test]
    fn lists_that_people_write() {
        assert_eq!(cpus("0"), [0]);
        assert_eq!(cpus("0-3,5,7"), [0, 1, 2, 3, 5, 7]);
        assert_eq!(cpus(" 2 , 0 - 1 "), [2, 0, 1]);
        assert_eq!(cpus("3,3"), [3, 3]);
        assert_eq!(cpus("4095"), [4095]);
        assert_eq!(cpus("0-4095").len(), 4096);
    }

    /// A4.
    #[test]
    fn each_slip_has_its_error_and_names_the_piece() {
        assert_eq!(error(""), CpuListError::Empty);
        assert_eq!(error("  "), CpuListError::Empty);
        assert_eq!(
            error("0,3-1"),
            CpuListError::Reversed {
                piece: "3-1".into()
            }
        );
        for large in ["0-4294967295", "4096", "0-99999999999999999999999999"] {
            assert_eq!(
                error(large),
                CpuListError::TooLarge {
                    piece: large.into(),
                    limit: 4095
                }
            );
        }
        for (list, piece) in [
            ("0-3,x", "x"),
            ("0,,1", ""),
            ("1-", "1-"),
            ("-1", "-1"),
            ("+1", "+1"),
            ("0-1-2", "0-1-2"),
        ] {
            assert_eq!(
                error(list),
                CpuListError::NotACpu {
                    piece: piece.into(),
                    list: list.into()
                }
            );
        }
        assert_eq!(
            error("0-4095,1"),
            CpuListError::TooLong {
                list: "0-4095,1".into(),
                limit: 4096
            }
        );
    }

    #[test]
    fn what_is_printed_reads_back() {
        for list in ["0", "0-3,5,7", "7,0-1", "2,2", "1-2,1-2"] {
            let parsed: CpuList = list.parse().unwrap();
            assert_eq!(parsed.to_string(), list);
            assert_eq!(parsed.to_string().parse(), Ok(parsed));
        }
    }
}
