//! Counting the tokens of many texts.

use rayon::prelude::*;

use super::Encoding;
use crate::pool;

/// Total bytes from which the texts are worth dividing among threads: some milliseconds of counting.
const PARALLEL_BYTES: usize = 128 * 1024;

/// The number of tokens of each text, in order.
pub fn count_many<T: AsRef<str> + Sync>(encoding: Encoding, texts: &[T]) -> Vec<usize> {
    let count = |text: &T| encoding.count(text.as_ref());
    let bytes: usize = texts.iter().map(|text| text.as_ref().len()).sum();
    let divide = bytes >= PARALLEL_BYTES && texts.len() > 1;
    match divide.then(pool::threads).flatten() {
        Some(threads) => threads.install(|| texts.par_iter().map(count).collect()),
        None => texts.iter().map(count).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_count_as_one() {
        let texts: Vec<String> = (0..400).map(|i| format!("text {i}: {}", "déjà vu, twice over. ".repeat(i))).collect();
        let bytes: usize = texts.iter().map(String::len).sum();
        assert!(bytes > PARALLEL_BYTES);
        for encoding in [Encoding::Cl100kBase, Encoding::O200kBase] {
            let alone: Vec<usize> = texts.iter().map(|text| encoding.count(text)).collect();
            assert_eq!(count_many(encoding, &texts), alone);
        }
    }

    #[test]
    fn special_tokens_are_text() {
        let texts = ["a <|endoftext|> b", "<|endoftext|>", ""];
        assert_eq!(count_many(Encoding::Cl100kBase, &texts), [8, 7, 0]);
    }
}
