//! Cosine similarity over borrowed rows of f32: exact in double precision, and rough in single with a known margin.
//!
//! cos(a, b) = a·b / √(|a|²·|b|²). The product of two f32 is exact in f64, and the sums run in [`LANES`] fixed lanes, so
//! the value does not depend on the instructions at hand, equal vectors have cosine exactly 1, and no finite input
//! overflows or loses its small numbers. A zero vector has no direction: its cosine to anything is 0.
//!
//! Rough cosines cost a fraction of that. They decide what cannot matter; what is left is compared exactly, so an answer
//! that uses both is the answer of the exact ones alone.

use std::cell::OnceCell;

use super::rough;
use crate::{Error, Result};

const LANES: usize = 16;

/// Vectors of one length, row after row, each checked to be finite.
#[derive(Debug)]
pub struct Vectors<'a> {
    values: &'a [f32],
    dimensions: usize,
    units: Vec<Unit>,
    squares: Vec<OnceCell<f64>>,
}

/// A query for some vectors, finite and of their length.
#[derive(Debug)]
pub(super) struct Query<'a> {
    values: &'a [f32],
    unit: Unit,
    square: f64,
}

/// What brings a vector to unit length, about: 0 for a zero vector.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Unit {
    factor: f64,
    /// Whether single precision has room for the squares of its numbers.
    tame: bool,
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
        let units: Vec<Unit> =
            rows.map(|(row, vector)| Unit::of(vector, || format!("vector {row}"))).collect::<Result<_>>()?;
        let squares = vec![OnceCell::new(); units.len()];
        Ok(Self { values, dimensions, units, squares })
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Whether every number of the row is 0.
    pub fn is_zero(&self, row: usize) -> bool {
        self.units[row].factor == 0.0
    }

    /// The cosine of two rows.
    pub fn cosine(&self, a: usize, b: usize) -> f64 {
        quotient(dot(self.row(a), self.row(b)), self.square(a), self.square(b))
    }

    /// A query for these vectors.
    ///
    /// # Errors
    /// It is not finite, or of another length than the rows.
    pub(super) fn query<'q>(&self, values: &'q [f32]) -> Result<Query<'q>> {
        let subject = || "query_vector".to_owned();
        if !self.is_empty() && values.len() != self.dimensions {
            return Err(Error::Dimension { subject: subject(), expected: self.dimensions, actual: values.len() });
        }
        Ok(Query { values, unit: Unit::of(values, subject)?, square: dot(values, values) })
    }

    /// The cosine of a query and a row.
    pub(super) fn relevance(&self, query: &Query<'_>, row: usize) -> f64 {
        quotient(dot(query.values, self.row(row)), query.square, self.square(row))
    }

    /// How far a rough cosine can be from the cosine.
    pub(super) fn margin(&self) -> f64 {
        rough::margin(self.dimensions)
    }

    /// About the cosine of a query and each row.
    pub(super) fn rough_relevances(&self, query: &Query<'_>) -> Vec<f64> {
        let rows: Vec<u32> = (0..self.len() as u32).collect();
        let exact = |row: usize| self.relevance(query, row);
        let mut cosines = vec![0.0; rows.len()];
        self.rough(query.values, query.unit, &rows, exact, &mut cosines);
        cosines
    }

    /// About the cosine of a row and each of `others`.
    pub(super) fn rough_cosines(&self, row: usize, others: &[u32], out: &mut [f64]) {
        self.rough(self.row(row), self.units[row], others, |other| self.cosine(row, other), out);
    }

    fn rough(&self, vector: &[f32], unit: Unit, rows: &[u32], exact: impl Fn(usize) -> f64, out: &mut [f64]) {
        const GROUP: usize = 64;
        let mut dots = [0.0; GROUP];
        for (rows, out) in rows.chunks(GROUP).zip(out.chunks_mut(GROUP)) {
            rough::dots(vector, self.values, rows, &mut dots[..rows.len()]);
            for ((&row, &dot), out) in rows.iter().zip(&dots).zip(out) {
                let other = self.units[row as usize];
                *out = if unit.tame && other.tame {
                    f64::from(dot) * unit.factor * other.factor
                } else {
                    exact(row as usize)
                };
            }
        }
    }

    fn square(&self, row: usize) -> f64 {
        *self.squares[row].get_or_init(|| dot(self.row(row), self.row(row)))
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.dimensions..(row + 1) * self.dimensions]
    }
}

impl Unit {
    /// Finite numbers cannot overflow a square in double precision, so it tells whether all are finite.
    fn of(vector: &[f32], subject: impl Fn() -> String) -> Result<Self> {
        let mut square = [0.0];
        rough::dots(vector, vector, &[0], &mut square);
        if rough::TAME.contains(&square[0]) {
            return Ok(Self { factor: f64::from(square[0]).sqrt().recip(), tame: true });
        }
        let square = dot(vector, vector);
        if square.is_finite() {
            let zero = square == 0.0;
            return Ok(Self { factor: if zero { 0.0 } else { square.sqrt().recip() }, tame: zero });
        }
        let position = vector.iter().position(|value| !value.is_finite()).unwrap_or_default();
        Err(Error::Vector { subject: subject(), value: vector[position].to_string(), position })
    }
}

fn quotient(dot: f64, a: f64, b: f64) -> f64 {
    // The root of a rounded square is exact, so that a vector's cosine to itself is 1; + 0.0 makes -0.0 a plain zero.
    if a == 0.0 || b == 0.0 { 0.0 } else { (dot / (a * b).sqrt()).clamp(-1.0, 1.0) + 0.0 }
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
            let query = vectors.query(&a).unwrap();
            prop_assert_eq!(vectors.relevance(&query, 1).to_bits(), vectors.cosine(0, 1).to_bits());
            let mut rough = [f64::NAN];
            vectors.rough_cosines(0, &[1], &mut rough);
            prop_assert!((rough[0] - vectors.cosine(0, 1)).abs() <= vectors.margin());
            prop_assert!((vectors.rough_relevances(&query)[1] - vectors.cosine(0, 1)).abs() <= vectors.margin());
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
        let error = vectors.query(&[1.0]).unwrap_err();
        assert_eq!(error, Error::Dimension { subject: "query_vector".into(), expected: 2, actual: 1 });
        let error = vectors.query(&[1.0, f32::INFINITY]).unwrap_err();
        assert_eq!(error, Error::Vector { subject: "query_vector".into(), value: "inf".into(), position: 1 });
    }
}
