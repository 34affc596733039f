//! What a filter may ask of a chunk's metadata.

use std::ops::Bound;

use super::{Metadata, Value};
use crate::error::{Error, Result};

/// A condition on metadata. Kinds never cross: a range of numbers holds for numbers only.
///
/// A chunk without the key fulfils none of the conditions on it, and so all of their negations.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// The key's value equals this one.
    Equal(Box<str>, Value),
    /// The key's value equals one of these; of none, nothing does.
    In(Box<str>, Vec<Value>),
    /// The key's value lies within a range of its kind.
    Within(Box<str>, Range),
    /// The key has a value.
    Exists(Box<str>),
    /// The condition does not hold.
    Not(Box<Predicate>),
    /// All hold; true where there is none.
    And(Vec<Predicate>),
    /// At least one holds; false where there is none.
    Or(Vec<Predicate>),
}

impl Default for Predicate {
    /// What holds for every chunk.
    fn default() -> Self {
        Self::And(Vec::new())
    }
}

impl From<Metadata> for Predicate {
    /// Every entry must equal the chunk's.
    fn from(filter: Metadata) -> Self {
        Self::And(filter.into_iter().map(|(key, value)| Self::Equal(key, value)).collect())
    }
}

/// A range of text, numbers or instants, with at least one end.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    lower: Bound<Value>,
    upper: Bound<Value>,
}

impl Range {
    /// The values from `lower` to `upper`; a range that ends before it starts holds none.
    ///
    /// # Errors
    /// [`Error::Input`] where both ends are open, the ends differ in kind, or one is a boolean or not a number.
    pub fn new(lower: Bound<Value>, upper: Bound<Value>) -> Result<Self> {
        let refused = |fault: &str| Err(Error::Input(format!("a range {fault}")));
        let ends = [end(&lower), end(&upper)];
        if ends.iter().flatten().any(|value| matches!(value, Value::Bool(_))) {
            return refused("must be of text, numbers or instants, not of booleans: compare for equality");
        }
        if ends.iter().flatten().any(|value| matches!(value, Value::Number(number) if number.is_nan())) {
            return refused("must end at a number, not at NaN");
        }
        match ends {
            [None, None] => refused("needs at least one end: ask whether the key exists instead"),
            [Some(lower), Some(upper)] if !lower.is_of_kind(upper) => {
                refused("must have two ends of one kind: both text, both numbers or both instants")
            }
            _ => Ok(Self { lower, upper }),
        }
    }

    /// Where to start in the order of all values: at the lower end, else at the least value of the kind.
    pub(super) fn start(&self) -> Bound<Value> {
        match (&self.lower, end(&self.upper)) {
            (Bound::Unbounded, Some(Value::Text(_))) => Bound::Included(Value::Text("".into())),
            (Bound::Unbounded, Some(Value::Number(_))) => Bound::Included(Value::Number(f64::NEG_INFINITY)),
            (Bound::Unbounded, Some(Value::Instant(_))) => Bound::Included(Value::Instant(i64::MIN)),
            (lower, _) => lower.clone(),
        }
    }

    /// Whether a value from the start on is still within.
    pub(super) fn reaches(&self, value: &Value) -> bool {
        let of_kind = end(&self.lower).or(end(&self.upper)).is_some_and(|end| end.is_of_kind(value));
        of_kind
            && match &self.upper {
                Bound::Included(upper) => value <= upper,
                Bound::Excluded(upper) => value < upper,
                Bound::Unbounded => true,
            }
    }
}

fn end(bound: &Bound<Value>) -> Option<&Value> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
        Bound::Unbounded => None,
    }
}

#[cfg(test)]
mod tests {
    use Bound::{Excluded, Included, Unbounded};

    use super::*;

    #[test]
    fn ranges_that_say_nothing_are_refused() {
        let (number, text) = (Value::Number(1.0), Value::Text("a".into()));
        for (lower, upper) in [
            (Unbounded, Unbounded),
            (Included(number.clone()), Excluded(text.clone())),
            (Included(Value::Bool(false)), Unbounded),
            (Unbounded, Excluded(Value::Bool(true))),
            (Included(Value::Number(f64::NAN)), Unbounded),
        ] {
            assert!(matches!(Range::new(lower, upper), Err(Error::Input(_))));
        }
        assert!(Range::new(Included(number), Unbounded).is_ok());
        assert!(Range::new(Unbounded, Excluded(text)).is_ok());
    }
}
