//! The errors of the core. Every message names the field, the value and the remedy or limit.

/// What can go wrong in the core: always the caller's input, never a partial effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A parameter is outside of its range.
    #[error("{field} must be {limit}, not {value}")]
    Parameter {
        /// The parameter's name as the caller wrote it.
        field: &'static str,
        /// The value that came.
        value: String,
        /// What it must be.
        limit: &'static str,
    },
    /// A vector of another length than those it is held against.
    #[error("{subject} has {actual} dimensions instead of {expected}")]
    Dimension {
        /// Which vector: the query, or the chunk.
        subject: String,
        /// The dimensions in use.
        expected: usize,
        /// The dimensions that came.
        actual: usize,
    },
    /// A vector with NaN or infinity.
    #[error("{subject} holds {value} at position {position}: every number of a vector must be finite")]
    Vector {
        /// Which vector: the query, or the chunk.
        subject: String,
        /// The offending number.
        value: String,
        /// Where it stands, from 0.
        position: usize,
    },
    /// Arguments that do not fit each other.
    #[error("{0}")]
    Input(String),
}

/// A result whose error is [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;
