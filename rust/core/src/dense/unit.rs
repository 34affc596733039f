//! From the numbers that callers hand over to unit vectors: checks, norms in double precision, scaling.

use crate::error::{Error, Result};

/// A matrix by rows, borrowed: `values[row * dimensions..][..dimensions]` is one vector.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    values: &'a [f32],
    dimensions: usize,
}

impl<'a> Rows<'a> {
    /// A view of `values`.
    ///
    /// # Errors
    /// [`Error::Input`] when `dimensions` is 0 or `values` is not a whole number of rows.
    pub fn new(values: &'a [f32], dimensions: usize) -> Result<Self> {
        if dimensions == 0 || !values.len().is_multiple_of(dimensions) {
            let length = values.len();
            return Err(Error::Input(format!("{length} numbers are not rows of {dimensions} dimensions (at least 1)")));
        }
        Ok(Self { values, dimensions })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.values.len() / self.dimensions
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The length of each row.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [f32]> {
        self.values.chunks_exact(self.dimensions)
    }
}

/// The Euclidean norm, summed in double precision: the squares of single-precision numbers neither overflow nor vanish.
///
/// # Errors
/// [`Error::Vector`] when a number is NaN or infinite; `subject` names the vector.
pub(super) fn norm(vector: &[f32], subject: impl FnOnce() -> String) -> Result<f64> {
    let squares: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    if squares.is_finite() {
        return Ok(squares.sqrt());
    }
    let position = vector.iter().position(|x| !x.is_finite()).unwrap_or_default();
    Err(Error::Vector { subject: subject(), value: vector[position].to_string(), position })
}

/// The unit vector in single precision, written to `unit`; a zero vector stays zero.
pub(super) fn normalize(vector: &[f32], norm: f64, unit: &mut [f32]) {
    let divisor = if norm > 0.0 { norm } else { 1.0 };
    for (unit, &x) in unit.iter_mut().zip(vector) {
        *unit = (f64::from(x) / divisor) as f32;
    }
}

/// A query as a unit vector, in both precisions: the one for the scan, the other for the scores.
pub(super) struct Query {
    pub(super) single: Vec<f32>,
    pub(super) double: Vec<f64>,
}

impl Query {
    /// # Errors
    /// As [`norm`].
    pub(super) fn new(vector: &[f32], subject: impl FnOnce() -> String) -> Result<Self> {
        let norm = norm(vector, subject)?;
        let divisor = if norm > 0.0 { norm } else { 1.0 };
        let double: Vec<f64> = vector.iter().map(|&x| f64::from(x) / divisor).collect();
        Ok(Self { single: double.iter().map(|&x| x as f32).collect(), double })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_of(vector: &[f32]) -> Result<Vec<f32>> {
        let mut unit = vec![0.0; vector.len()];
        normalize(vector, norm(vector, || "the vector".into())?, &mut unit);
        Ok(unit)
    }

    #[test]
    fn norms_that_overflow_or_vanish_in_single_precision_are_right() {
        assert_eq!(unit_of(&[3e38, 0.0, 3e38]), unit_of(&[1.0, 0.0, 1.0]));
        assert_eq!(unit_of(&[1e-45, 0.0]), Ok(vec![1.0, 0.0]));
        assert_eq!(unit_of(&[0.0, -0.0]), Ok(vec![0.0, -0.0]));
    }

    #[test]
    fn what_is_not_finite_is_named() {
        let error = unit_of(&[1.0, f32::NEG_INFINITY]).unwrap_err().to_string();
        assert_eq!(error, "the vector holds -inf at position 1: every number of a vector must be finite");
        assert!(unit_of(&[f32::NAN]).unwrap_err().to_string().contains("NaN at position 0"));
    }

    #[test]
    fn rows_must_be_whole() {
        assert!(Rows::new(&[1.0, 2.0, 3.0], 2).is_err());
        assert!(Rows::new(&[], 0).is_err());
        assert_eq!(Rows::new(&[1.0, 2.0], 1).map(|rows| rows.len()), Ok(2));
    }
}
