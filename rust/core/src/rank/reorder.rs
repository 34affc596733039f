//! The order in which a language model reads best: what matters at both ends, what matters least in the middle.

/// Arrange ranked items 1, 3, 5, … 6, 4, 2.
///
/// Liu et al., "Lost in the Middle: How Language Models Use Long Contexts", TACL 2024.
pub fn lost_in_the_middle<T>(ranked: impl IntoIterator<Item = T>) -> Vec<T> {
    let (mut front, mut back) = (Vec::new(), Vec::new());
    for (place, item) in ranked.into_iter().enumerate() {
        if place % 2 == 0 { front.push(item) } else { back.push(item) }
    }
    front.extend(back.into_iter().rev());
    front
}

#[cfg(test)]
mod tests {
    use super::lost_in_the_middle;

    #[test]
    fn the_best_stand_at_both_ends() {
        assert_eq!(lost_in_the_middle(1..=6), [1, 3, 5, 6, 4, 2]);
        assert_eq!(lost_in_the_middle(1..=5), [1, 3, 5, 4, 2]);
        assert_eq!(lost_in_the_middle(1..=2), [1, 2]);
        assert_eq!(lost_in_the_middle(1..=1), [1]);
        assert!(lost_in_the_middle(0..0).is_empty());
    }
}
