//! Maximal marginal relevance: pick, one after the other, what is relevant and unlike what was picked.
//!
//! value(d) = λ·cos(q, d) − (1 − λ)·max over picked p of cos(p, d), the maximum being 0 for the first pick.
//! Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries",
//! SIGIR 1998. λ = 1 is pure relevance; λ = 0 starts with the most relevant and then seeks only novelty.
//!
//! The redundancy of a candidate only grows as more is picked, so a value computed against some of the picks bounds the
//! value against all of them from above. The candidates wait in a heap under such bounds, and only the one on top is
//! compared with more picks, the newest first: the lazy greedy evaluation of Minoux (1978). The heap works with rough
//! cosines; whatever comes within their margin of the best is compared exactly before one is picked. So the picks, their
//! order and every number are those of the full evaluation in double precision.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use super::cosine::{Query, Vectors};
use crate::{Error, Result};

/// Picks that a candidate is compared with at a time.
const GROUP: usize = 4;

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
    if vectors.is_empty() {
        return Ok(Vec::new());
    }
    let query = vectors.query(query)?;
    let mut picks = Picking::new(vectors, &query, lambda).run(k);
    let zeros = (0..vectors.len()).filter(|&index| vectors.is_zero(index));
    let missing = k.saturating_sub(picks.len());
    picks.extend(zeros.take(missing).map(|index| Pick { index, relevance: 0.0, redundancy: 0.0, value: 0.0 }));
    Ok(picks)
}

struct Picking<'a> {
    vectors: &'a Vectors<'a>,
    query: &'a Query<'a>,
    lambda: f64,
    /// Two rough values, or cosines, further apart than this are in the right order.
    doubt: f64,
    waiting: BinaryHeap<Waiting>,
    candidates: Vec<Candidate>,
    /// What is known exactly of a row that once came close: its relevance, and its redundancy among so many picks.
    known: Vec<Option<Known>>,
    rows: Vec<u32>,
}

/// A candidate under a bound of its value.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    value: f64,
    index: u32,
}

/// About what is known of a candidate, against the picks below `compared` and those in `newer`.
#[derive(Debug, Clone)]
struct Candidate {
    relevance: f64,
    redundancy: f64,
    compared: usize,
    newer: Range<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    relevance: f64,
    redundancy: f64,
    picks: usize,
}

impl<'a> Picking<'a> {
    fn new(vectors: &'a Vectors<'a>, query: &'a Query<'a>, lambda: f64) -> Self {
        let relevances = vectors.rough_relevances(query);
        let candidate =
            |&relevance: &f64| Candidate { relevance, redundancy: f64::NEG_INFINITY, compared: 0, newer: 0..0 };
        let candidates: Vec<Candidate> = relevances.iter().map(candidate).collect();
        let directed = (0..vectors.len()).filter(|&index| !vectors.is_zero(index));
        let waiting =
            directed.map(|index| Waiting { value: value(lambda, relevances[index], 0.0), index: index as u32 });
        let waiting = waiting.collect();
        // Each value is within the margin of the exact one: λ·margin for its relevance, (1 − λ)·margin for the rest.
        let doubt = 2.0 * vectors.margin();
        let known = vec![None; vectors.len()];
        Self { vectors, query, lambda, doubt, waiting, candidates, known, rows: Vec::new() }
    }

    fn run(mut self, k: usize) -> Vec<Pick> {
        let mut picks = Vec::with_capacity(k.min(self.waiting.len()));
        while picks.len() < k
            && let Some(pick) = self.next()
        {
            if picks.is_empty() && k > 1 {
                self.compare_all(pick.index);
            }
            self.rows.push(pick.index as u32);
            picks.push(pick);
        }
        picks
    }

    /// Take the best candidate out of the heap, which is the best of those that rough values cannot tell apart.
    fn next(&mut self) -> Option<Pick> {
        let mut close = vec![self.pop(f64::NEG_INFINITY)?];
        let floor = close[0].value - self.doubt;
        while let Some(other) = self.pop(floor) {
            close.push(other);
        }
        let picks: Vec<Pick> = close.iter().map(|candidate| self.exact(candidate.index as usize)).collect();
        let (place, &best) = picks.iter().enumerate().max_by(|(_, a), (_, b)| order(a, b))?;
        close.swap_remove(place);
        self.waiting.extend(close);
        Some(best)
    }

    /// Take the candidate of the highest rough value out of the heap, unless that is below `floor`.
    fn pop(&mut self, floor: f64) -> Option<Waiting> {
        let mut top = self.waiting.peek_mut()?;
        loop {
            if top.value < floor {
                return None;
            }
            let candidate = &mut self.candidates[top.index as usize];
            let Some(next) = candidate.next_picks(self.rows.len()) else {
                return Some(PeekMut::pop(top));
            };
            let mut cosines = [0.0; GROUP];
            let cosines = &mut cosines[..next.len()];
            self.vectors.rough_cosines(top.index as usize, &self.rows[next], cosines);
            let redundancy = cosines.iter().copied().fold(candidate.redundancy, f64::max);
            if redundancy > candidate.redundancy {
                candidate.redundancy = redundancy;
                top.value = value(self.lambda, candidate.relevance, redundancy);
                drop(top);
                top = self.waiting.peek_mut()?;
            }
        }
    }

    /// Compare every candidate that waits with the first pick, in one go.
    fn compare_all(&mut self, first: usize) {
        let mut waiting = std::mem::take(&mut self.waiting).into_vec();
        let rows: Vec<u32> = waiting.iter().map(|waiting| waiting.index).collect();
        let mut cosines = vec![0.0; rows.len()];
        self.vectors.rough_cosines(first, &rows, &mut cosines);
        for (waiting, cosine) in waiting.iter_mut().zip(cosines) {
            let candidate = &mut self.candidates[waiting.index as usize];
            *candidate = Candidate { relevance: candidate.relevance, redundancy: cosine, compared: 1, newer: 1..1 };
            waiting.value = value(self.lambda, candidate.relevance, cosine);
        }
        self.waiting = waiting.into();
    }

    fn exact(&mut self, index: usize) -> Pick {
        let (vectors, query) = (self.vectors, self.query);
        let known = self.known[index].get_or_insert_with(|| Known {
            relevance: vectors.relevance(query, index),
            redundancy: f64::NEG_INFINITY,
            picks: 0,
        });
        let newer = &self.rows[known.picks..];
        let mut rough = vec![0.0; newer.len()];
        vectors.rough_cosines(index, newer, &mut rough);
        let floor = rough.iter().copied().fold(f64::NEG_INFINITY, f64::max) - self.doubt;
        for (&pick, _) in newer.iter().zip(&rough).filter(|&(_, &rough)| rough >= floor) {
            known.redundancy = known.redundancy.max(vectors.cosine(pick as usize, index));
        }
        known.picks = self.rows.len();
        let Known { relevance, redundancy, picks } = *known;
        let redundancy = if picks == 0 { 0.0 } else { redundancy };
        Pick { index, relevance, redundancy, value: value(self.lambda, relevance, redundancy) }
    }
}

impl Candidate {
    /// Some picks, of this many, that the candidate is to be compared with next; it counts as compared with them.
    fn next_picks(&mut self, picks: usize) -> Option<Range<usize>> {
        if self.newer.end < picks {
            let next = picks.saturating_sub(GROUP).max(self.newer.end.max(self.compared))..picks;
            // Where a gap would be left, what is below it is forgotten and compared again if need be.
            let start = if next.start == self.newer.end { self.newer.start } else { next.start };
            self.newer = start..picks;
            return Some(next);
        }
        if self.newer.start <= self.compared {
            self.compared = picks;
            return None;
        }
        let next = self.newer.start.saturating_sub(GROUP).max(self.compared)..self.newer.start;
        self.newer.start = next.start;
        Some(next)
    }
}

fn value(lambda: f64, relevance: f64, redundancy: f64) -> f64 {
    // + 0.0: a value of -0.0 ties with 0.0.
    lambda * relevance - (1.0 - lambda) * redundancy + 0.0
}

fn order(a: &Pick, b: &Pick) -> Ordering {
    let by_value = a.value.total_cmp(&b.value);
    by_value.then_with(|| a.relevance.total_cmp(&b.relevance)).then_with(|| b.index.cmp(&a.index))
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value.total_cmp(&other.value)
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
        let query = vectors.query(query).unwrap();
        let relevances: Vec<f64> = (0..vectors.len()).map(|row| vectors.relevance(&query, row)).collect();
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
        // Few distinct numbers, so that duplicates, zero vectors and ties are common; some that single precision cannot
        // tell apart, and some whose squares it cannot hold.
        let number = prop_oneof![
            8 => (-2_i8..3).prop_map(f32::from),
            2 => -1.0_f32..1.0,
            2 => (0_u32..3).prop_map(|steps| f32::from_bits(1.0_f32.to_bits() + steps)),
        ];
        let wild = prop_oneof![40 => Just(1.0_f32), 1 => Just(1e30), 1 => Just(1e-30)];
        (1_usize..40, 0_usize..40).prop_flat_map(move |(dimensions, rows)| {
            let scaled = (number.clone(), wild.clone()).prop_map(|(number, scale)| number * scale);
            (
                proptest::collection::vec(number.clone(), dimensions),
                proptest::collection::vec(scaled, dimensions * rows),
                0_usize..50,
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
