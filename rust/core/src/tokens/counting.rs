//! Counting the tokens of many texts.

use super::Encoding;
use crate::pool;

/// Total bytes from which the texts are worth dividing among threads: a fifth of a millisecond of counting, several times
/// what it takes to wake a thread.
const PARALLEL_BYTES: usize = 32 * 1024;

/// The most parts that a thread's share comes in, so that a thread that is held up holds up little.
const PARTS: usize = 4;

/// The number of tokens of each text, in order.
pub fn count_many<T: AsRef<str> + Sync>(encoding: Encoding, texts: &[T]) -> Vec<usize> {
    let bytes: usize = texts.iter().map(|text| text.as_ref().len()).sum();
    let divide = bytes >= PARALLEL_BYTES && texts.len() > 1;
    let Some(threads) = divide.then(pool::threads).flatten() else {
        return counts(encoding, texts);
    };
    let parts: Vec<&[T]> = texts.chunks(texts.len().div_ceil(threads.current_num_threads() * PARTS)).collect();
    pool::divided(threads, parts.len(), |part| counts(encoding, parts[part])).concat()
}

fn counts<T: AsRef<str>>(encoding: Encoding, texts: &[T]) -> Vec<usize> {
    texts.iter().map(|text| encoding.count(text.as_ref())).collect()
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
