//! Quantised copies of the vectors, for a first pass that says which of them to score exactly.
//!
//! An `int8` code is the vector divided by a 127th of its largest number, rounded. A binary code has one bit for each
//! dimension of the rotated vector r: its sign. The query is rotated as well, to q, and rounded to 16 levels; the estimate of
//! r·q is b·q / Σ|rᵢ| with b the signs as ±1, which is right on average over rotations (Gao & Long, *`RaBitQ`*, 2024). Both
//! are computed in whole numbers and scaled once, so that they are the same on every machine.

use roaring::RoaringBitmap;

use super::kernels::{self, PLANES};
use super::rotation::Rotation;
use super::segments::Segments;

/// A row of bytes fills whole registers.
const BYTES: usize = 64;

/// The levels of a number of a rotated query, less one.
const TOP_LEVEL: f32 = ((1 << PLANES) - 1) as f32;

/// The codes of all slots, each with the factor that makes a product an estimate.
#[derive(Debug)]
pub(super) enum Codes {
    Int8 { rows: Segments<i8>, factors: Vec<f32> },
    Binary { rows: Segments<u64>, factors: Vec<f32>, rotation: Rotation },
}

/// A query to hold against codes.
#[derive(Debug)]
pub(super) enum CodedQuery {
    Int8(Vec<i8>),
    Binary(Vec<u64>),
}

impl Codes {
    pub(super) fn int8(dimensions: usize) -> Self {
        Self::Int8 { rows: Segments::new(dimensions.next_multiple_of(BYTES)), factors: Vec::new() }
    }

    pub(super) fn binary(dimensions: usize) -> Self {
        let rotation = Rotation::new(dimensions);
        Self::Binary { rows: Segments::new(rotation.size() / 64), factors: Vec::new(), rotation }
    }

    /// Find the memory for so many more.
    pub(super) fn populate(&self, count: usize) {
        match self {
            Self::Int8 { rows, .. } => rows.populate(count),
            Self::Binary { rows, .. } => rows.populate(count),
        }
    }

    /// Append the code of a unit vector.
    pub(super) fn push(&mut self, unit: &[f32]) {
        match self {
            Self::Int8 { rows, factors } => {
                let (code, step) = bytes(unit);
                rows.push(&code);
                factors.push(step);
            }
            Self::Binary { rows, factors, rotation } => {
                let rotated = rotation.rotated(unit);
                let sum: f32 = rotated.iter().map(|x| x.abs()).sum();
                rows.push(&words(&rotated, |x| x > 0.0));
                factors.push(if sum > 0.0 { 1.0 / sum } else { 0.0 });
            }
        }
    }

    /// The code of a query.
    pub(super) fn query(&self, query: &[f32]) -> CodedQuery {
        match self {
            Self::Int8 { .. } => CodedQuery::Int8(bytes(query).0),
            Self::Binary { rotation, .. } => {
                let rotated = rotation.rotated(query);
                let largest = largest(&rotated);
                let level =
                    |x: f32| if largest > 0.0 { ((x / largest + 1.0) * (TOP_LEVEL / 2.0)).round() as u32 } else { 0 };
                let plane = |plane: usize| words(&rotated, |x| level(x) >> plane & 1 == 1);
                CodedQuery::Binary((0..PLANES).flat_map(plane).collect())
            }
        }
    }

    /// The bytes of a row.
    pub(super) fn row_bytes(&self) -> usize {
        match self {
            Self::Int8 { rows, .. } => rows.width(),
            Self::Binary { rows, .. } => rows.width() * size_of::<u64>(),
        }
    }

    /// What the rows at `offsets` promise: the cosine with `query`, roughly, times a positive number that is the query's.
    pub(super) fn estimates(
        &self,
        segment: u32,
        offsets: &[u32],
        query: &CodedQuery,
        scratch: &mut Vec<i32>,
        out: &mut [f32],
    ) {
        scratch.resize(offsets.len(), 0);
        let first = (segment * super::segments::SEGMENT) as usize;
        let (factors, range) = match (self, query) {
            (Self::Int8 { rows, factors }, CodedQuery::Int8(query)) => {
                kernels::products(rows.segment(segment), offsets, query, scratch);
                (factors, None)
            }
            (Self::Binary { rows, factors, rotation }, CodedQuery::Binary(planes)) => {
                kernels::distances(rows.segment(segment), offsets, planes, scratch);
                (factors, Some((rotation.size() as u32 * ((1 << PLANES) - 1)).cast_signed()))
            }
            _ => return debug_assert!(false, "a query of other codes"),
        };
        let factors = &factors[first..];
        for ((out, &offset), &whole) in out.iter_mut().zip(offsets).zip(scratch.iter()) {
            let product = range.map_or(whole, |range| range - 2 * whole);
            *out = product as f32 * factors[offset as usize];
        }
    }

    /// The codes of these slots, in their order.
    pub(super) fn kept(&self, slots: &RoaringBitmap) -> Self {
        let of = |factors: &[f32]| slots.iter().map(|slot| factors[slot as usize]).collect();
        match self {
            Self::Int8 { rows, factors } => Self::Int8 { rows: rows.kept(slots), factors: of(factors) },
            Self::Binary { rows, factors, rotation } => {
                Self::Binary { rows: rows.kept(slots), factors: of(factors), rotation: rotation.clone() }
            }
        }
    }
}

fn largest(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// The vector in steps of a 127th of its largest number, padded with zeroes, and the step.
fn bytes(vector: &[f32]) -> (Vec<i8>, f32) {
    let step = largest(vector) / 127.0;
    let mut code = vec![0; vector.len().next_multiple_of(BYTES)];
    if step > 0.0 {
        for (code, x) in code.iter_mut().zip(vector) {
            *code = (x / step).round() as i8;
        }
    }
    (code, step)
}

/// One bit a number, the first in the lowest.
fn words(numbers: &[f32], bit: impl Fn(f32) -> bool) -> Vec<u64> {
    let word = |numbers: &[f32]| numbers.iter().rev().fold(0, |word, &x| word << 1 | u64::from(bit(x)));
    numbers.chunks(64).map(word).collect()
}
