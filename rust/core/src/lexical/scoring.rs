//! The factors of a score. This is the only place that computes them.

use crate::error::{Error, Result};

/// The two constants of BM25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parameters {
    /// How slowly repeated terms saturate: at least 0, where 0 counts presence only.
    pub(super) k1: f64,
    /// How much length counts: from 0, not at all, to 1, in full.
    pub(super) b: f64,
}

impl Parameters {
    pub(super) fn new(k1: f64, b: f64) -> Result<Self> {
        if !(k1.is_finite() && k1 >= 0.0) {
            return Err(Error::Parameter {
                field: "k1",
                value: k1.to_string(),
                limit: "a finite number of at least 0",
            });
        }
        if !(0.0..=1.0).contains(&b) {
            return Err(Error::Parameter { field: "b", value: b.to_string(), limit: "between 0 and 1" });
        }
        Ok(Self { k1, b })
    }

    /// What a chunk's length weighs against a frequency: `k1 · (1 − b + b · length / average)`.
    #[inline]
    pub(super) fn norm(self, length: u32, average: f64) -> f64 {
        self.k1 * (1.0 - self.b + self.b * f64::from(length) / average)
    }
}

/// The inverse document frequency of a term that `holding` of `chunks` chunks hold; always positive.
pub(super) fn idf(chunks: u64, holding: u32) -> f64 {
    let (chunks, holding) = (chunks as f64, f64::from(holding));
    (1.0 + (chunks - holding + 0.5) / (holding + 0.5)).ln()
}

/// How far a term's frequency saturates, in (0, 1].
#[inline]
pub(super) fn saturation(frequency: u32, norm: f64) -> f64 {
    let frequency = f64::from(frequency);
    frequency / (frequency + norm)
}

/// The saturations of one collection at one moment, tabled for short chunks and small frequencies, which are nearly all.
#[derive(Debug)]
pub(super) struct Saturations {
    parameters: Parameters,
    average: f64,
    /// By length: the norm, then the saturation of each small frequency; a row is one cache line.
    rows: Vec<[f64; ROW]>,
}

const ROW: usize = 8;

impl Saturations {
    /// Those of a collection of this average length; `longest` bounds the lengths that will be asked for.
    pub(super) fn new(parameters: Parameters, average: f64, longest: u32) -> Self {
        const ROWS: u32 = 1024;
        let row = |length| {
            let norm = parameters.norm(length, average);
            std::array::from_fn(|frequency| if frequency == 0 { norm } else { saturation(frequency as u32, norm) })
        };
        Self { parameters, average, rows: (0..ROWS.min(longest.saturating_add(1))).map(row).collect() }
    }

    /// The saturation of a frequency, at least 1, in a chunk of this length.
    #[inline]
    pub(super) fn of(&self, frequency: u32, length: u32) -> f64 {
        match self.rows.get(length as usize) {
            Some(row) if (frequency as usize) < ROW => row[frequency as usize],
            Some(row) => saturation(frequency, row[0]),
            None => saturation(frequency, self.parameters.norm(length, self.average)),
        }
    }
}
