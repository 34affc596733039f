//! The stored unit vectors, in single or half precision.

use half::f16;
use roaring::RoaringBitmap;

use super::kernels;
use super::segments::Segments;

#[derive(Debug)]
pub(super) enum Vectors {
    Single(Segments<f32>),
    Half(Segments<f16>),
}

impl Vectors {
    pub(super) fn push(&mut self, unit: &[f32]) {
        match self {
            Self::Single(rows) => rows.push(unit),
            Self::Half(rows) => rows.push(&unit.iter().map(|&x| f16::from_f32(x)).collect::<Vec<_>>()),
        }
    }

    /// Find the memory for so many more.
    pub(super) fn populate(&self, count: usize) {
        match self {
            Self::Single(rows) => rows.populate(count),
            Self::Half(rows) => rows.populate(count),
        }
    }

    /// Append a vector to `values`, in single precision.
    pub(super) fn read(&self, slot: u32, values: &mut Vec<f32>) {
        match self {
            Self::Single(rows) => values.extend_from_slice(rows.row(slot)),
            Self::Half(rows) => values.extend(rows.row(slot).iter().map(|x| x.to_f32())),
        }
    }

    /// The cosine with a query, in double precision.
    pub(super) fn cosine(&self, slot: u32, query: &[f64]) -> f64 {
        let dot = match self {
            Self::Single(rows) => kernels::exact(rows.row(slot), query),
            Self::Half(rows) => kernels::exact(rows.row(slot), query),
        };
        dot.clamp(-1.0, 1.0) + 0.0
    }

    /// As [`kernels::scores`], for rows of a segment.
    pub(super) fn scores(&self, segment: u32, offsets: &[u32], queries: &[&[f32]], out: &mut [f32]) {
        match self {
            Self::Single(rows) => kernels::scores(rows.segment(segment), offsets, queries, out),
            Self::Half(rows) => kernels::scores(rows.segment(segment), offsets, queries, out),
        }
    }

    pub(super) fn row_bytes(&self) -> usize {
        match self {
            Self::Single(rows) => rows.width() * size_of::<f32>(),
            Self::Half(rows) => rows.width() * size_of::<f16>(),
        }
    }

    /// The vectors of these slots, in their order.
    pub(super) fn kept(&self, slots: &RoaringBitmap) -> Self {
        match self {
            Self::Single(rows) => Self::Single(rows.kept(slots)),
            Self::Half(rows) => Self::Half(rows.kept(slots)),
        }
    }
}
