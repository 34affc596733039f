//! One bitmap of slots for each value of each key.

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::{Metadata, Value};

/// The metadata of an index by column: key → value → slots.
#[derive(Debug, Default, Clone)]
pub struct Columns {
    by_key: FxHashMap<Box<str>, FxHashMap<Value, RoaringBitmap>>,
}

impl Columns {
    /// Record a slot's metadata.
    pub fn insert(&mut self, slot: u32, metadata: &Metadata) {
        for (key, value) in metadata {
            self.by_key.entry(key.clone()).or_default().entry(value.clone()).or_default().insert(slot);
        }
    }

    /// The slots whose metadata equals every entry of `filter`; `None` stands for all of them (an empty filter).
    pub fn eligible(&self, filter: &Metadata) -> Option<RoaringBitmap> {
        let mut entries = filter.iter();
        let (key, value) = entries.next()?;
        let mut eligible = self.column(key, value).cloned().unwrap_or_default();
        for (key, value) in entries {
            match self.column(key, value) {
                Some(slots) => eligible &= slots,
                None => eligible.clear(),
            }
        }
        Some(eligible)
    }

    /// Renumber after a compaction: `moved[slot]` is the new slot, `None` where it is gone.
    pub fn renumber(&mut self, moved: &[Option<u32>]) {
        let new_slot = |slot: u32| moved.get(slot as usize).copied().flatten();
        self.by_key.retain(|_, column| {
            column.retain(|_, slots| {
                *slots = slots.iter().filter_map(new_slot).collect();
                !slots.is_empty()
            });
            !column.is_empty()
        });
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.by_key.clear();
    }

    fn column(&self, key: &str, value: &Value) -> Option<&RoaringBitmap> {
        self.by_key.get(key)?.get(value)
    }
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
