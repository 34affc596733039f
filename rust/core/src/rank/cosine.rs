//! Cosine similarity in double precision, over borrowed rows of f32.
//!
//! cos(a, b) = a·b / √(|a|²·|b|²). The product of two f32 is exact in f64, and the sums run in [`LANES`] fixed lanes, so
//! the value does not depend on the instructions at hand, equal vectors have cosine exactly 1, and no finite input
//! overflows or loses its small numbers. A zero vector has no direction: its cosine to anything is 0.

use crate::{Error, Result};

const LANES: usize = 16;

/// Vectors of one length, row after row, each checked to be finite.
#[derive(Debug)]
pub struct Vectors<'a> {
    values: &'a [f32],
    dimensions: usize,
    squares: Vec<f64>,
}

impl<'a> Vectors<'a> {
    /// Borrow `values.len() / dimensions` rows.
    ///
    /// # Errors
    /// A number is not finite (the error names row and position), or the values do not make whole rows.
    pub fn new(values: &'a [f32], dimensions: usize) -> Result<Self> {
        if !values.len().is_multiple_of(dimensions) {
            let count = values.len();
            return Err(Error::Input(format!("{count} numbers do not make whole vectors of {dimensions} dimensions")));
        }
        let rows = values.chunks_exact(dimensions.max(1)).enumerate();
        let squares = rows.map(|(row, vector)| square(vector, || format!("vector {row}"))).collect::<Result<_>>()?;
        Ok(Self { values, dimensions, squares })
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.squares.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// Whether every number of the row is 0.
    pub fn is_zero(&self, row: usize) -> bool {
        self.squares[row] == 0.0
    }

    /// The cosine of two rows.
    pub fn cosine(&self, a: usize, b: usize) -> f64 {
        quotient(dot(self.row(a), self.row(b)), self.squares[a], self.squares[b])
    }

    /// The cosine of a query and each row.
    ///
    /// # Errors
    /// The query is not finite, or of another length than the rows.
    pub fn cosines(&self, query: &[f32]) -> Result<Vec<f64>> {
        let subject = || "query_vector".to_owned();
        if self.is_empty() {
            return Ok(Vec::new());
        }
        if query.len() != self.dimensions {
            return Err(Error::Dimension { subject: subject(), expected: self.dimensions, actual: query.len() });
        }
        let own = square(query, subject)?;
        Ok((0..self.len()).map(|row| quotient(dot(query, self.row(row)), own, self.squares[row])).collect())
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.dimensions..(row + 1) * self.dimensions]
    }
}

fn quotient(dot: f64, a: f64, b: f64) -> f64 {
    // The root of a rounded square is exact, so that a vector's cosine to itself is 1; + 0.0 makes -0.0 a plain zero.
    if a == 0.0 || b == 0.0 { 0.0 } else { (dot / (a * b).sqrt()).clamp(-1.0, 1.0) + 0.0 }
}

/// The squared length. Finite numbers cannot overflow it, so it tells whether all are finite.
fn square(vector: &[f32], subject: impl Fn() -> String) -> Result<f64> {
    let square = dot(vector, vector);
    if square.is_finite() {
        return Ok(square);
    }
    let position = vector.iter().position(|value| !value.is_finite()).unwrap_or_default();
    Err(Error::Vector { subject: subject(), value: vector[position].to_string(), position })
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { dot_avx2(a, b) };
    }
    dot_portable(a, b)
}

/// [`dot_portable`] compiled for AVX2: the same operations in the same order, four doubles at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_avx2(a: &[f32], b: &[f32]) -> f64 {
    dot_portable(a, b)
}

#[expect(clippy::inline_always, reason = "compiled anew into the AVX2 kernel")]
#[inline(always)]
fn dot_portable(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0_f64; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += f64::from(x[lane]) * f64::from(y[lane]);
        }
    }
    for (lane, (&x, &y)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] += f64::from(x) * f64::from(y);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)]

    use proptest::prelude::*;

    use super::*;

    fn plain(a: &[f32], b: &[f32]) -> f64 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
        let (own, other) = (dot(a, a).sqrt(), dot(b, b).sqrt());
        if own == 0.0 || other == 0.0 { 0.0 } else { dot(a, b) / own / other }
    }

    fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        let number = prop_oneof![8 => -1.0_f32..1.0, 1 => Just(0.0), 1 => -1e30_f32..1e30, 1 => -1e-30_f32..1e-30];
        (1_usize..70).prop_flat_map(move |n| {
            (proptest::collection::vec(number.clone(), n), proptest::collection::vec(number.clone(), n))
        })
    }

    proptest! {
        #[test]
        fn is_the_definition((a, b) in pair()) {
            let both = [a.clone(), b.clone()].concat();
            let vectors = Vectors::new(&both, a.len()).unwrap();
            prop_assert!((vectors.cosine(0, 1) - plain(&a, &b)).abs() < 1e-12);
            prop_assert_eq!(vectors.cosine(0, 1).to_bits(), vectors.cosine(1, 0).to_bits());
            prop_assert_eq!(vectors.cosine(0, 0), if vectors.is_zero(0) { 0.0 } else { 1.0 });
            prop_assert_eq!(vectors.cosines(&a).unwrap()[1].to_bits(), vectors.cosine(0, 1).to_bits());
        }

        #[test]
        fn every_machine_gives_the_same_bits((a, b) in pair()) {
            prop_assert_eq!(dot(&a, &b).to_bits(), dot_portable(&a, &b).to_bits());
        }
    }

    #[test]
    fn largest_and_smallest_numbers_have_a_cosine() {
        let values = [f32::MAX, f32::MAX, f32::from_bits(1), f32::from_bits(1)];
        assert!((Vectors::new(&values, 2).unwrap().cosine(0, 1) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn errors_name_the_place() {
        let error = Vectors::new(&[0.0, 1.0, 2.0, f32::NAN], 2).unwrap_err();
        assert_eq!(error, Error::Vector { subject: "vector 1".into(), value: "NaN".into(), position: 1 });
        assert!(matches!(Vectors::new(&[0.0; 3], 2), Err(Error::Input(_))));
        assert!(matches!(Vectors::new(&[0.0; 3], 0), Err(Error::Input(_))));
        let vectors = Vectors::new(&[0.0, 1.0], 2).unwrap();
        let error = vectors.cosines(&[1.0]).unwrap_err();
        assert_eq!(error, Error::Dimension { subject: "query_vector".into(), expected: 2, actual: 1 });
        let error = vectors.cosines(&[1.0, f32::INFINITY]).unwrap_err();
        assert_eq!(error, Error::Vector { subject: "query_vector".into(), value: "inf".into(), position: 1 });
    }
}
