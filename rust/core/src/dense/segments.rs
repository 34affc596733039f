//! Rows of one width by slot, in segments, so that growth never moves more than the first of them.

use bytemuck::Pod;
use roaring::RoaringBitmap;

use super::memory::Memory;

/// Slots of a segment.
pub(super) const SEGMENT: u32 = 65_536;

/// Rows of `width` numbers.
#[derive(Debug)]
pub(super) struct Segments<T> {
    width: usize,
    rows: u32,
    parts: Vec<Memory<T>>,
}

impl<T: Pod> Segments<T> {
    pub(super) fn new(width: usize) -> Self {
        Self { width, rows: 0, parts: Vec::new() }
    }

    /// How many numbers a row has.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The rows of a segment, one after the other.
    pub(super) fn segment(&self, segment: u32) -> &[T] {
        self.parts[segment as usize].as_slice()
    }

    pub(super) fn row(&self, slot: u32) -> &[T] {
        let start = (slot % SEGMENT) as usize * self.width;
        &self.segment(slot / SEGMENT)[start..start + self.width]
    }

    /// Append a row.
    pub(super) fn push(&mut self, row: &[T]) {
        debug_assert_eq!(row.len(), self.width);
        if self.rows.is_multiple_of(SEGMENT) {
            self.parts.push(Memory::new());
        }
        if let Some(segment) = self.parts.last_mut() {
            segment.extend(row, SEGMENT as usize * self.width);
        }
        self.rows += 1;
    }

    /// As [`Memory::populate`], for rows.
    pub(super) fn populate(&self, rows: usize) {
        if let Some(segment) = self.parts.last() {
            segment.populate(rows * self.width);
        }
    }

    /// The rows of these slots, in their order.
    pub(super) fn kept(&self, slots: &RoaringBitmap) -> Self {
        let mut kept = Self::new(self.width);
        slots.iter().for_each(|slot| kept.push(self.row(slot)));
        kept
    }
}
