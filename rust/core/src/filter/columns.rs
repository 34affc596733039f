//! One sorted column a key: its values, and the slots that have each.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use roaring::{MultiOps, RoaringBitmap};
use rustc_hash::FxHashMap;

use super::predicate::{Predicate, Range};
use super::selection::Selection;
use super::{Metadata, Value};

/// The metadata of an index by column: key → value → slots.
#[derive(Debug, Default, Clone)]
pub struct Columns {
    by_key: FxHashMap<Box<str>, Column>,
}

#[derive(Debug, Default, Clone)]
struct Column {
    /// The slots that have the key.
    holding: RoaringBitmap,
    by_value: BTreeMap<Value, Slots>,
}

/// The slots of one value. Values that are unique, as instants often are, take no bitmap.
#[derive(Debug, Clone)]
enum Slots {
    One(u32),
    Many(RoaringBitmap),
}

impl Columns {
    /// Record a slot's metadata.
    pub fn insert(&mut self, slot: u32, metadata: &Metadata) {
        for (key, value) in metadata {
            let column = match self.by_key.get_mut(key) {
                Some(column) => column,
                None => self.by_key.entry(key.clone()).or_default(),
            };
            column.holding.insert(slot);
            match column.by_value.get_mut(value) {
                Some(slots) => slots.insert(slot),
                None => drop(column.by_value.insert(value.clone(), Slots::One(slot))),
            }
        }
    }

    /// The slots whose metadata equals every entry of `filter`; `None` stands for all of them (an empty filter).
    pub fn eligible(&self, filter: &Metadata) -> Option<RoaringBitmap> {
        let equal = filter.iter().map(|(key, value)| Selection::Only(self.equal(key, value)));
        match equal.reduce(Selection::and)? {
            Selection::Only(slots) | Selection::AllBut(slots) => Some(slots.into_owned()),
        }
    }

    /// The slots whose metadata fulfils a predicate.
    pub fn select(&self, predicate: &Predicate) -> Selection<'_> {
        let column = |key: &str| self.by_key.get(key);
        match predicate {
            Predicate::Equal(key, value) => Selection::Only(self.equal(key, value)),
            Predicate::In(key, values) => {
                let found = column(key).map(|column| values.iter().filter_map(|value| column.by_value.get(value)));
                Selection::Only(Cow::Owned(union(found.into_iter().flatten())))
            }
            Predicate::Within(key, range) => {
                let found = column(key).map(|column| column.within(range));
                Selection::Only(Cow::Owned(union(found.into_iter().flatten())))
            }
            Predicate::Exists(key) => {
                Selection::Only(column(key).map_or_else(Cow::default, |column| Cow::Borrowed(&column.holding)))
            }
            Predicate::Not(negated) => self.select(negated).complement(),
            Predicate::And(all) => all.iter().map(|each| self.select(each)).fold(Selection::all(), Selection::and),
            Predicate::Or(any) => {
                any.iter().map(|each| self.select(each)).fold(Selection::all().complement(), Selection::or)
            }
        }
    }

    /// Renumber after a compaction: `moved[slot]` is the new slot, `None` where it is gone.
    pub fn renumber(&mut self, moved: &[Option<u32>]) {
        let new_slot = |slot: u32| moved.get(slot as usize).copied().flatten();
        let renumbered = |slots: &RoaringBitmap| -> RoaringBitmap { slots.iter().filter_map(new_slot).collect() };
        self.by_key.retain(|_, column| {
            column.holding = renumbered(&column.holding);
            column.by_value.retain(|_, slots| match slots {
                Slots::One(slot) => new_slot(*slot).map(|new| *slot = new).is_some(),
                Slots::Many(many) => {
                    *many = renumbered(many);
                    !many.is_empty()
                }
            });
            !column.by_value.is_empty()
        });
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.by_key.clear();
    }

    fn equal(&self, key: &str, value: &Value) -> Cow<'_, RoaringBitmap> {
        match self.by_key.get(key).and_then(|column| column.by_value.get(value)) {
            Some(Slots::Many(slots)) => Cow::Borrowed(slots),
            Some(&Slots::One(slot)) => Cow::Owned(RoaringBitmap::from_iter([slot])),
            None => Cow::default(),
        }
    }
}

impl Column {
    fn within(&self, range: &Range) -> impl Iterator<Item = &Slots> {
        let from = (range.start(), Bound::Unbounded);
        self.by_value.range(from).take_while(|(value, _)| range.reaches(value)).map(|(_, slots)| slots)
    }
}

impl Slots {
    fn insert(&mut self, slot: u32) {
        match self {
            Self::One(first) if *first == slot => (),
            Self::One(first) => *self = Self::Many([*first, slot].into_iter().collect()),
            Self::Many(slots) => drop(slots.insert(slot)),
        }
    }
}

fn union<'a>(slots: impl Iterator<Item = &'a Slots>) -> RoaringBitmap {
    let mut single = Vec::new();
    let many = slots.filter_map(|slots| match slots {
        Slots::Many(slots) => Some(slots),
        &Slots::One(slot) => {
            single.push(slot);
            None
        }
    });
    let mut union = many.union();
    if !single.is_empty() {
        single.sort_unstable();
        union |= single.into_iter().collect::<RoaringBitmap>();
    }
    union
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(entries: &[(&str, Value)]) -> Metadata {
        entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect()
    }

    #[test]
    fn kinds_never_cross() {
        let mut columns = Columns::default();
        columns.insert(0, &metadata(&[("flag", Value::Bool(true))]));
        columns.insert(1, &metadata(&[("flag", Value::Number(1.0))]));
        columns.insert(2, &metadata(&[("flag", Value::Text("true".into()))]));
        columns.insert(3, &metadata(&[("flag", Value::Instant(1))]));
        for (slot, value) in [Value::Bool(true), Value::Number(1.0), Value::Text("true".into()), Value::Instant(1)]
            .into_iter()
            .enumerate()
        {
            let found = columns.eligible(&metadata(&[("flag", value)]));
            assert_eq!(found.map(|slots| slots.iter().collect::<Vec<_>>()), Some(vec![slot as u32]));
        }
    }

    #[test]
    fn all_entries_must_hold_and_an_unknown_key_matches_nothing() {
        let mut columns = Columns::default();
        columns.insert(0, &metadata(&[("a", Value::Number(0.0)), ("b", Value::Number(2.0))]));
        columns.insert(1, &metadata(&[("a", Value::Number(-0.0))]));
        let found = |filter: &Metadata| columns.eligible(filter).map(|slots| slots.iter().collect::<Vec<_>>());
        assert_eq!(found(&metadata(&[("a", Value::Number(0.0))])), Some(vec![0, 1]));
        assert_eq!(found(&metadata(&[("a", Value::Number(0.0)), ("b", Value::Number(2.0))])), Some(vec![0]));
        assert_eq!(found(&metadata(&[("a", Value::Number(0.0)), ("c", Value::Number(2.0))])), Some(vec![]));
        assert_eq!(found(&metadata(&[])), None);
    }

    #[test]
    fn renumbering_follows_the_moves() {
        let mut columns = Columns::default();
        for slot in 0..4 {
            columns.insert(slot, &metadata(&[("even", Value::Bool(slot % 2 == 0))]));
        }
        columns.renumber(&[None, Some(0), Some(1), None]);
        let even = columns.eligible(&metadata(&[("even", Value::Bool(true))]));
        assert_eq!(even.map(|slots| slots.iter().collect::<Vec<_>>()), Some(vec![1]));
    }
}
