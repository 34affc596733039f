//! Texts reduced to counts of terms. This is the costly part of a write; it needs no index and so no lock.

use super::lexicon::Lexicon;
use crate::text::for_each_term;

/// Some texts with a vocabulary of their own, so that an index looks up each distinct term once.
#[derive(Debug, Default)]
pub(super) struct Analysis {
    /// The distinct terms in the order in which they first appear.
    pub(super) lexicon: Lexicon,
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
    pub(super) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let Self { mut lexicon, texts: mut analysed, mut counts } = Self::default();
        // By term, where its latest count stands.
        let mut latest: Vec<usize> = Vec::new();
        for text in texts {
            let (start, mut length) = (counts.len(), 0);
            for_each_term(text, |term| {
                length += 1;
                let number = lexicon.intern(term);
                if number as usize == latest.len() {
                    latest.push(usize::MAX);
                }
                let place = &mut latest[number as usize];
                match counts.get_mut(*place) {
                    Some((_, frequency)) if *place >= start => *frequency += 1,
                    _ => {
                        *place = counts.len();
                        counts.push((number, 1));
                    }
                }
            });
            analysed.push(Text { length, end: counts.len() });
        }
        Self { lexicon, texts: analysed, counts }
    }

    /// Each text's length and its counts.
    pub(super) fn texts(&self) -> impl Iterator<Item = (u32, &[(u32, u32)])> + Clone {
        let mut start = 0;
        self.texts
            .iter()
            .map(move |text| (text.length, &self.counts[std::mem::replace(&mut start, text.end)..text.end]))
    }

    /// The distinct terms and their frequencies where all texts count as one: those of a query.
    pub(super) fn frequencies(&self) -> impl Iterator<Item = (&str, u32)> {
        self.counts.iter().map(|&(term, frequency)| (self.lexicon.term(term), frequency))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_text_by_itself() {
        let analysis = Analysis::of(["b a b", "", "c a"]);
        assert_eq!(analysis.lexicon.terms().map(|(term, _)| term).collect::<Vec<_>>(), ["b", "a", "c"]);
        let texts: Vec<_> = analysis.texts().collect();
        assert_eq!(texts, [(3, &[(0, 2), (1, 1)][..]), (0, &[]), (2, &[(2, 1), (1, 1)])]);
    }
}
