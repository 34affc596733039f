//! How a reader takes the lock that it shares with one writer.

use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard};

/// Wait while a writer has the state, but not long for one that waits itself for the end of a large batch of queries.
pub(crate) fn read<T>(state: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    const PATIENCE: Duration = Duration::from_millis(1);
    state.try_read_for(PATIENCE).unwrap_or_else(|| state.read_recursive())
}
