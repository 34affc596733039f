//! Vector search: exact cosine similarity over unit vectors, live, filtered before the cut.
//!
//! A vector `v` is stored as `v / ‖v‖` in single precision, the norm taken in double; a zero vector stays zero. The score
//! of a chunk is the dot product of its stored vector with the query's unit vector, computed in double precision and
//! clamped to [-1, 1]: the cosine `u·v / (‖u‖‖v‖)`, and 0 where either is zero. Ties go to the lower key.

mod chunks;
mod index;
mod kernels;
mod memory;
mod scan;
mod segments;
#[cfg(test)]
mod tests;
mod unit;

pub use index::{Hit, Search, VectorIndex};
pub use unit::Rows;
