//! What fits a budget of tokens.

/// How much of a ranking fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// How many texts are kept, from the best ranked on.
    pub kept: usize,
    /// The tokens of the kept texts.
    pub total: usize,
}

/// Drop the lowest ranked of the texts with these counts until the rest has at most `max_tokens`.
///
/// What is kept is the longest prefix that fits. A smaller text behind one that does not fit goes as well: rank decides,
/// not size. When the first alone is too large, nothing is kept.
pub fn fit_budget(counts: &[usize], max_tokens: usize) -> Budget {
    let mut budget = Budget { kept: 0, total: 0 };
    for &count in counts {
        match budget.total.checked_add(count) {
            Some(total) if total <= max_tokens => budget = Budget { kept: budget.kept + 1, total },
            _ => break,
        }
    }
    budget
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rank_decides_not_size() {
        assert_eq!(fit_budget(&[50, 80, 10], 100), Budget { kept: 1, total: 50 });
        assert_eq!(fit_budget(&[101, 1], 100), Budget { kept: 0, total: 0 });
        assert_eq!(fit_budget(&[usize::MAX, 1], usize::MAX), Budget { kept: 1, total: usize::MAX });
        assert_eq!(fit_budget(&[], 100), Budget { kept: 0, total: 0 });
    }

    proptest! {
        #[test]
        fn equals_dropping_from_the_end(counts in proptest::collection::vec(0_usize..50, 0..20), max_tokens in 0_usize..300) {
            let mut rest = counts.clone();
            while rest.iter().sum::<usize>() > max_tokens {
                rest.pop();
            }
            let budget = fit_budget(&counts, max_tokens);
            prop_assert_eq!(budget, Budget { kept: rest.len(), total: rest.iter().sum() });
        }
    }
}
