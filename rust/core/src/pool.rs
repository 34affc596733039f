//! The threads for work that is worth dividing: a private pool, built at first use, that survives `fork`.
//!
//! The threads of a pool exist only in the process that started them: a child made by `fork` inherits the pool's memory
//! without its threads and would wait for ever. So the pool is kept by process id, and a child builds its own. The pool
//! of a parent is never dropped in a child, for dropping waits for the threads as well.

use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// One process's pool, and behind it the one of a forked child: entries are added, never changed.
struct Entry {
    process: u32,
    pool: Option<ThreadPool>,
    next: OnceLock<Box<Entry>>,
}

static FIRST: OnceLock<Box<Entry>> = OnceLock::new();

/// This process's threads, as many as there are cores or as `RAYON_NUM_THREADS` says.
///
/// `None` where there is one core only or where the system refuses threads: do the work in the calling thread then.
/// Nothing that runs in the pool may take a lock that its caller holds for writing.
pub fn threads() -> Option<&'static ThreadPool> {
    let process = process::id();
    let mut place = &FIRST;
    loop {
        match place.get() {
            Some(entry) if entry.process == process => return entry.pool.as_ref(),
            Some(entry) => place = &entry.next,
            // Built before it is set, so that a fork meanwhile finds the place empty rather than half initialised. Where
            // another thread was faster its pool is the one.
            None => drop(place.set(Box::new(Entry { process, pool: build(), next: OnceLock::new() }))),
        }
    }
}

/// `work(0)` to `work(count - 1)`, in order, by the pool's threads less one and the calling thread in its place.
///
/// Each thread takes the next number when it has done one, and the calling thread starts at once: it need not be woken.
pub fn divided<T: Send>(pool: &ThreadPool, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    divided_beside(pool, count, work, || ())
}

/// The same while the calling thread does something else first, so that no more threads run than there are cores: on a
/// machine with more, one that holds a lock might have to wait for a core while others wait for the lock.
pub fn divided_beside<T: Send>(
    pool: &ThreadPool,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    first: impl FnOnce(),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    let turns = || {
        let numbers =
            std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|&number| number < count);
        numbers.for_each(|number| {
            let result = work(number);
            done.lock().push((number, result));
        });
    };
    pool.in_place_scope(|scope| {
        (1..pool.current_num_threads().min(count)).for_each(|_| scope.spawn(|_| turns()));
        first();
        turns();
    });
    let mut done = done.into_inner();
    done.sort_unstable_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, result)| result).collect()
}

fn build() -> Option<ThreadPool> {
    let pool = ThreadPoolBuilder::new().thread_name(|number| format!("ragstone-{number}")).build().ok()?;
    (pool.current_num_threads() > 1).then_some(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pool_a_process() {
        let (first, second) = (threads(), threads());
        assert_eq!(first.map(std::ptr::from_ref), second.map(std::ptr::from_ref));
        assert_eq!(first.map_or(7, |pool| pool.install(|| 3 + 4)), 7);
    }

    #[test]
    fn divided_work_comes_back_in_order_and_is_done_once() {
        let Some(pool) = threads() else { return };
        for count in [0, 1, 2, 1000] {
            let calls = AtomicUsize::new(0);
            let squares = divided(pool, count, |number| {
                calls.fetch_add(1, Ordering::Relaxed);
                number * number
            });
            assert_eq!(squares, (0..count).map(|number| number * number).collect::<Vec<_>>());
            assert_eq!(calls.into_inner(), count);
        }
    }
}
