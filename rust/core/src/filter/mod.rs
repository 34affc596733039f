//! Typed metadata as columns of bitmaps, so that a filter becomes the set of eligible slots before anything is scored.
//!
//! A slot is a chunk's number inside an index: `segment * 65_536 + offset`, so that each container of a bitmap is one
//! segment. Slots are never reused; a removed slot may keep its bits until the columns are renumbered, since every index
//! masks with the slots that are alive.

mod columns;
mod value;

pub use columns::Columns;
pub use value::{Metadata, Value};
