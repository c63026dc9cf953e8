//! The steal walk: every victim once, from a random place, whatever their number.
//!
//! A walk over n victims starts at a random one and goes on by a random stride that is coprime to n, so
//! that it visits each exactly once, and two thieves rarely go the same way.

/// A small generator of places to start at (xorshift; Marsaglia, "Xorshift RNGs", 2003).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dice(u32);

impl Dice {
    pub(crate) const fn new(seed: usize) -> Self {
        // The generator's one fixed point is 0; the constant spreads small seeds.
        Self((seed as u32).wrapping_mul(0x9E37_79B9) | 1)
    }

    #[inline]
    pub(crate) fn roll(&mut self) -> usize {
        let mut x = self.0;
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.0 = x;
        x as usize
    }
}

/// An iterator over `0..n` in a scattered order.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    n: usize,
    at: usize,
    stride: usize,
    left: usize,
}

impl Walk {
    #[inline]
    pub(crate) fn new(n: usize, dice: &mut Dice) -> Self {
        if n == 0 {
            return Self {
                n,
                at: 0,
                stride: 0,
                left: 0,
            };
        }
        let roll = dice.roll();
        // High and low bits of one roll, so that start and stride vary apart.
        let mut stride = (roll >> 16) % n;
        while gcd(stride, n) != 1 {
            stride += 1;
        }
        Self {
            n,
            at: (roll & 0xFFFF) % n,
            stride,
            left: n,
        }
    }
}

impl Iterator for Walk {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let here = self.at;
        self.at = (here + self.stride) % self.n;
        Some(here)
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(all(test, not(parkade_loom)))]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn every_victim_is_visited_once_whatever_their_number() {
        let mut dice = Dice::new(1);
        for n in 0..=200 {
            for _ in 0..20 {
                let mut visited: Vec<_> = Walk::new(n, &mut dice).collect();
                visited.sort_unstable();
                assert_eq!(visited, (0..n).collect::<Vec<_>>(), "n = {n}");
            }
        }
    }

    #[test]
    fn walks_start_at_different_victims() {
        let mut dice = Dice::new(7);
        let mut starts = [0; 8];
        for _ in 0..800 {
            starts[Walk::new(8, &mut dice).next().unwrap()] += 1;
        }
        assert!(starts.iter().all(|&count| count > 40), "{starts:?}");
    }
}
