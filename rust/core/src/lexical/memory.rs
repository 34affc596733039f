//! What an index takes.

/// How much of what is held, dead chunks that are not left behind yet included, and the bytes reserved for it. The
/// columns of metadata are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// Chunks.
    pub chunks: usize,
    /// (chunk, distinct term) pairs.
    pub postings: usize,
    /// Bytes of the inverted lists: slots, frequencies, bounds.
    pub lists: usize,
    /// Bytes of the terms that each chunk holds, which is what a removal reads.
    pub forward: usize,
    /// Bytes of keys and lengths, and of the way from a document to its chunks.
    pub documents: usize,
    /// Bytes of the terms, their numbers and their counts.
    pub vocabulary: usize,
}
