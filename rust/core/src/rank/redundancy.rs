//! Dropping what says the same as something better ranked.
//!
//! Rough cosines, a block of rows at a time against all that is kept, show which pairs may reach the threshold; only
//! those are compared exactly.

use super::cosine::Vectors;
use crate::{Error, Result};

/// Rows that go through the kept ones together, so that these are read once for all of them.
const BLOCK: usize = 32;

/// Kept rows that the rows of a block are compared with one after the other, so that they stay in the cache.
const TILE: usize = 16;

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
    let mut filter = Filter { vectors, threshold, kept: Vec::new(), directed: Vec::new() };
    let mut dropped = Vec::new();
    let rows: Vec<usize> = (0..vectors.len()).collect();
    for block in rows.chunks(BLOCK) {
        filter.pass(block, &mut dropped);
    }
    Ok((filter.kept, dropped))
}

struct Filter<'a> {
    vectors: &'a Vectors<'a>,
    threshold: f64,
    kept: Vec<usize>,
    /// The kept rows that have a direction.
    directed: Vec<u32>,
}

impl Filter<'_> {
    fn pass(&mut self, block: &[usize], dropped: &mut Vec<Twin>) {
        let before = self.directed.len();
        let mut rough = vec![0.0; block.len() * before];
        for (tile, rows) in self.directed.chunks(TILE).enumerate() {
            for (place, &index) in block.iter().enumerate() {
                let start = place * before + tile * TILE;
                self.vectors.rough_cosines(index, rows, &mut rough[start..start + rows.len()]);
            }
        }
        let mut cosines = Vec::with_capacity(before + block.len());
        for (place, &index) in block.iter().enumerate() {
            cosines.clear();
            cosines.extend_from_slice(&rough[place * before..(place + 1) * before]);
            cosines.resize(self.directed.len(), 0.0);
            self.vectors.rough_cosines(index, &self.directed[before..], &mut cosines[before..]);
            match self.twin(index, &cosines) {
                Some(twin) => dropped.push(twin),
                None => self.keep(index),
            }
        }
    }

    fn keep(&mut self, index: usize) {
        self.kept.push(index);
        if !self.vectors.is_zero(index) {
            self.directed.push(index as u32);
        }
    }

    /// The kept row most like this one, the best ranked of several, if it reaches the threshold.
    fn twin(&self, index: usize, rough: &[f64]) -> Option<Twin> {
        if self.vectors.is_zero(index) {
            return None;
        }
        let margin = self.vectors.margin();
        let best = rough.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let floor = (best - margin).max(self.threshold) - margin;
        let close = self.directed.iter().zip(rough).filter(|&(_, &rough)| rough >= floor);
        let twins = close.map(|(&twin, _)| {
            let twin = twin as usize;
            Twin { index, twin, similarity: self.vectors.cosine(twin, index) }
        });
        let nearest = twins.reduce(|best, next| if next.similarity > best.similarity { next } else { best });
        nearest.filter(|twin| twin.similarity >= self.threshold)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)]

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn kept_ones_differ_and_dropped_ones_have_a_twin(
            values in proptest::collection::vec((-2_i8..3).prop_map(f32::from), 0..240),
            threshold in prop_oneof![Just(1.0), Just(0.8), -1.0_f64..=1.0],
            dimensions in 1_usize..5,
        ) {
            let values = &values[..values.len() / dimensions * dimensions];
            let vectors = Vectors::new(values, dimensions).unwrap();
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
