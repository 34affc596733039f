//! Learned sparse vectors over a live collection: exact dot products by an inverted index.
//!
//! # Formula
//!
//! ```text
//! score(q, d) = Σ over the terms t of both q and d, ascending: q(t) · d(t)
//! ```
//!
//! Weights are positive `f32` (Formal, Piwowarski and Clinchant, *SPLADE: Sparse Lexical and Expansion Model for First
//! Stage Ranking*, 2021). The product of two is exact in `f64`, and the sum runs in `f64` by ascending term, so that a
//! score depends on the two vectors, bit for bit, and on nothing else: not on earlier writes, segments or threads. It is
//! above 0 for every chunk that shares a term with the query; the others are no hits.
//!
//! # Structure
//!
//! Chunks fill slots, 65,536 a segment. A segment holds postings (`u16` slot, `f32` weight: 6 bytes), keys, and a bitmap of
//! the living. A removal clears a bit; when more than a quarter of all that is held is dead, the survivors move together
//! while readers go on. A segment that is full is laid down without gaps in the same way.
//!
//! A search adds up one segment after the other and keeps the best in a heap. Where a filter leaves few slots of a segment,
//! postings are held against it before they are added; where it leaves very few, these are looked up in the lists. Lists are
//! not skipped by bounds on their weights: queries have some thirty terms of like weight, so that bounds spare a third of
//! the postings at best, and what is left of that goes to look-ups and to a second sum in the formula's order.

mod index;
mod postings;
mod rows;
mod search;
mod segment;
mod state;
#[cfg(test)]
mod tests;

pub use index::{Hit, Search, SparseIndex};
pub use rows::Rows;
