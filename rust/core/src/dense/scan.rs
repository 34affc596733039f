//! The exact top-k by brute force: a scan in single precision decides what is worth scoring in double.
//!
//! A row is scored exactly only when its rough score, given the benefit of [`kernels::error_bound`], could still enter the
//! page. So the page is that of a scan in double precision, ids and order included, whatever the processor and the number
//! of threads; a handful of rows per query are scored twice.

use std::ops::Range;

use rayon::prelude::*;
use roaring::RoaringBitmap;

use super::chunks::Chunks;
use super::kernels;
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

/// The most queries of a task, which bounds its memory.
const TASK_QUERIES: usize = 256;

/// A chunk's key, which breaks ties, and its slot.
type Place<'a> = (&'a ChunkKey, u32);

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
        let work = self.eligible.len() as usize * self.row_bytes() * self.queries.len();
        let threads = if work < PARALLEL_FROM { None } else { pool::threads() };
        let tops = match threads {
            None => self.task(0..self.chunks.slots(), self.queries),
            Some(pool) => pool.install(|| self.divided(pool.current_num_threads())),
        };
        let page = |top: TopK<Place<'_>>| top.into_sorted().into_iter().map(|hit| (hit.key.1, hit.score)).collect();
        tops.into_iter().map(page).collect()
    }

    fn row_bytes(&self) -> usize {
        self.chunks.vectors().width() * size_of::<f32>()
    }

    /// Tasks by ranges of slots and by groups of queries; small groups where the ranges are too few for the threads.
    fn divided(&self, threads: usize) -> Vec<TopK<Place<'_>>> {
        let slots = self.chunks.slots();
        let ranges = slots.div_ceil(TASK_SLOTS).min(threads * 4);
        let width = slots.div_ceil(ranges);
        let group = if ranges < threads { self.queries.len().div_ceil(threads) } else { TASK_QUERIES };
        let pages: Vec<Vec<TopK<Place<'_>>>> = self
            .queries
            .par_chunks(group.min(TASK_QUERIES))
            .map(|queries| {
                let range = |number| number * width..slots.min((number + 1) * width);
                let parts = (0..ranges).into_par_iter().map(|number| self.task(range(number), queries));
                merged(parts.collect())
            })
            .collect();
        pages.into_iter().flatten().collect()
    }

    /// The best of a range of slots for each of some queries.
    fn task(&self, slots: Range<usize>, queries: &[Query]) -> Vec<TopK<Place<'_>>> {
        let mut tops: Vec<TopK<Place<'_>>> = queries.iter().map(|_| TopK::new(self.top_k)).collect();
        let block = (BLOCK_BYTES / self.row_bytes().max(1)).clamp(16, SEGMENT as usize);
        let mut rough = vec![0.0_f32; block * kernels::QUERIES];
        each_block(self.eligible, slots.start as u32..slots.end as u32, block, |segment, offsets| {
            for (queries, tops) in queries.chunks(kernels::QUERIES).zip(tops.chunks_mut(kernels::QUERIES)) {
                self.rough(segment, offsets, queries, &mut rough);
                for ((query, top), rough) in queries.iter().zip(tops).zip(rough.chunks(offsets.len())) {
                    self.offer(segment, offsets, rough, query, top);
                }
            }
        });
        tops
    }

    /// The rough scores of some rows: those of the first query, then those of the second, and so on.
    fn rough(&self, segment: u32, offsets: &[u32], queries: &[Query], out: &mut [f32]) {
        let mut units: [&[f32]; kernels::QUERIES] = [&[]; kernels::QUERIES];
        for (unit, query) in units.iter_mut().zip(queries) {
            *unit = &query.single;
        }
        kernels::scores(self.chunks.vectors().segment(segment), offsets, &units[..queries.len()], out);
    }

    /// Score exactly what the rough scores leave in the running.
    fn offer<'a>(&'a self, segment: u32, offsets: &[u32], rough: &[f32], query: &Query, top: &mut TopK<Place<'a>>) {
        let margin = kernels::error_bound(query.double.len());
        let mut bar = self.bar(top, margin);
        for (&offset, &rough) in offsets.iter().zip(rough) {
            let slot = segment * SEGMENT + offset;
            if f64::from(rough) < bar || !self.eligible.contains(slot) {
                continue;
            }
            let cosine = kernels::exact(self.chunks.vectors().row(slot), &query.double).clamp(-1.0, 1.0) + 0.0;
            if cosine >= self.floor {
                top.push(cosine, (self.chunks.key(slot), slot));
                bar = self.bar(top, margin);
            }
        }
    }

    /// The lowest rough score that may belong to a hit.
    fn bar(&self, top: &TopK<Place<'_>>, margin: f64) -> f64 {
        top.threshold().unwrap_or(f64::NEG_INFINITY).max(self.floor) - margin
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
fn merged(parts: Vec<Vec<TopK<Place<'_>>>>) -> Vec<TopK<Place<'_>>> {
    let mut parts = parts.into_iter();
    let mut merged = parts.next().unwrap_or_default();
    for part in parts {
        for (top, other) in merged.iter_mut().zip(part) {
            other.into_sorted().into_iter().for_each(|hit| top.push(hit.score, hit.key));
        }
    }
    merged
}
