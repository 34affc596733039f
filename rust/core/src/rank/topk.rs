//! The `k` best of a stream in one pass: a heap of the best so far whose root is the worst of them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A key and its score. The greater of two is the better: the higher score, then the lower key.
#[derive(Debug, Clone, Copy)]
pub struct Scored<K> {
    /// Finite; `-0.0` and `0.0` are the same score.
    pub score: f64,
    /// What breaks ties.
    pub key: K,
}

impl<K: Ord> Ord for Scored<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.score + 0.0).total_cmp(&(other.score + 0.0)).then_with(|| other.key.cmp(&self.key))
    }
}

impl<K: Ord> PartialOrd for Scored<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord> PartialEq for Scored<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<K: Ord> Eq for Scored<K> {}

/// Keeps the `k` best entries pushed, whatever order they come in.
///
/// Keys are compared only where scores tie, so that a key may be a reference to what is costly to compare.
#[derive(Debug)]
pub struct TopK<K> {
    capacity: usize,
    heap: BinaryHeap<Reverse<Scored<K>>>,
}

impl<K: Ord> TopK<K> {
    /// Room for the `k` best; a `k` of 0 keeps nothing.
    pub fn new(k: usize) -> Self {
        const PREALLOCATED: usize = 1024;
        Self { capacity: k, heap: BinaryHeap::with_capacity(k.min(PREALLOCATED)) }
    }

    /// Offer an entry.
    #[inline]
    pub fn push(&mut self, score: f64, key: K) {
        let entry = Scored { score, key };
        if self.heap.len() < self.capacity {
            self.heap.push(Reverse(entry));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && entry > worst.0
        {
            worst.0 = entry;
        }
    }

    /// The score that an entry must reach to have a chance: that of the worst one kept, once there are `k`.
    ///
    /// An entry of exactly this score may still win on its key.
    #[inline]
    pub fn threshold(&self) -> Option<f64> {
        if self.heap.len() < self.capacity { None } else { self.heap.peek().map(|worst| worst.0.score) }
    }

    /// What was kept, best first.
    pub fn into_sorted(self) -> Vec<Scored<K>> {
        // Sorting the reversed entries ascending is sorting the entries descending.
        self.heap.into_sorted_vec().into_iter().map(|Reverse(entry)| entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zero_keeps_nothing() {
        let mut top = TopK::new(0);
        top.push(1.0, 1);
        assert_eq!(top.threshold(), None);
        assert!(top.into_sorted().is_empty());
    }

    #[test]
    fn signed_zeros_tie() {
        let mut top = TopK::new(1);
        top.push(0.0, 2);
        top.push(-0.0, 1);
        assert_eq!(top.into_sorted()[0].key, 1);
    }

    proptest! {
        #[test]
        fn equals_sorting_everything(scores in proptest::collection::vec(0_i8..5, 0..60), k in 0_usize..70) {
            let mut top = TopK::new(k);
            let mut all: Vec<(i8, usize)> = Vec::new();
            for (key, &score) in scores.iter().enumerate() {
                top.push(f64::from(score), key);
                all.push((-score, key));
            }
            all.sort_unstable();
            all.truncate(k);
            if k > 0 && all.len() == k {
                prop_assert_eq!(top.threshold(), Some(f64::from(-all[k - 1].0)));
            }
            let kept: Vec<(i8, usize)> = top.into_sorted().iter().map(|e| (-(e.score as i8), e.key)).collect();
            prop_assert_eq!(kept, all);
        }
    }
}
