//! Tokens: counting them, where they stand in a text, and what fits a budget of them.

mod budget;
mod counting;
mod encoding;
mod spans;
mod words;

pub use budget::{Budget, fit_budget};
pub use counting::count_many;
pub use encoding::Encoding;
pub use spans::token_spans;
