//! The two ways of going through the rows: their vectors, or their codes.

use super::codes::{CodedQuery, Codes};
use super::kernels;
use super::scan::{Place, Scan};
use super::unit::Query;
use crate::rank::TopK;

/// One way of going through the rows.
pub(super) trait Pass<'s>: Sync {
    /// What the rows are held against.
    type Query: Sync;

    /// How many to keep.
    fn limit(&self) -> usize;

    /// What is read of a row.
    fn row_bytes(&self) -> usize;

    /// The rough scores of some rows: those of the first query, then those of the second, and so on.
    fn rough(&self, segment: u32, offsets: &[u32], queries: &[Self::Query], scratch: &mut Vec<i32>, out: &mut [f32]);

    /// The lowest rough score that may be kept.
    fn bar(&self, top: &TopK<Place<'s>>, query: &Self::Query) -> f64;

    /// The score to keep a slot by, if it is to be kept.
    fn score(&self, slot: u32, rough: f32, query: &Self::Query) -> Option<f64>;
}

/// Over the vectors: a scan in single precision decides what is worth scoring in double.
///
/// A row is scored exactly only when its rough score, given the benefit of [`kernels::error_bound`], could still enter the
/// page. So the page is that of a scan in double precision, ids and order included, whatever the processor and the number
/// of threads; a handful of rows per query are scored twice.
pub(super) struct Cosines<'s> {
    pub(super) scan: &'s Scan<'s>,
}

impl<'s> Pass<'s> for Cosines<'s> {
    type Query = Query;

    fn limit(&self) -> usize {
        self.scan.top_k
    }

    fn row_bytes(&self) -> usize {
        self.scan.chunks.vectors().row_bytes()
    }

    fn rough(&self, segment: u32, offsets: &[u32], queries: &[Query], _: &mut Vec<i32>, out: &mut [f32]) {
        let mut units: [&[f32]; kernels::QUERIES] = [&[]; kernels::QUERIES];
        for (unit, query) in units.iter_mut().zip(queries) {
            *unit = &query.single;
        }
        self.scan.chunks.vectors().scores(segment, offsets, &units[..queries.len()], out);
    }

    fn bar(&self, top: &TopK<Place<'s>>, query: &Query) -> f64 {
        top.threshold().unwrap_or(f64::NEG_INFINITY).max(self.scan.floor) - kernels::error_bound(query.double.len())
    }

    fn score(&self, slot: u32, _: f32, query: &Query) -> Option<f64> {
        self.scan.hit(slot, query)
    }
}

/// Over the codes: the candidates are the slots of the highest estimates, of the lower keys where these tie.
pub(super) struct Estimates<'s> {
    pub(super) codes: &'s Codes,
    pub(super) candidates: usize,
}

impl<'s> Pass<'s> for Estimates<'s> {
    type Query = CodedQuery;

    fn limit(&self) -> usize {
        self.candidates
    }

    fn row_bytes(&self) -> usize {
        self.codes.row_bytes()
    }

    fn rough(&self, segment: u32, offsets: &[u32], queries: &[CodedQuery], scratch: &mut Vec<i32>, out: &mut [f32]) {
        for (query, out) in queries.iter().zip(out.chunks_mut(offsets.len())) {
            self.codes.estimates(segment, offsets, query, scratch, out);
        }
    }

    fn bar(&self, top: &TopK<Place<'s>>, _: &CodedQuery) -> f64 {
        top.threshold().unwrap_or(f64::NEG_INFINITY)
    }

    fn score(&self, _: u32, rough: f32, _: &CodedQuery) -> Option<f64> {
        Some(f64::from(rough))
    }
}
