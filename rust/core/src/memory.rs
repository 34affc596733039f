//! What containers take.

use rustc_hash::FxHashMap;

/// The elements of a vector.
pub(crate) fn vector<T>(vector: &Vec<T>) -> usize {
    vector.capacity() * size_of::<T>()
}

/// The entries of a map: a power of two of places, of which seven in eight may be taken, with a byte more for each.
pub(crate) fn map<K, V>(map: &FxHashMap<K, V>) -> usize {
    (map.capacity() * 8 / 7) * (size_of::<(K, V)>() + 1)
}
