//! Maximal marginal relevance: pick, one after the other, what is relevant and unlike what was picked.
//!
//! value(d) = λ·cos(q, d) − (1 − λ)·max over picked p of cos(p, d), the maximum being 0 for the first pick.
//! Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries",
//! SIGIR 1998. λ = 1 is pure relevance; λ = 0 starts with the most relevant and then seeks only novelty.
//!
//! The redundancy of a candidate only grows as more is picked, so a value computed against some of the picks bounds the
//! value against all of them from above. The candidates wait in a heap under such bounds, and only the one on top is
//! compared with one more pick: the lazy greedy evaluation of Minoux (1978), with the picks of the full evaluation.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::cosine::Vectors;
use crate::{Error, Result};

/// A vector that was picked, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pick {
    /// Its row.
    pub index: usize,
    /// Its cosine to the query.
    pub relevance: f64,
    /// Its largest cosine to a vector picked before; 0 for the first.
    pub redundancy: f64,
    /// `λ·relevance − (1 − λ)·redundancy`.
    pub value: f64,
}

/// Pick `k` vectors, or all if there are fewer, in the order of picking.
///
/// Equal values are ordered by relevance, then by row. Zero vectors, of which neither relevance nor redundancy can be
/// told, come after all others, in the order of their rows.
///
/// # Errors
/// `lambda` is not in [0, 1]; the query is not finite or of another length than the vectors.
pub fn mmr(query: &[f32], vectors: &Vectors<'_>, k: usize, lambda: f64) -> Result<Vec<Pick>> {
    if !(0.0..=1.0).contains(&lambda) {
        return Err(Error::Parameter { field: "lambda_", value: lambda.to_string(), limit: "between 0 and 1" });
    }
    let relevances = vectors.cosines(query)?;
    let mut picks = pick_directed(&relevances, vectors, k, lambda);
    let zeros = (0..vectors.len()).filter(|&index| vectors.is_zero(index));
    let missing = k.saturating_sub(picks.len());
    picks.extend(zeros.take(missing).map(|index| Pick { index, relevance: 0.0, redundancy: 0.0, value: 0.0 }));
    Ok(picks)
}

fn pick_directed(relevances: &[f64], vectors: &Vectors<'_>, k: usize, lambda: f64) -> Vec<Pick> {
    let directed = relevances.iter().enumerate().filter(|&(index, _)| !vectors.is_zero(index));
    let mut waiting: Vec<Waiting> =
        directed.map(|(index, &relevance)| Waiting::new(lambda, index, relevance)).collect();
    let mut picks = Vec::with_capacity(k.min(waiting.len()));
    let first = waiting.iter().enumerate().max_by_key(|&(_, candidate)| candidate).map(|(place, _)| place);
    let Some(first) = first.filter(|_| k > 0).map(|place| waiting.swap_remove(place)) else {
        return picks;
    };
    for candidate in &mut waiting {
        candidate.redundancy = f64::NEG_INFINITY;
        candidate.compare(lambda, vectors.cosine(first.index, candidate.index));
    }
    picks.push(first.pick());
    let mut heap = BinaryHeap::from(waiting);
    while picks.len() < k
        && let Some(mut top) = heap.peek_mut()
    {
        if top.compared == picks.len() {
            picks.push(PeekMut::pop(top).pick());
        } else {
            let cosine = vectors.cosine(picks[top.compared].index, top.index);
            top.compare(lambda, cosine);
        }
    }
    picks
}

/// A candidate and what is known of it: its redundancy and value against the first `compared` picks.
#[derive(Debug)]
struct Waiting {
    index: usize,
    compared: usize,
    relevance: f64,
    redundancy: f64,
    value: f64,
}

impl Waiting {
    fn new(lambda: f64, index: usize, relevance: f64) -> Self {
        Self { index, compared: 0, relevance, redundancy: 0.0, value: value(lambda, relevance, 0.0) }
    }

    fn compare(&mut self, lambda: f64, cosine: f64) {
        self.compared += 1;
        self.redundancy = self.redundancy.max(cosine);
        self.value = value(lambda, self.relevance, self.redundancy);
    }

    fn pick(self) -> Pick {
        Pick { index: self.index, relevance: self.relevance, redundancy: self.redundancy, value: self.value }
    }
}

fn value(lambda: f64, relevance: f64, redundancy: f64) -> f64 {
    // + 0.0: a value of -0.0 ties with 0.0.
    lambda * relevance - (1.0 - lambda) * redundancy + 0.0
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value
            .total_cmp(&other.value)
            .then_with(|| self.relevance.total_cmp(&other.relevance))
            .then_with(|| other.index.cmp(&self.index))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every value against every pick, anew at every step.
    fn naive(query: &[f32], vectors: &Vectors<'_>, k: usize, lambda: f64) -> Vec<Pick> {
        let relevances = vectors.cosines(query).unwrap();
        let mut picks: Vec<Pick> = Vec::new();
        while picks.len() < k.min(vectors.len()) {
            let mut best: Option<(bool, Pick)> = None;
            for index in (0..vectors.len()).filter(|i| picks.iter().all(|p| p.index != *i)) {
                let cosines = picks.iter().map(|p| vectors.cosine(p.index, index));
                let redundancy = cosines.reduce(f64::max).unwrap_or(0.0);
                let relevance = relevances[index];
                let value = lambda * relevance - (1.0 - lambda) * redundancy;
                let next = (!vectors.is_zero(index), Pick { index, relevance, redundancy, value });
                let better = best.is_none_or(|(directed, b)| {
                    let both_zero = !directed && !next.0;
                    !both_zero && (next.0, value, relevance) > (directed, b.value, b.relevance)
                });
                if better {
                    best = Some(next);
                }
            }
            picks.extend(best.map(|(_, pick)| pick));
        }
        picks
    }

    fn case() -> impl Strategy<Value = (Vec<f32>, Vec<f32>, usize, f64)> {
        // Few distinct numbers, so that duplicates, zero vectors and ties are common.
        let number = prop_oneof![4 => (-2_i8..3).prop_map(f32::from), 1 => -1.0_f32..1.0];
        (1_usize..5, 0_usize..14).prop_flat_map(move |(dimensions, rows)| {
            (
                proptest::collection::vec(number.clone(), dimensions),
                proptest::collection::vec(number.clone(), dimensions * rows),
                0_usize..16,
                prop_oneof![Just(0.0), Just(0.5), Just(1.0), 0.0_f64..=1.0],
            )
        })
    }

    proptest! {
        #[test]
        fn lazy_picks_are_the_naive_picks((query, values, k, lambda) in case()) {
            let vectors = Vectors::new(&values, query.len()).unwrap();
            let lazy = mmr(&query, &vectors, k, lambda).unwrap();
            prop_assert_eq!(lazy, naive(&query, &vectors, k, lambda));
        }
    }

    #[test]
    fn lambda_one_is_the_order_of_relevance() {
        let values = [0.6, 0.8, 1.0, 0.0, 0.8, 0.6];
        let picks = mmr(&[1.0, 0.0], &Vectors::new(&values, 2).unwrap(), 3, 1.0).unwrap();
        assert_eq!(picks.iter().map(|p| p.index).collect::<Vec<_>>(), [1, 2, 0]);
    }

    #[test]
    fn a_zero_vector_is_last_even_behind_opposites() {
        let values = [0.0, 0.0, -1.0, 0.0, -1.0, 0.1];
        let picks = mmr(&[1.0, 0.0], &Vectors::new(&values, 2).unwrap(), 3, 0.5).unwrap();
        assert_eq!(picks.iter().map(|p| p.index).collect::<Vec<_>>(), [2, 1, 0]);
    }

    #[test]
    fn lambda_is_checked() {
        let vectors = Vectors::new(&[1.0], 1).unwrap();
        for lambda in [-0.1, 1.1, f64::NAN] {
            assert!(matches!(mmr(&[1.0], &vectors, 1, lambda), Err(Error::Parameter { field: "lambda_", .. })));
        }
    }
}
