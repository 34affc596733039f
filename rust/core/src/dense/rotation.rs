//! A fixed random rotation, so that every bit of a sign code carries about as much as any other.

/// How often signs are flipped and mixed; three times make even a vector with one number spread over all.
const ROUNDS: usize = 3;

/// The least number of dimensions that codes are made of: one word of bits.
const FEWEST: usize = 64;

/// Sign flips and Walsh–Hadamard transforms in turn (Ailon & Chazelle, *The fast Johnson–Lindenstrauss transform*, 2009):
/// an orthogonal map of vectors padded with zeroes to a power of two, the same in every index of these dimensions.
#[derive(Debug, Clone)]
pub(super) struct Rotation {
    /// `ROUNDS` times as many signs as there are dimensions.
    signs: Vec<f32>,
    size: usize,
}

impl Rotation {
    pub(super) fn new(dimensions: usize) -> Self {
        let size = dimensions.next_power_of_two().max(FEWEST);
        let mut state = 0_u64;
        let sign = |_| if split_mix(&mut state) >> 63 == 0 { 1.0 } else { -1.0 };
        Self { signs: (0..size * ROUNDS).map(sign).collect(), size }
    }

    /// Dimensions after the rotation.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The rotated vector, of the same length.
    pub(super) fn rotated(&self, vector: &[f32]) -> Vec<f32> {
        let mut rotated = vec![0.0; self.size];
        rotated[..vector.len()].copy_from_slice(vector);
        let scale = 1.0 / (self.size as f32).sqrt();
        for signs in self.signs.chunks(self.size) {
            for (x, sign) in rotated.iter_mut().zip(signs) {
                *x *= sign * scale;
            }
            hadamard(&mut rotated);
        }
        rotated
    }
}

/// The Walsh–Hadamard transform in place, not normalised.
fn hadamard(vector: &mut [f32]) {
    let mut half = 1;
    while half < vector.len() {
        for pair in vector.chunks_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

/// The generator `SplitMix64` (Steele, Lea & Flood, 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    }

    proptest! {
        #[test]
        fn angles_and_lengths_stay(
            (a, b) in (1_usize..150).prop_flat_map(|d| (vec(-1.0_f32..1.0, d), vec(-1.0_f32..1.0, d))),
        ) {
            let rotation = Rotation::new(a.len());
            let (c, d) = (rotation.rotated(&a), rotation.rotated(&b));
            prop_assert_eq!(c.len(), rotation.size());
            prop_assert!((dot(&a, &b) - dot(&c, &d)).abs() < 1e-4);
            prop_assert!((dot(&a, &a) - dot(&c, &c)).abs() < 1e-4);
        }
    }

    #[test]
    fn one_number_is_spread_over_all() {
        let mut axis = vec![0.0; 384];
        axis[7] = 1.0;
        let rotated = Rotation::new(384).rotated(&axis);
        assert!(rotated.iter().all(|x| x.abs() < 0.25));
        assert!(rotated.iter().filter(|x| x.abs() > 0.01).count() > 300);
    }
}
