//! Metadata values: four kinds that never equal each other.

use std::hash::{Hash, Hasher};

/// A metadata value.
#[derive(Debug, Clone)]
pub enum Value {
    /// Text, compared exactly.
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

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
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
