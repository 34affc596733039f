//! Fusing rankings of the same candidates into one.
//!
//! - Reciprocal rank fusion: score(d) = Σᵢ wᵢ / (k + rankᵢ(d)), ranks from 1, over the lists that hold d.
//!   Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
//!   SIGIR 2009, with k = 60 and every weight 1.
//! - Relative score fusion: score(d) = Σᵢ wᵢ/W · (sᵢ(d) − minᵢ) / (maxᵢ − minᵢ), W = Σᵢ wᵢ, minᵢ and maxᵢ taken over list i.
//!
//! In both, a list counts a candidate once, at its first place, and what follows a repeat moves up; a list of weight 0 is
//! as good as absent. A score is its contributions added from the first list to the last, in f64, so it can be recomputed
//! from them bit for bit. Equal scores keep the order in which the lists, one after the other, first name the candidates.

use crate::{Error, Result};

/// A fused ranking, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Fusion {
    lists: usize,
    ranked: Vec<Ranked>,
    contributions: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Ranked {
    id: u32,
    row: u32,
    score: f64,
}

/// A candidate of a fused ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fused<'a> {
    /// The candidate.
    pub id: u32,
    /// The sum of `contributions` from first to last.
    pub score: f64,
    /// What each list adds; 0 where it does not hold the candidate.
    pub contributions: &'a [f64],
}

impl Fusion {
    /// How many candidates.
    pub fn len(&self) -> usize {
        self.ranked.len()
    }

    /// Whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.ranked.is_empty()
    }

    /// The candidate at this place, the best at 0.
    pub fn get(&self, place: usize) -> Option<Fused<'_>> {
        self.ranked.get(place).map(|ranked| self.fused(ranked))
    }

    /// The candidates, best first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Fused<'_>> {
        self.ranked.iter().map(|ranked| self.fused(ranked))
    }

    fn fused(&self, &Ranked { id, row, score }: &Ranked) -> Fused<'_> {
        let start = row as usize * self.lists;
        Fused { id, score, contributions: &self.contributions[start..start + self.lists] }
    }
}

/// Fuse by reciprocal ranks and keep the `top_k` best, or all.
///
/// Each ranking lists ids, best first; ids index memory, so they should be dense.
///
/// # Errors
/// `k` is below 1 or not finite; a weight is negative or not finite, or all are 0; weights and rankings differ in number.
pub fn rrf<R: AsRef<[u32]>>(rankings: &[R], k: f64, weights: &[f64], top_k: Option<usize>) -> Result<Fusion> {
    if !(k.is_finite() && k >= 1.0) {
        return Err(Error::Parameter { field: "k", value: k.to_string(), limit: "a finite number of at least 1" });
    }
    check_weights(weights, rankings.len())?;
    let mut table = Table::new(rankings);
    for (list, (ranking, &weight)) in rankings.iter().zip(weights).enumerate() {
        if weight == 0.0 {
            continue;
        }
        let mut rank = 0.0;
        for &id in ranking.as_ref() {
            if let Some(cell) = table.enter(list, id) {
                rank += 1.0;
                *cell = weight / (k + rank);
            }
        }
    }
    Ok(table.ranked(top_k))
}

/// Fuse by scores, scaled within each list so that its best is 1 and its worst 0, and keep the `top_k` best, or all.
///
/// A list whose scores are all equal, or that has one, tells none of its candidates from its best: each gets 1. `scores`
/// lie beside `rankings`; they need not descend.
///
/// # Errors
/// A score is not finite; scores and rankings differ in length; weights as for [`rrf`].
pub fn relative_score_fusion<R: AsRef<[u32]>, S: AsRef<[f64]>>(
    rankings: &[R],
    scores: &[S],
    weights: &[f64],
    top_k: Option<usize>,
) -> Result<Fusion> {
    check_weights(weights, rankings.len())?;
    check_scores(rankings, scores)?;
    let total: f64 = weights.iter().sum();
    let mut table = Table::new(rankings);
    for (list, ((ranking, scores), &weight)) in rankings.iter().zip(scores).zip(weights).enumerate() {
        if weight == 0.0 {
            continue;
        }
        let (ids, scores) = (ranking.as_ref(), scores.as_ref());
        let scale = MinMax::over(ids.iter().zip(scores).filter_map(|(&id, &score)| {
            let cell = table.enter(list, id)?;
            *cell = score;
            Some(score)
        }));
        let share = weight / total;
        table.counted_by(list).for_each(|cell| *cell = share * scale.of(*cell));
    }
    Ok(table.ranked(top_k))
}

fn check_weights(weights: &[f64], lists: usize) -> Result<()> {
    if weights.len() != lists {
        return Err(Error::Input(format!(
            "weights must be one a ranking: {} came for {lists} rankings",
            weights.len()
        )));
    }
    if let Some(place) = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        let value = format!("{} at position {place}", weights[place]);
        return Err(Error::Parameter { field: "weights", value, limit: "finite and at least 0" });
    }
    if lists > 0 && weights.iter().all(|&weight| weight == 0.0) {
        return Err(Error::Parameter {
            field: "weights",
            value: "all 0".into(),
            limit: "above 0 for at least one ranking",
        });
    }
    Ok(())
}

fn check_scores<R: AsRef<[u32]>, S: AsRef<[f64]>>(rankings: &[R], scores: &[S]) -> Result<()> {
    if scores.len() != rankings.len() {
        let (lists, rankings) = (scores.len(), rankings.len());
        return Err(Error::Input(format!("scores must hold one list a ranking: {lists} came for {rankings} rankings")));
    }
    for (list, (ranking, scores)) in rankings.iter().zip(scores).enumerate() {
        let (ids, scores) = (ranking.as_ref().len(), scores.as_ref());
        if scores.len() != ids {
            return Err(Error::Input(format!("scores[{list}] holds {} scores for {ids} ids", scores.len())));
        }
        if let Some(place) = scores.iter().position(|score| !score.is_finite()) {
            return Err(Error::Input(format!(
                "scores[{list}][{place}] is {}: every score must be finite",
                scores[place]
            )));
        }
    }
    Ok(())
}

/// One row a candidate in order of first appearance, one column a list.
struct Table {
    lists: usize,
    ids: Vec<u32>,
    contributions: Vec<f64>,
    row_of: Vec<u32>,
    counted_by: Vec<u32>,
}

const NO_ROW: u32 = u32::MAX;

impl Table {
    fn new<R: AsRef<[u32]>>(rankings: &[R]) -> Self {
        let highest = rankings.iter().flat_map(AsRef::as_ref).max();
        Self {
            lists: rankings.len(),
            ids: Vec::new(),
            contributions: Vec::new(),
            row_of: vec![NO_ROW; highest.map_or(0, |&id| id as usize + 1)],
            counted_by: Vec::new(),
        }
    }

    /// The candidate's cell in the list's column, or `None` where the list has counted it already.
    fn enter(&mut self, list: usize, id: u32) -> Option<&mut f64> {
        let row = match self.row_of[id as usize] {
            NO_ROW => {
                let row = self.ids.len();
                self.row_of[id as usize] = row as u32;
                self.ids.push(id);
                self.counted_by.push(list as u32);
                self.contributions.resize(self.contributions.len() + self.lists, 0.0);
                row
            }
            row if self.counted_by[row as usize] == list as u32 => return None,
            row => {
                self.counted_by[row as usize] = list as u32;
                row as usize
            }
        };
        Some(&mut self.contributions[row * self.lists + list])
    }

    /// The cells of the list that was entered last.
    fn counted_by(&mut self, list: usize) -> impl Iterator<Item = &mut f64> {
        let rows = self.contributions.chunks_exact_mut(self.lists).zip(&self.counted_by);
        rows.filter(move |&(_, &by)| by == list as u32).map(move |(row, _)| &mut row[list])
    }

    fn ranked(self, top_k: Option<usize>) -> Fusion {
        let rows = self.contributions.chunks_exact(self.lists.max(1));
        let mut ranked: Vec<Ranked> = self
            .ids
            .iter()
            .zip(rows)
            .enumerate()
            .map(|(row, (&id, contributions))| Ranked { id, row: row as u32, score: contributions.iter().sum() })
            .collect();
        let order = |a: &Ranked, b: &Ranked| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row));
        if let Some(top_k) = top_k.filter(|&top_k| top_k < ranked.len()) {
            ranked.select_nth_unstable_by(top_k, order);
            ranked.truncate(top_k);
        }
        ranked.sort_unstable_by(order);
        Fusion { lists: self.lists, ranked, contributions: self.contributions }
    }
}

/// Min-max scaling to [0, 1].
struct MinMax {
    min: f64,
    max: f64,
}

impl MinMax {
    fn over(scores: impl Iterator<Item = f64>) -> Self {
        let empty = Self { min: f64::INFINITY, max: f64::NEG_INFINITY };
        scores.fold(empty, |range, score| Self { min: range.min.min(score), max: range.max.max(score) })
    }

    fn of(&self, score: f64) -> f64 {
        let range = self.max - self.min;
        if range == 0.0 {
            1.0
        } else if range.is_finite() {
            (score - self.min) / range
        } else {
            // Halving is exact at the magnitudes whose difference overflows.
            (score / 2.0 - self.min / 2.0) / (self.max / 2.0 - self.min / 2.0)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)]

    use proptest::prelude::*;

    use super::*;

    fn rows(fusion: &Fusion) -> Vec<(u32, f64, Vec<f64>)> {
        fusion.iter().map(|fused| (fused.id, fused.score, fused.contributions.to_vec())).collect()
    }

    fn ids(fusion: &Fusion) -> Vec<u32> {
        fusion.iter().map(|fused| fused.id).collect()
    }

    /// What the definition says, one candidate at a time: its place among the distinct ids of each list.
    fn oracle(rankings: &[Vec<u32>], weights: &[f64], part: impl Fn(usize, usize) -> f64) -> Vec<(u32, f64, Vec<f64>)> {
        let distinct: Vec<Vec<u32>> = rankings.iter().map(|ranking| first_places(ranking)).collect();
        let weighted: Vec<u32> =
            distinct.iter().zip(weights).filter(|(_, w)| **w > 0.0).flat_map(|(ranking, _)| ranking.clone()).collect();
        let mut fused: Vec<(u32, f64, Vec<f64>)> = first_places(&weighted)
            .into_iter()
            .map(|id| {
                let places = distinct.iter().map(|ranking| ranking.iter().position(|&other| other == id));
                let contributions: Vec<f64> = places
                    .enumerate()
                    .map(|(list, place)| place.filter(|_| weights[list] > 0.0).map_or(0.0, |place| part(list, place)))
                    .collect();
                (id, contributions.iter().fold(0.0, |sum, part| sum + part), contributions)
            })
            .collect();
        fused.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap());
        fused
    }

    fn first_places(ranking: &[u32]) -> Vec<u32> {
        ranking.iter().enumerate().filter(|(i, id)| !ranking[..*i].contains(id)).map(|(_, id)| *id).collect()
    }

    fn lists() -> impl Strategy<Value = (Vec<Vec<u32>>, Vec<f64>)> {
        let list = proptest::collection::vec(0_u32..12, 0..10);
        let weight = prop_oneof![Just(0.0), Just(1.0), 0.01_f64..5.0];
        (1_usize..5)
            .prop_flat_map(move |n| {
                (proptest::collection::vec(list.clone(), n), proptest::collection::vec(weight.clone(), n))
            })
            .prop_filter("some weight", |(_, weights)| weights.iter().any(|w| *w > 0.0))
    }

    proptest! {
        #[test]
        fn rrf_is_its_definition((rankings, weights) in lists(), k in 1.0_f64..100.0) {
            let fusion = rrf(&rankings, k, &weights, None).unwrap();
            prop_assert_eq!(rows(&fusion), oracle(&rankings, &weights, |list, place| weights[list] / (k + (place as f64 + 1.0))));
        }

        #[test]
        fn relative_is_its_definition((rankings, weights) in lists(), seed in any::<u64>()) {
            let score = |id: u32, list: usize| ((seed >> ((id as usize + list) % 60)) & 7) as f64 - 3.0;
            let scores: Vec<Vec<f64>> = rankings.iter().enumerate().map(|(list, r)| r.iter().map(|&id| score(id, list)).collect()).collect();
            let fusion = relative_score_fusion(&rankings, &scores, &weights, None).unwrap();
            let total: f64 = weights.iter().sum();
            let expected = oracle(&rankings, &weights, |list, place| {
                let all: Vec<f64> = first_places(&rankings[list]).iter().map(|&id| score(id, list)).collect();
                let min = all.iter().copied().fold(f64::INFINITY, f64::min);
                let max = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                weights[list] / total * if max == min { 1.0 } else { (all[place] - min) / (max - min) }
            });
            prop_assert_eq!(rows(&fusion), expected);
        }
    }

    proptest! {
        #[test]
        fn a_cut_is_the_head_of_the_whole((rankings, weights) in lists(), top_k in 0_usize..15) {
            let mut whole = rows(&rrf(&rankings, 60.0, &weights, None).unwrap());
            whole.truncate(top_k);
            let cut = rrf(&rankings, 60.0, &weights, Some(top_k)).unwrap();
            prop_assert_eq!(cut.get(cut.len()), None);
            let one_by_one = (0..cut.len()).filter_map(|place| cut.get(place));
            prop_assert!(one_by_one.eq(cut.iter()));
            prop_assert_eq!(rows(&cut), whole);
        }
    }

    #[test]
    fn a_list_of_weight_zero_is_absent() {
        let with = rrf(&[vec![1, 2], vec![3, 2, 1]], 60.0, &[1.0, 0.0], None).unwrap();
        assert_eq!(ids(&with), [1, 2]);
        let behind = rrf(&[vec![2, 1], vec![1, 2]], 60.0, &[0.0, 1.0], None).unwrap();
        assert_eq!(ids(&behind), [1, 2]);
    }

    #[test]
    fn a_repeat_counts_once_and_what_follows_moves_up() {
        let fusion = rrf(&[vec![7, 7, 8], vec![8]], 60.0, &[1.0, 1.0], None).unwrap();
        assert_eq!(
            rows(&fusion),
            [(8, 1.0 / 62.0 + 1.0 / 61.0, vec![1.0 / 62.0, 1.0 / 61.0]), (7, 1.0 / 61.0, vec![1.0 / 61.0, 0.0])]
        );
    }

    #[test]
    fn nothing_fuses_to_nothing() {
        let none: [Vec<u32>; 0] = [];
        assert!(rrf(&none, 60.0, &[], None).unwrap().is_empty());
        assert_eq!(rrf(&[Vec::new()], 60.0, &[1.0], None).unwrap().iter().len(), 0);
    }

    #[test]
    fn extreme_scores_scale() {
        let fusion = relative_score_fusion(&[[0, 1, 2]], &[[f64::MAX, 0.0, f64::MIN]], &[1.0], None).unwrap();
        assert_eq!(fusion.iter().map(|fused| fused.score).collect::<Vec<_>>(), [1.0, 0.5, 0.0]);
    }

    #[test]
    fn bad_arguments_are_named() {
        let message = |result: Result<Fusion>| result.unwrap_err().to_string();
        let lists = [vec![1_u32], vec![2]];
        assert_eq!(message(rrf(&lists, 0.5, &[1.0, 1.0], None)), "k must be a finite number of at least 1, not 0.5");
        assert!(message(rrf(&lists, f64::NAN, &[1.0, 1.0], None)).contains("not NaN"));
        assert_eq!(
            message(rrf(&lists, 60.0, &[1.0, -2.0], None)),
            "weights must be finite and at least 0, not -2 at position 1"
        );
        assert_eq!(
            message(rrf(&lists, 60.0, &[0.0, 0.0], None)),
            "weights must be above 0 for at least one ranking, not all 0"
        );
        assert_eq!(message(rrf(&lists, 60.0, &[1.0], None)), "weights must be one a ranking: 1 came for 2 rankings");
        let relative = |scores: &[Vec<f64>]| message(relative_score_fusion(&lists, scores, &[1.0, 1.0], None));
        assert_eq!(relative(&[vec![1.0], vec![f64::INFINITY]]), "scores[1][0] is inf: every score must be finite");
        assert_eq!(relative(&[vec![1.0], vec![]]), "scores[1] holds 0 scores for 1 ids");
        assert_eq!(relative(&[vec![1.0]]), "scores must hold one list a ranking: 1 came for 2 rankings");
    }
}
