//! Dropping what says the same as something better ranked.

use super::cosine::Vectors;
use crate::{Error, Result};

/// A vector that was dropped, and for which one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Twin {
    /// The row that was dropped.
    pub index: usize,
    /// The kept, better-ranked row most similar to it; of equally similar ones the best ranked.
    pub twin: usize,
    /// Their cosine.
    pub similarity: f64,
}

/// Go through the vectors from the best ranked on and keep each whose cosine to every one kept so far is below
/// `threshold`. Return the rows kept, in order, and the rows dropped.
///
/// Only kept vectors count: what resembles nothing but a dropped vector stays. A zero vector resembles nothing and
/// nothing resembles it.
///
/// # Errors
/// `threshold` is not in [-1, 1].
pub fn redundancy_filter(vectors: &Vectors<'_>, threshold: f64) -> Result<(Vec<usize>, Vec<Twin>)> {
    if !(-1.0..=1.0).contains(&threshold) {
        return Err(Error::Parameter { field: "threshold", value: threshold.to_string(), limit: "between -1 and 1" });
    }
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    for index in 0..vectors.len() {
        match nearest(vectors, &kept, index).filter(|twin| twin.similarity >= threshold) {
            Some(twin) => dropped.push(twin),
            None => kept.push(index),
        }
    }
    Ok((kept, dropped))
}

fn nearest(vectors: &Vectors<'_>, kept: &[usize], index: usize) -> Option<Twin> {
    if vectors.is_zero(index) {
        return None;
    }
    let directed = kept.iter().filter(|&&other| !vectors.is_zero(other));
    let twins = directed.map(|&twin| Twin { index, twin, similarity: vectors.cosine(twin, index) });
    twins.reduce(|best, next| if next.similarity > best.similarity { next } else { best })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)]

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn kept_ones_differ_and_dropped_ones_have_a_twin(
            values in proptest::collection::vec((-2_i8..3).prop_map(f32::from), 0..24),
            threshold in -1.0_f64..=1.0,
        ) {
            let values = &values[..values.len() / 2 * 2];
            let vectors = Vectors::new(values, 2).unwrap();
            let (kept, dropped) = redundancy_filter(&vectors, threshold).unwrap();
            let mut rows: Vec<usize> = kept.iter().copied().chain(dropped.iter().map(|t| t.index)).collect();
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..vectors.len()).collect::<Vec<_>>());
            let alike = |a: usize, b: usize| {
                !vectors.is_zero(a) && !vectors.is_zero(b) && vectors.cosine(a, b) >= threshold
            };
            for &row in &kept {
                prop_assert!(kept.iter().filter(|&&other| other < row).all(|&other| !alike(other, row)));
            }
            for twin in &dropped {
                prop_assert!(kept.contains(&twin.twin) && twin.twin < twin.index && alike(twin.twin, twin.index));
                let before = kept.iter().filter(|&&other| other < twin.index && !vectors.is_zero(other));
                let nearest = before.map(|&other| vectors.cosine(other, twin.index)).fold(-1.0, f64::max);
                prop_assert_eq!(twin.similarity, nearest);
            }
        }
    }

    #[test]
    fn copies_reach_a_threshold_of_one() {
        let values = [0.1, 0.7, -0.3, 0.1, 0.7, -0.3, 0.2, 1.4, -0.6];
        let (kept, dropped) = redundancy_filter(&Vectors::new(&values, 3).unwrap(), 1.0).unwrap();
        assert_eq!(kept, [0]);
        assert_eq!(
            dropped.iter().map(|t| (t.index, t.twin, t.similarity)).collect::<Vec<_>>(),
            [(1, 0, 1.0), (2, 0, 1.0)]
        );
    }

    #[test]
    fn the_threshold_is_checked() {
        let vectors = Vectors::new(&[1.0], 1).unwrap();
        assert!(matches!(redundancy_filter(&vectors, 1.01), Err(Error::Parameter { field: "threshold", .. })));
        assert!(matches!(redundancy_filter(&vectors, f64::NAN), Err(Error::Parameter { .. })));
    }
}
