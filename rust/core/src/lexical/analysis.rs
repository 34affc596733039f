//! Texts reduced to counts of terms. This is the costly part of a write; it needs no index and so no lock.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::pool;
use crate::text::for_each_term;

/// Some texts with a vocabulary of their own, so that an index looks up each distinct term once.
#[derive(Debug, Default)]
pub(super) struct Analysis {
    /// The distinct terms in the order in which they first appear; their numbers are their places.
    pub(super) terms: Vec<Box<str>>,
    texts: Vec<Text>,
    /// (term, frequency) of each text's distinct terms, one text after the other.
    counts: Vec<(u32, u32)>,
}

#[derive(Debug)]
struct Text {
    length: u32,
    /// Where its counts end.
    end: usize,
}

impl Analysis {
    /// Analyse texts in the calling thread.
    pub(super) fn of(texts: &[&str]) -> Self {
        let mut analysis = Self::default();
        let mut numbers: FxHashMap<Box<str>, u32> = FxHashMap::default();
        // By term, where its latest count stands.
        let mut latest: Vec<usize> = Vec::new();
        for text in texts {
            let (start, mut length) = (analysis.counts.len(), 0);
            for_each_term(text, |term| {
                length += 1;
                let number = numbers.get(term).copied().unwrap_or_else(|| {
                    let number = latest.len() as u32;
                    numbers.insert(term.into(), number);
                    latest.push(usize::MAX);
                    number
                });
                let place = &mut latest[number as usize];
                match analysis.counts.get_mut(*place) {
                    Some((_, frequency)) if *place >= start => *frequency += 1,
                    _ => {
                        *place = analysis.counts.len();
                        analysis.counts.push((number, 1));
                    }
                }
            });
            analysis.texts.push(Text { length, end: analysis.counts.len() });
        }
        let mut terms: Vec<(Box<str>, u32)> = numbers.into_iter().collect();
        terms.sort_unstable_by_key(|&(_, number)| number);
        analysis.terms = terms.into_iter().map(|(term, _)| term).collect();
        analysis
    }

    /// Analyse many texts in slices, by all cores where there are several; the slices keep the texts' order.
    pub(super) fn of_many(texts: &[&str]) -> Vec<Self> {
        const SLICE: usize = 1024;
        match pool::threads().filter(|_| texts.len() > SLICE) {
            Some(threads) => threads.install(|| texts.par_chunks(SLICE).map(Self::of).collect()),
            None => texts.chunks(SLICE).map(Self::of).collect(),
        }
    }

    /// Each text's length and its counts.
    pub(super) fn texts(&self) -> impl Iterator<Item = (u32, &[(u32, u32)])> {
        let mut start = 0;
        self.texts
            .iter()
            .map(move |text| (text.length, &self.counts[std::mem::replace(&mut start, text.end)..text.end]))
    }

    /// The distinct terms and their frequencies where all texts count as one: those of a query.
    pub(super) fn frequencies(&self) -> impl Iterator<Item = (&str, u32)> {
        self.counts.iter().map(|&(term, frequency)| (&*self.terms[term as usize], frequency))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_text_by_itself() {
        let analysis = Analysis::of(&["b a b", "", "c a"]);
        assert_eq!(analysis.terms.iter().map(AsRef::as_ref).collect::<Vec<_>>(), ["b", "a", "c"]);
        let texts: Vec<_> = analysis.texts().collect();
        assert_eq!(texts, [(3, &[(0, 2), (1, 1)][..]), (0, &[]), (2, &[(2, 1), (1, 1)])]);
    }

    #[test]
    fn slices_keep_the_order() {
        let texts: Vec<String> = (0..2000).map(|number| format!("n{number} shared")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let slices = Analysis::of_many(&texts);
        assert!(slices.len() > 1);
        let first_terms: Vec<String> = slices
            .iter()
            .flat_map(|slice| slice.texts().map(|(_, counts)| slice.terms[counts[0].0 as usize].to_string()))
            .collect();
        assert_eq!(first_terms, (0..2000).map(|number| format!("n{number}")).collect::<Vec<_>>());
    }
}
