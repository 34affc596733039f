//! What an index keeps beside its vectors, or instead of them.

use super::codes::Codes;
use super::segments::Segments;
use super::vectors::Vectors;
use crate::error::{Error, Result};

/// How the vectors of an index are kept and scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quantization {
    /// In single precision; every search scans them.
    #[default]
    None,
    /// In half precision, in half the memory; the scores are those of the vectors so rounded.
    Half,
    /// In single precision, with a code of one byte a dimension for a first pass.
    Int8 {
        /// How many candidates the first pass passes on for each hit asked for, at least 1.
        oversampling: usize,
    },
    /// In single precision, with a code of one bit a dimension for a first pass.
    Binary {
        /// As above.
        oversampling: usize,
    },
}

impl Quantization {
    /// Candidates a hit where nobody says otherwise: of 10 true neighbours 9.99 are found among embeddings.
    pub const INT8_OVERSAMPLING: usize = 4;

    /// Candidates a hit where nobody says otherwise: of 10 true neighbours 9.8 are found among embeddings.
    pub const BINARY_OVERSAMPLING: usize = 64;

    /// By name: `int8`, `binary` or `f16`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for another name, an `oversampling` of 0, or one where there are no codes.
    pub fn named(name: Option<&str>, oversampling: Option<usize>) -> Result<Self> {
        let refused = |field, value: String, limit| Err(Error::Parameter { field, value, limit });
        if oversampling == Some(0) {
            return refused("oversampling", "0".into(), "at least 1");
        }
        match (name, oversampling) {
            (Some("int8"), _) => Ok(Self::Int8 { oversampling: oversampling.unwrap_or(Self::INT8_OVERSAMPLING) }),
            (Some("binary"), _) => Ok(Self::Binary { oversampling: oversampling.unwrap_or(Self::BINARY_OVERSAMPLING) }),
            (None | Some("f16"), Some(value)) => {
                refused("oversampling", value.to_string(), "None where quantization is neither 'int8' nor 'binary'")
            }
            (Some("f16"), None) => Ok(Self::Half),
            (None, None) => Ok(Self::None),
            (Some(name), _) => refused("quantization", format!("'{name}'"), "'int8', 'binary', 'f16' or None"),
        }
    }

    /// How many candidates to score exactly for a page of `top_k`; `None` where there is no first pass.
    pub(super) fn candidates(self, top_k: usize) -> Option<usize> {
        match self {
            Self::None | Self::Half => None,
            Self::Int8 { oversampling } | Self::Binary { oversampling } => Some(top_k.saturating_mul(oversampling)),
        }
    }

    pub(super) fn vectors(self, dimensions: usize) -> Vectors {
        match self {
            Self::Half => Vectors::Half(Segments::new(dimensions)),
            _ => Vectors::Single(Segments::new(dimensions)),
        }
    }

    pub(super) fn codes(self, dimensions: usize) -> Option<Codes> {
        match self {
            Self::None | Self::Half => None,
            Self::Int8 { .. } => Some(Codes::int8(dimensions)),
            Self::Binary { .. } => Some(Codes::binary(dimensions)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_they_refuse() {
        assert_eq!(Quantization::named(None, None), Ok(Quantization::None));
        assert_eq!(Quantization::named(Some("f16"), None), Ok(Quantization::Half));
        assert_eq!(Quantization::named(Some("int8"), None), Ok(Quantization::Int8 { oversampling: 4 }));
        assert_eq!(Quantization::named(Some("binary"), Some(9)), Ok(Quantization::Binary { oversampling: 9 }));
        let message = |name, oversampling| Quantization::named(name, oversampling).unwrap_err().to_string();
        assert_eq!(message(Some("int4"), None), "quantization must be 'int8', 'binary', 'f16' or None, not 'int4'");
        assert_eq!(message(Some("int8"), Some(0)), "oversampling must be at least 1, not 0");
        assert!(message(None, Some(2)).starts_with("oversampling must be None where quantization is neither"));
    }
}
