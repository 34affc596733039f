//! Sparse vectors as they are handed in: one after the other, as the rows of a CSR matrix.

use crate::error::{Error, Result};

/// Valid sparse vectors, read where they lie.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    ends: &'a [usize],
    terms: &'a [u32],
    weights: &'a [f32],
}

impl<'a> Rows<'a> {
    /// The vectors that end at `ends`, each of ascending terms and positive finite weights.
    ///
    /// # Errors
    /// [`Error::Input`] naming the row and the position in it, or the lengths that do not fit.
    pub fn new(ends: &'a [usize], terms: &'a [u32], weights: &'a [f32]) -> Result<Self> {
        let last = ends.last().copied().unwrap_or_default();
        if terms.len() != weights.len() || last != terms.len() || !ends.is_sorted() {
            let (terms, weights) = (terms.len(), weights.len());
            return Err(Error::Input(format!(
                "sparse vectors of {terms} terms and {weights} weights end at {last}: give each term a weight"
            )));
        }
        let rows = Self { ends, terms, weights };
        for (row, (terms, weights)) in rows.iter().enumerate() {
            check(terms, weights).map_err(|fault| Error::Input(format!("sparse vector {row} has {fault}")))?;
        }
        Ok(rows)
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Each vector's terms and weights.
    pub(super) fn iter(self) -> impl ExactSizeIterator<Item = (&'a [u32], &'a [f32])> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let row = std::mem::replace(&mut start, end)..end;
            (&self.terms[row.clone()], &self.weights[row])
        })
    }
}

fn check(terms: &[u32], weights: &[f32]) -> std::result::Result<(), String> {
    if let Some(position) = terms.windows(2).position(|pair| pair[0] >= pair[1]) {
        let (term, next) = (terms[position], terms[position + 1]);
        return Err(format!("term {next} after term {term} at position {}: terms must ascend", position + 1));
    }
    match weights.iter().position(|&weight| !(weight > 0.0 && weight.is_finite())) {
        Some(position) => {
            Err(format!("weight {} at position {position}: weights must be positive and finite", weights[position]))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn faults_are_named_by_position() {
        let fault = |ends: &[usize], terms: &[u32], weights: &[f32]| match Rows::new(ends, terms, weights) {
            Err(Error::Input(message)) => message,
            other => format!("{other:?}"),
        };
        assert!(fault(&[1], &[1, 2], &[1.0, 1.0]).contains("2 terms and 2 weights end at 1"));
        assert!(fault(&[2], &[1, 2], &[1.0]).contains("2 terms and 1 weights"));
        assert!(fault(&[2, 1, 2], &[1, 2], &[1.0, 1.0]).contains("end at 2"));
        assert!(fault(&[1, 3], &[9, 3, 3], &[1.0; 3]).contains("vector 1 has term 3 after term 3 at position 1"));
        assert!(fault(&[2], &[4, 3], &[1.0; 2]).contains("term 3 after term 4 at position 1"));
        for wrong in [0.0, -0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(fault(&[2], &[3, 4], &[1.0, wrong]).contains("at position 1: weights must be positive"));
        }
        let rows = Rows::new(&[0, 2, 2], &[3, 4], &[1.0, f32::MIN_POSITIVE]).unwrap();
        assert_eq!(rows.iter().map(|(terms, _)| terms.len()).collect::<Vec<_>>(), [0, 2, 0]);
    }
    /// Mostly sound weights, any at all among them.
    fn weight() -> impl Strategy<Value = f32> {
        prop_oneof![9 => 0.1_f32..9.0, 1 => any::<u32>().prop_map(f32::from_bits)]
    }

    proptest! {
        #[test]
        fn any_arrays_are_sound_vectors_or_refused(
            ends in vec(0_usize..6, 0..4), terms in vec(0_u32..9, 0..6), weights in vec(weight(), 0..6), sort in any::<bool>(),
        ) {
            let (mut ends, mut terms) = (ends, terms);
            if sort {
                ends.push(terms.len());
                ends.sort_unstable();
                terms.sort_unstable();
            }
            let fits = ends.is_sorted() && ends.last().map_or(0, |&end| end) == terms.len() && terms.len() == weights.len();
            let positive = weights.iter().all(|weight| *weight > 0.0 && *weight < f32::INFINITY);
            let inside = |place: usize| !ends.contains(&place);
            let ascend = (1..terms.len()).all(|place| !inside(place) || terms[place - 1] < terms[place]);
            match Rows::new(&ends, &terms, &weights) {
                Ok(rows) => {
                    prop_assert!(fits && positive && ascend);
                    prop_assert_eq!(rows.iter().map(|(terms, _)| terms.len()).sum::<usize>(), terms.len());
                }
                Err(_) => prop_assert!(!(fits && positive && ascend)),
            }
        }
    }
}
