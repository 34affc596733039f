//! BM25 over a live collection: every write is searchable at once and every score is that of a fresh index.
//!
//! # Formula
//!
//! As Lucene computes it since version 8 (Robertson and Zaragoza, *The Probabilistic Relevance Framework: BM25 and
//! Beyond*, 2009, without the constant factor `k1 + 1`), with exact lengths:
//!
//! ```text
//! score(q, d) = Σ over the distinct terms t of q:
//!     qf(t) · ln(1 + (N − df(t) + 0.5) / (df(t) + 0.5)) · tf(t, d) / (tf(t, d) + k1 · (1 − b + b · |d| / avg|d|))
//! ```
//!
//! `N` counts the chunks, `df` those that hold the term, `|d|` a chunk's terms, `qf` and `tf` occurrences in query and
//! chunk. The sum runs in double precision over the query's terms in the order in which they first appear. `N`, `df` and
//! the sum of lengths are integers that a removal takes back exactly, so that a score depends on the chunks that are
//! there, bit for bit, and on nothing else: not on earlier writes, segments or threads.
//!
//! # Structure
//!
//! Chunks fill slots, 65,536 a segment. A segment holds postings (`u16` slot, `u8` frequency with the rare greater ones
//! aside), lengths, a bitmap of the living, and for each slot the terms it holds, which is what a removal reads. When a
//! segment is full its postings are laid down in arrays of exact size. When more than a quarter of all that is held is dead,
//! the survivors move together, slots, terms and metadata alike, beside readers and writers. A search takes windows of 4,096
//! slots, the most promising first, and leaves out what the bounds of [`bounds`] show to be in vain.

mod analysis;
mod batch;
mod bounds;
mod compaction;
mod forward;
mod index;
mod lexicon;
mod mask;
mod memory;
mod open;
mod portion;
mod postings;
mod scoring;
mod search;
mod segment;
mod state;
#[cfg(test)]
mod tests;
mod vocabulary;
mod window;

pub use index::{Bm25Index, Hit, TermScore};
pub use memory::Memory;
