//! Metadata values: four kinds that never equal each other.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A metadata value. Ordered within its kind by value; the order of the kinds means nothing.
#[derive(Debug, Clone)]
pub enum Value {
    /// Text, compared exactly and ordered by code point.
    Text(Box<str>),
    /// A finite number; integers of up to ±2⁵³ are exact.
    Number(f64),
    /// True or false; not a number.
    Bool(bool),
    /// An instant, microseconds since 1970-01-01 UTC.
    Instant(i64),
}

impl Value {
    /// Bits that are equal exactly when two numbers are: zero has one sign.
    fn number_bits(value: f64) -> u64 {
        if value == 0.0 { 0 } else { value.to_bits() }
    }

    /// Whether both are text, numbers, booleans or instants.
    pub fn is_of_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Text(_) => 0,
            Self::Number(_) => 1,
            Self::Bool(_) => 2,
            Self::Instant(_) => 3,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => Self::number_bits(*a) == Self::number_bits(*b),
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Instant(a), Self::Instant(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            // Adding 0 gives zero one sign.
            (Self::Number(a), Self::Number(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Instant(a), Self::Instant(b)) => a.cmp(b),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind().hash(state);
        match self {
            Self::Text(value) => value.hash(state),
            Self::Number(value) => Self::number_bits(*value).hash(state),
            Self::Bool(value) => value.hash(state),
            Self::Instant(value) => value.hash(state),
        }
    }
}

/// A chunk's metadata, or a filter whose entries must all hold. Keys are unique.
pub type Metadata = Vec<(Box<str>, Value)>;
