//! Vector search: exact cosine similarity over unit vectors, live, filtered before the cut.
//!
//! A vector `v` is stored as `v / ‖v‖` in single precision, the norm taken in double; a zero vector stays zero. The score
//! of a chunk is the dot product of its stored vector with the query's unit vector, computed in double precision and
//! clamped to [-1, 1]: the cosine `u·v / (‖u‖‖v‖)`, and 0 where either is zero. Ties go to the lower key.
//!
//! An index may keep codes beside the vectors, of a byte or a bit a dimension: a first pass over these chooses candidates,
//! which are then scored exactly. Or it keeps the vectors themselves in half precision. See [`Quantization`].

mod chunks;
mod codes;
mod documents;
mod index;
mod kernels;
mod memory;
mod passes;
mod quantization;
mod rotation;
mod scan;
mod segments;
#[cfg(test)]
mod tests;
mod unit;
mod vectors;

pub use index::{Hit, Search, VectorIndex};
pub use quantization::Quantization;
pub use unit::Rows;
