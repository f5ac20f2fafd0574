//! A small random generator whose numbers are the same on every platform and in every release.

/// `SplitMix64` (Steele, Lea and Flood, 2014). Not for secrets.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included. Slightly uneven, which does not matter here.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high.saturating_sub(low) + 1)
    }

    /// True once in `n` times.
    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.between(1, n) == 1
    }

    /// One of the choices; the empty text where there is none.
    pub(super) fn pick(&mut self, choices: &[&'static str]) -> &'static str {
        let last = (choices.len() as u64).saturating_sub(1);
        let index = usize::try_from(self.between(0, last)).unwrap_or_default();
        choices.get(index).copied().unwrap_or_default()
    }

    /// An id of `digits` hexadecimal digits, at most 16.
    pub(super) fn hex(&mut self, digits: usize) -> String {
        let all = format!("{:016x}", self.next());
        all.chars().take(digits).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_algorithm() {
        let mut rng = Rng::new(1_234_567);
        let numbers = [rng.next(), rng.next(), rng.next()];
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn numbers_stay_in_their_bounds() {
        let mut rng = Rng::new(7);
        for _ in 0..1000 {
            assert!((3..=5).contains(&rng.between(3, 5)));
        }
        assert_eq!(rng.between(9, 9), 9);
        assert_eq!(rng.pick(&[]), "");
        assert_eq!(rng.hex(8).len(), 8);
    }
}
