//! What identifies a chunk: its document and its place in it, never its text.

use std::fmt;
use std::sync::Arc;

/// A document's identity: an integer or a string. Integers sort before strings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentId {
    /// A whole number.
    Int(i64),
    /// Any string.
    Str(Arc<str>),
}

impl DocumentId {
    /// What it takes besides itself: of a string its characters and two counts.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Int(_) => 0,
            Self::Str(text) => text.len() + 2 * size_of::<usize>(),
        }
    }
}

impl From<&str> for DocumentId {
    fn from(value: &str) -> Self {
        Self::Str(value.into())
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Str(value) => write!(f, "'{value}'"),
        }
    }
}

/// A chunk's identity; its order is the order in which ties are broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkKey {
    /// The document.
    pub document_id: DocumentId,
    /// The place in the document, from 0.
    pub chunk_index: u32,
}

impl ChunkKey {
    /// The key of a document's chunk.
    pub fn new(document_id: impl Into<DocumentId>, chunk_index: u32) -> Self {
        Self { document_id: document_id.into(), chunk_index }
    }
}

impl fmt::Display for ChunkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {} of document {}", self.chunk_index, self.document_id)
    }
}
