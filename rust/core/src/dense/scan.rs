//! The top-k by brute force: a pass over all eligible rows, in blocks that stay in the cache, divided among threads.
//!
//! Without codes the pass is over the vectors and the page is exact. With codes it is over these, and what it keeps is then
//! scored exactly. Ties go to the lower key in both, so that neither the order in which chunks came nor the number of
//! threads changes a page.

use std::ops::Range;

use roaring::RoaringBitmap;

use super::chunks::Chunks;
use super::codes::CodedQuery;
use super::kernels;
use super::passes::{Cosines, Estimates, Pass};
use super::segments::SEGMENT;
use super::unit::Query;
use crate::key::ChunkKey;
use crate::pool;
use crate::rank::TopK;

/// Rows that are scanned before the next queries of a batch have their turn: 128 KiB of them, which stay in the cache.
const BLOCK_BYTES: usize = 1 << 17;

/// Work is divided among threads from this many bytes of rows on, about a millisecond's worth.
const PARALLEL_FROM: usize = 1 << 24;

/// The fewest slots that are worth a task of their own.
const TASK_SLOTS: usize = 4096;

/// And the fewest for each one that is kept: every task fills a heap of its own.
const TASK_SLOTS_KEPT: usize = 64;

/// The most queries of a task, which bounds its memory.
const TASK_QUERIES: usize = 256;

/// A chunk's key, which breaks ties, and its slot.
pub(super) type Place<'a> = (&'a ChunkKey, u32);

/// What to look for, and where.
pub(super) struct Scan<'a> {
    pub(super) chunks: &'a Chunks,
    pub(super) eligible: &'a RoaringBitmap,
    pub(super) queries: &'a [Query],
    pub(super) top_k: usize,
    /// Scores below it are no hits; minus infinity where there is no threshold.
    pub(super) floor: f64,
}

impl Scan<'_> {
    /// The slots of each query's page and their cosines, best first.
    pub(super) fn run(&self) -> Vec<Vec<(u32, f64)>> {
        if self.top_k == 0 {
            return vec![Vec::new(); self.queries.len()];
        }
        let candidates = self.chunks.quantization().candidates(self.top_k);
        let tops = match (self.chunks.codes(), candidates) {
            (Some(codes), Some(candidates)) if (candidates as u64) < self.eligible.len() => {
                let queries: Vec<CodedQuery> = self.queries.iter().map(|query| codes.query(&query.single)).collect();
                let pass = Estimates { codes, candidates };
                let candidates = self.divided(&pass, &queries);
                candidates.into_iter().zip(self.queries).map(|(top, query)| self.rescored(top, query)).collect()
            }
            _ => self.divided(&Cosines { scan: self }, self.queries),
        };
        let page = |top: TopK<Place<'_>>| top.into_sorted().into_iter().map(|hit| (hit.key.1, hit.score)).collect();
        tops.into_iter().map(page).collect()
    }

    /// Tasks by ranges of slots and by groups of queries; small groups where the ranges are too few for the threads.
    fn divided<'s, P: Pass<'s>>(&'s self, pass: &P, queries: &[P::Query]) -> Vec<TopK<Place<'s>>> {
        let slots = self.chunks.slots();
        let work = self.eligible.len() as usize * pass.row_bytes() * queries.len();
        let Some(pool) = (if work < PARALLEL_FROM { None } else { pool::threads() }) else {
            return self.task(pass, 0..slots, queries);
        };
        let threads = pool.current_num_threads();
        let ranges = slots.div_ceil(TASK_SLOTS.max(pass.limit().saturating_mul(TASK_SLOTS_KEPT))).min(threads * 4);
        let width = slots.div_ceil(ranges);
        let group = if ranges < threads { queries.len().div_ceil(threads) } else { TASK_QUERIES };
        let groups: Vec<&[P::Query]> = queries.chunks(group.min(TASK_QUERIES)).collect();
        let parts = pool::divided(pool, groups.len() * ranges, |number| {
            let (group, range) = (number / ranges, number % ranges);
            self.task(pass, range * width..slots.min((range + 1) * width), groups[group])
        });
        let mut parts = parts.into_iter();
        groups.iter().flat_map(|_| merged(parts.by_ref().take(ranges))).collect()
    }

    /// The best of a range of slots for each of some queries.
    fn task<'s, P: Pass<'s>>(&'s self, pass: &P, slots: Range<usize>, queries: &[P::Query]) -> Vec<TopK<Place<'s>>> {
        let mut tops: Vec<TopK<Place<'_>>> = queries.iter().map(|_| TopK::new(pass.limit())).collect();
        let block = (BLOCK_BYTES / pass.row_bytes().max(1)).clamp(16, SEGMENT as usize);
        let mut rough = vec![0.0_f32; block * kernels::QUERIES];
        let mut scratch = Vec::new();
        each_block(self.eligible, slots.start as u32..slots.end as u32, block, |segment, offsets| {
            for (queries, tops) in queries.chunks(kernels::QUERIES).zip(tops.chunks_mut(kernels::QUERIES)) {
                pass.rough(segment, offsets, queries, &mut scratch, &mut rough);
                for ((query, top), rough) in queries.iter().zip(tops).zip(rough.chunks(offsets.len())) {
                    self.offer(pass, segment, offsets, rough, query, top);
                }
            }
        });
        tops
    }

    /// Score what the rough scores leave in the running.
    fn offer<'s, P: Pass<'s>>(
        &'s self,
        pass: &P,
        segment: u32,
        offsets: &[u32],
        rough: &[f32],
        query: &P::Query,
        top: &mut TopK<Place<'s>>,
    ) {
        let mut bar = pass.bar(top, query);
        for (&offset, &rough) in offsets.iter().zip(rough) {
            let slot = segment * SEGMENT + offset;
            if f64::from(rough) < bar || !self.eligible.contains(slot) {
                continue;
            }
            if let Some(score) = pass.score(slot, rough, query) {
                top.push(score, (self.chunks.key(slot), slot));
                bar = pass.bar(top, query);
            }
        }
    }

    /// The page out of the candidates of a first pass.
    fn rescored<'s>(&'s self, candidates: TopK<Place<'s>>, query: &Query) -> TopK<Place<'s>> {
        let mut slots: Vec<u32> = candidates.into_sorted().into_iter().map(|candidate| candidate.key.1).collect();
        slots.sort_unstable();
        let mut top = TopK::new(self.top_k);
        for slot in slots {
            if let Some(cosine) = self.hit(slot, query) {
                top.push(cosine, (self.chunks.key(slot), slot));
            }
        }
        top
    }

    /// The exact cosine, if it reaches the threshold.
    pub(super) fn hit(&self, slot: u32, query: &Query) -> Option<f64> {
        let cosine = self.chunks.vectors().cosine(slot, &query.double);
        (cosine >= self.floor).then_some(cosine)
    }
}

/// Call `scan` with the offsets, at most `block` of them and all in one segment, of the slots of `range` to look at.
///
/// Where most slots are eligible these are all slots, for a memory that is read in one go is read fastest, and it is for
/// `scan` to leave out the few that are not.
fn each_block(eligible: &RoaringBitmap, range: Range<u32>, block: usize, mut scan: impl FnMut(u32, &[u32])) {
    let dense = !range.is_empty() && eligible.range_cardinality(range.clone()) * 2 > u64::from(range.end - range.start);
    let mut offsets: Vec<u32> = Vec::with_capacity(block);
    let mut start = range.start;
    let mut slots = eligible.range(if dense { 0..0 } else { range.clone() }).peekable();
    loop {
        offsets.clear();
        let segment = if dense {
            let end =
                range.end.min(start.saturating_add(block as u32)).min((start / SEGMENT + 1).saturating_mul(SEGMENT));
            let segment = start / SEGMENT;
            offsets.extend((start..end).map(|slot| slot % SEGMENT));
            start = end;
            segment
        } else {
            let segment = slots.peek().map_or(0, |slot| slot / SEGMENT);
            while offsets.len() < block
                && let Some(slot) = slots.next_if(|slot| slot / SEGMENT == segment)
            {
                offsets.push(slot % SEGMENT);
            }
            segment
        };
        if offsets.is_empty() {
            return;
        }
        scan(segment, &offsets);
    }
}

/// One page a query out of those of the ranges.
fn merged<'s>(mut parts: impl Iterator<Item = Vec<TopK<Place<'s>>>>) -> Vec<TopK<Place<'s>>> {
    let mut merged = parts.next().unwrap_or_default();
    for part in parts {
        for (top, other) in merged.iter_mut().zip(part) {
            other.into_sorted().into_iter().for_each(|hit| top.push(hit.score, hit.key));
        }
    }
    merged
}
