//! Memory that is scanned from end to end: pages of its own, of 2 MiB where the system has them.
//!
//! A scan of 4 KiB pages is bound by address translation; on pages of 2 MiB it runs at the speed of the memory. Linux
//! gives such pages to a mapping that asks for them (`MADV_HUGEPAGE`), as it is written to; other systems decide
//! for themselves. Pages that were never written to take no memory.

use std::alloc::{Layout, handle_alloc_error};
use std::marker::PhantomData;

use bytemuck::Pod;
use memmap2::{MmapMut, MmapOptions};

/// A huge page. Less than this grows by doubling; from here on the whole of a mapping is reserved at once.
const HUGE: usize = 2 << 20;

/// The least that is mapped.
const SMALLEST: usize = 1 << 12;

/// A vector of numbers that starts at a page and grows up to a limit.
#[derive(Debug)]
pub(super) struct Memory<T> {
    map: Option<MmapMut>,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Pod> Memory<T> {
    pub(super) fn new() -> Self {
        Self { map: None, len: 0, kind: PhantomData }
    }

    pub(super) fn as_slice(&self) -> &[T] {
        self.map.as_ref().map_or(&[], |map| &bytemuck::cast_slice(map)[..self.len])
    }

    /// Append `values`; at most `limit` numbers will ever be here.
    pub(super) fn extend(&mut self, values: &[T], limit: usize) {
        let end = self.len + values.len();
        let capacity = self.map.as_ref().map_or(0, |map| map.len() / size_of::<T>());
        if end > capacity {
            self.grow(end, limit);
        }
        if let Some(map) = &mut self.map {
            bytemuck::cast_slice_mut(map)[self.len..end].copy_from_slice(values);
        }
        self.len = end;
    }

    /// Have the system find the pages for `count` more numbers now, as far as they are mapped, rather than when they come.
    pub(super) fn populate(&self, count: usize) {
        #[cfg(target_os = "linux")]
        if let Some(map) = &self.map {
            let start = self.len * size_of::<T>();
            let bytes = (count * size_of::<T>()).min(map.len() - start);
            // Advice: where it is refused the pages come as they are written to.
            drop(map.advise_range(memmap2::Advice::PopulateWrite, start, bytes));
        }
    }

    /// Move to a mapping with room for `least` numbers: of twice the size while small, then of all that may come.
    fn grow(&mut self, least: usize, limit: usize) {
        let doubled = (least * size_of::<T>()).next_power_of_two().max(SMALLEST);
        let bytes = if doubled < HUGE { doubled } else { (limit * size_of::<T>()).next_multiple_of(HUGE) };
        let mut map = mapped(bytes);
        let old = bytemuck::cast_slice(self.as_slice());
        map[..old.len()].copy_from_slice(old);
        self.map = Some(map);
    }
}

/// Zeroes of their own; where there is no memory left this ends the process, as any allocation does.
fn mapped(bytes: usize) -> MmapMut {
    let Ok(map) = MmapOptions::new().len(bytes).no_reserve_swap().map_anon() else {
        handle_alloc_error(Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u8>()));
    };
    #[cfg(target_os = "linux")]
    if bytes >= HUGE {
        // Advice: a system without huge pages refuses it, and small pages serve.
        drop(map.advise(memmap2::Advice::HugePage));
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_appended_survives_growth() {
        const LIMIT: usize = 1 << 20;
        let (mut memory, mut wanted) = (Memory::new(), Vec::new());
        assert_eq!(memory.as_slice(), &[] as &[f32]);
        for step in 0..1000_u16 {
            let values = vec![f32::from(step); usize::from(step) % 1500];
            memory.populate(usize::from(step));
            memory.extend(&values, LIMIT);
            wanted.extend(values);
        }
        assert!(wanted.len() * size_of::<f32>() > HUGE / 2);
        assert_eq!(memory.as_slice(), wanted);
        assert!(memory.as_slice().as_ptr().addr().is_multiple_of(SMALLEST));
        memory.extend(&vec![0.5; LIMIT - wanted.len()], LIMIT);
        memory.populate(LIMIT);
        assert_eq!((memory.as_slice().len(), memory.as_slice()[LIMIT - 1].to_bits()), (LIMIT, 0.5_f32.to_bits()));
    }
}
