//! The arithmetic of Ragstone, without Python: text analysis, inverted indexes, vector search, fusion, diversity and
//! token budgets. Every function is deterministic: same input, same output, on any thread count.

pub mod dense;
mod documents;
pub mod error;
pub mod filter;
pub mod key;
pub mod lexical;
mod memory;
mod patience;
pub mod pool;
pub mod rank;
mod slots;
pub mod sparse;
pub mod text;
pub mod tokens;

pub use error::{Error, Result};
pub use key::{ChunkKey, DocumentId};
