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

/// `k1 · (1 − b + b · length / average)` by length.
#[derive(Debug)]
pub(super) struct Norms {
    parameters: Parameters,
    average: f64,
    /// The norms of short chunks, which are nearly all.
    short: Vec<f64>,
}

impl Norms {
    /// Norms of a collection; `longest` bounds the lengths that will be asked for.
    pub(super) fn new(parameters: Parameters, chunks: u64, total_length: u64, longest: u32) -> Self {
        const TABLE: u32 = 4096;
        let mut norms = Self { parameters, average: total_length as f64 / chunks as f64, short: Vec::new() };
        norms.short = (0..TABLE.min(longest.saturating_add(1))).map(|length| norms.compute(length)).collect();
        norms
    }

    #[inline]
    pub(super) fn of(&self, length: u32) -> f64 {
        match self.short.get(length as usize) {
            Some(&norm) => norm,
            None => self.compute(length),
        }
    }

    fn compute(&self, length: u32) -> f64 {
        let Parameters { k1, b } = self.parameters;
        k1 * (1.0 - b + b * f64::from(length) / self.average)
    }
}
