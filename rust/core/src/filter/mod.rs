//! Typed metadata as columns, so that a filter becomes the set of eligible slots before anything is scored.
//!
//! A slot is a chunk's number inside an index: `segment * 65_536 + offset`, so that each container of a bitmap is one
//! segment. Slots are never reused; a removed slot may keep its bits until the columns are renumbered, since every index
//! masks with the slots that are alive.
//!
//! A column keeps its values in order, each with its slots, so that equality is one look-up and a range one walk. A
//! predicate is evaluated to a [`Selection`]: some slots, or all but some, which makes a negation free.

mod columns;
mod predicate;
mod selection;
#[cfg(test)]
mod tests;
mod value;

pub use columns::Columns;
pub use predicate::{Predicate, Range};
pub use selection::Selection;
pub use value::{Metadata, Value};
