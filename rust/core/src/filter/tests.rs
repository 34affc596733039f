//! Predicates on columns against their meaning, chunk by chunk.

use std::borrow::Cow;
use std::ops::Bound;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::{Columns, Metadata, Predicate, Range, Selection, Value};

/// A condition as it is meant, without columns: keys and values are few, so that they meet.
#[derive(Debug, Clone)]
enum Asked {
    Equal(&'static str, Value),
    In(&'static str, Vec<Value>),
    Above(&'static str, Value),
    AtLeast(&'static str, Value),
    Below(&'static str, Value),
    AtMost(&'static str, Value),
    Between(&'static str, Value, Value),
    Exists(&'static str),
    Not(Box<Asked>),
    And(Vec<Asked>),
    Or(Vec<Asked>),
}

/// Order within a kind; `None` across kinds and for booleans.
fn order(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.chars().partial_cmp(b.chars()),
        (Value::Number(a), Value::Number(b)) => a.partial_cmp(b),
        (Value::Instant(a), Value::Instant(b)) => a.partial_cmp(b),
        _ => None,
    }
}

fn same(a: &Value, b: &Value) -> bool {
    matches!((a, b), (Value::Bool(a), Value::Bool(b)) if a == b) || order(a, b).is_some_and(std::cmp::Ordering::is_eq)
}

impl Asked {
    fn holds(&self, metadata: &Metadata) -> bool {
        let held = |key: &str| metadata.iter().find(|(held, _)| &**held == key).map(|(_, value)| value);
        let ordered = |key: &str, to: &Value| held(key).and_then(|value| order(value, to));
        match self {
            Self::Equal(key, value) => held(key).is_some_and(|held| same(held, value)),
            Self::In(key, values) => values.iter().any(|value| held(key).is_some_and(|held| same(held, value))),
            Self::Above(key, value) => ordered(key, value).is_some_and(std::cmp::Ordering::is_gt),
            Self::AtLeast(key, value) => ordered(key, value).is_some_and(std::cmp::Ordering::is_ge),
            Self::Below(key, value) => ordered(key, value).is_some_and(std::cmp::Ordering::is_lt),
            Self::AtMost(key, value) => ordered(key, value).is_some_and(std::cmp::Ordering::is_le),
            Self::Between(key, lower, upper) => {
                ordered(key, lower).is_some_and(std::cmp::Ordering::is_gt)
                    && ordered(key, upper).is_some_and(std::cmp::Ordering::is_le)
            }
            Self::Exists(key) => held(key).is_some(),
            Self::Not(negated) => !negated.holds(metadata),
            Self::And(all) => all.iter().all(|asked| asked.holds(metadata)),
            Self::Or(any) => any.iter().any(|asked| asked.holds(metadata)),
        }
    }

    fn predicate(&self) -> Predicate {
        let all = |asked: &[Self]| asked.iter().map(Self::predicate).collect();
        let within = |key: &str, lower, upper| Predicate::Within(key.into(), Range::new(lower, upper).unwrap());
        match self.clone() {
            Self::Equal(key, value) => Predicate::Equal(key.into(), value),
            Self::In(key, values) => Predicate::In(key.into(), values),
            Self::Above(key, value) => within(key, Bound::Excluded(value), Bound::Unbounded),
            Self::AtLeast(key, value) => within(key, Bound::Included(value), Bound::Unbounded),
            Self::Below(key, value) => within(key, Bound::Unbounded, Bound::Excluded(value)),
            Self::AtMost(key, value) => within(key, Bound::Unbounded, Bound::Included(value)),
            Self::Between(key, lower, upper) => within(key, Bound::Excluded(lower), Bound::Included(upper)),
            Self::Exists(key) => Predicate::Exists(key.into()),
            Self::Not(negated) => Predicate::Not(Box::new(negated.predicate())),
            Self::And(asked) => Predicate::And(all(&asked)),
            Self::Or(asked) => Predicate::Or(all(&asked)),
        }
    }
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "absent"])
}

fn text() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["", "a", "aa", "b", "é", "𝔸"]).prop_map(|text| Value::Text(text.into()))
}

fn number() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![-f64::MAX, -1.5, -0.0, 0.0, 1.0, 2.0, 9.0]).prop_map(Value::Number)
}

fn instant() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![i64::MIN, -1, 0, 1, 2, i64::MAX]).prop_map(Value::Instant)
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![text(), number(), instant(), any::<bool>().prop_map(Value::Bool)]
}

fn end() -> impl Strategy<Value = Value> {
    prop_oneof![text(), number(), instant()]
}

fn ends() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![(text(), text()), (number(), number()), (instant(), instant())]
}

fn asked() -> impl Strategy<Value = Asked> {
    let leaf = prop_oneof![
        (key(), value()).prop_map(|(key, value)| Asked::Equal(key, value)),
        (key(), vec(value(), 0..4)).prop_map(|(key, values)| Asked::In(key, values)),
        (key(), end()).prop_map(|(key, value)| Asked::Above(key, value)),
        (key(), end()).prop_map(|(key, value)| Asked::AtLeast(key, value)),
        (key(), end()).prop_map(|(key, value)| Asked::Below(key, value)),
        (key(), end()).prop_map(|(key, value)| Asked::AtMost(key, value)),
        (key(), ends()).prop_map(|(key, (lower, upper))| Asked::Between(key, lower, upper)),
        key().prop_map(Asked::Exists),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|asked| Asked::Not(Box::new(asked))),
            vec(inner.clone(), 0..4).prop_map(Asked::And),
            vec(inner, 0..4).prop_map(Asked::Or),
        ]
    })
}

fn metadata() -> impl Strategy<Value = Metadata> {
    btree_map(prop::sample::select(vec!["a", "b"]), value(), 0..3)
        .prop_map(|entries| entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn columns_select_what_the_predicate_means(
        chunks in vec((metadata(), any::<bool>()), 0..24), asked in vec(asked(), 1..4),
    ) {
        let mut columns = Columns::default();
        for (slot, (metadata, _)) in (0..).zip(&chunks) {
            columns.insert(slot, metadata);
        }
        let mut kept = 0..;
        let moved: Vec<Option<u32>> = chunks.iter().map(|(_, keep)| keep.then(|| kept.next()).flatten()).collect();
        let mut renumbered = columns.clone();
        renumbered.renumber(&moved);
        for asked in &asked {
            let predicate = asked.predicate();
            let (selected, after) = (columns.select(&predicate), renumbered.select(&predicate));
            let listed: Option<Vec<u32>> = selected.listed(1, 20).map(Iterator::collect);
            let counted = (1..=20).filter(|&slot| selected.contains(slot)).collect::<Vec<u32>>();
            prop_assert_eq!(selected.count(1, 20), counted.len() as u64);
            prop_assert!(listed.is_none_or(|listed| listed == counted));
            for ((slot, (metadata, _)), moved) in (0..).zip(&chunks).zip(&moved) {
                let holds = asked.holds(metadata);
                prop_assert_eq!(selected.contains(slot), holds, "{:?} of {:?}", predicate, metadata);
                if let Some(moved) = *moved {
                    prop_assert_eq!(after.contains(moved), holds);
                }
            }
        }
    }

    #[test]
    fn a_conjunction_of_equalities_is_the_plain_filter(
        chunks in vec(metadata(), 0..24), filter in metadata(),
    ) {
        let mut columns = Columns::default();
        for (slot, metadata) in (0..).zip(&chunks) {
            columns.insert(slot, metadata);
        }
        let eligible = columns.eligible(&filter);
        let selected = columns.select(&Predicate::from(filter));
        for slot in 0..chunks.len() as u32 {
            prop_assert_eq!(eligible.as_ref().is_none_or(|slots| slots.contains(slot)), selected.contains(slot));
        }
    }
}

#[test]
fn an_equality_borrows_its_slots() {
    let mut columns = Columns::default();
    let entry: Metadata = vec![("a".into(), Value::Bool(true))];
    columns.insert(3, &entry);
    columns.insert(70_000, &entry);
    let selected = columns.select(&Predicate::from(entry));
    assert!(matches!(&selected, Selection::Only(Cow::Borrowed(slots)) if slots.len() == 2));
    assert!(matches!(selected.complement(), Selection::AllBut(Cow::Borrowed(_))));
    assert!(matches!(columns.select(&Predicate::Exists("a".into())), Selection::Only(Cow::Borrowed(_))));
}
