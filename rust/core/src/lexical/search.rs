//! Top-k search that leaves out what cannot be among the best: windows, lists and chunks, by their bounds.
//!
//! The plan takes all windows of all segments, those first that promise most; once the `k`-th best score exceeds what a
//! window can reach, it and all after it are done. [`super::window`] scores one window.

use super::analysis::Analysis;
use super::bounds::{WINDOW, WINDOWS};
use super::mask::Mask;
use super::postings::List;
use super::scoring::idf;
use super::segment::Segment;
use super::state::State;
use super::window::Scorer;
use crate::key::ChunkKey;
use crate::rank::Scored;

/// The best chunks for an analysed query, best first; equal scores by key. `mask` restricts the slots.
pub(super) fn search<'a>(
    state: &'a State,
    query: &Analysis,
    top_k: usize,
    mask: Option<&Mask>,
) -> Vec<Scored<&'a ChunkKey>> {
    let terms: Vec<Term> = weighted(state, query).collect();
    if top_k == 0 || terms.is_empty() {
        return Vec::new();
    }
    let plan = Plan::new(state, &terms);
    let mut scorer = Scorer::new(state.saturations(), terms.len(), top_k);
    for window in &plan.windows {
        if window.bound < scorer.floor() {
            break;
        }
        let segment = &state.segments[window.segment];
        let allowed = mask.map(|mask| mask.window(window.segment * WINDOWS + window.number));
        scorer.score(segment, &plan.cursors[window.cursors.clone()], window.number, allowed);
    }
    scorer.into_sorted()
}

/// A term of the query and its factor: frequency in the query times inverse document frequency.
struct Term {
    number: u32,
    weight: f64,
}

fn weighted<'a>(state: &'a State, query: &'a Analysis) -> impl Iterator<Item = Term> + 'a {
    query.frequencies().filter_map(|(term, frequency)| {
        let number = state.vocabulary.get(term)?;
        let holding = state.vocabulary.document_frequency(number);
        (holding > 0).then(|| Term { number, weight: f64::from(frequency) * idf(state.chunks, holding) })
    })
}

/// A term's list in one segment, cut at the windows.
pub(super) struct Cursor<'a> {
    pub(super) term: u32,
    pub(super) weight: f64,
    pub(super) list: List<'a>,
    /// Where each window's postings start, and where the last ones end.
    pub(super) starts: [u32; WINDOWS + 1],
    /// What no contribution in the window exceeds, but for rounding.
    pub(super) bounds: [f64; WINDOWS],
}

impl<'a> Cursor<'a> {
    /// `slack` is what the bounds are multiplied with since the average length has grown.
    fn new(segment: &'a Segment, term: &Term, slack: f64) -> Option<Self> {
        let list = segment.postings.list(term.number);
        if list.slots.is_empty() {
            return None;
        }
        let bound = |byte: u8| term.weight * (f64::from(byte) / 255.0 * slack).min(1.0);
        let mut counts = [0_u32; WINDOWS];
        let mut bounds = [bound(list.bound); WINDOWS];
        if let Some(table) = list.table {
            counts = table.counts.map(u32::from);
            bounds = table.bounds.map(bound);
        } else {
            list.slots.iter().for_each(|&slot| counts[usize::from(slot) / WINDOW] += 1);
        }
        let mut starts = [0; WINDOWS + 1];
        for (window, count) in counts.into_iter().enumerate() {
            starts[window + 1] = starts[window] + count;
            if count == 0 {
                bounds[window] = 0.0;
            }
        }
        Some(Self { term: term.number, weight: term.weight, list, starts, bounds })
    }
}

struct Plan<'a> {
    /// By segment, in the order of the query's terms.
    cursors: Vec<Cursor<'a>>,
    /// Those that hold a term, by descending bound.
    windows: Vec<Window>,
}

struct Window {
    bound: f64,
    segment: usize,
    /// Within the segment.
    number: usize,
    cursors: std::ops::Range<usize>,
}

impl<'a> Plan<'a> {
    fn new(state: &'a State, terms: &[Term]) -> Self {
        let average = state.average();
        let mut plan = Self { cursors: Vec::with_capacity(terms.len() * state.segments.len()), windows: Vec::new() };
        for (segment, number) in state.segments.iter().zip(0..) {
            let slack = (average / segment.postings.baseline()).max(1.0);
            let start = plan.cursors.len();
            plan.cursors.extend(terms.iter().filter_map(|term| Cursor::new(segment, term, slack)));
            for window in 0..segment.len().div_ceil(WINDOW) {
                let bound: f64 = plan.cursors[start..].iter().map(|cursor| cursor.bounds[window]).sum();
                if bound > 0.0 {
                    let cursors = start..plan.cursors.len();
                    plan.windows.push(Window { bound, segment: number, number: window, cursors });
                }
            }
        }
        plan.windows.sort_unstable_by(|a, b| b.bound.total_cmp(&a.bound));
        plan
    }
}
