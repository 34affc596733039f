//! Dot products of many rows with a few queries, in single precision.
//!
//! The instructions are chosen at run time: AVX-512 or AVX2 with fused multiply-add on x86-64, by tiles of rows and
//! queries; elsewhere one loop, written so that the compiler turns it into the target's own vector instructions (NEON on
//! `AArch64`). They differ in the last bits of a result, never by more than [`error_bound`].

mod codes;
mod element;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use codes::{PLANES, distances, products};
pub(super) use element::Element;

/// The most queries of a tile.
pub(super) const QUERIES: usize = 4;

/// Running sums of a dot product where a kernel has the fewest: those of one AVX2 register.
const FEWEST_LANES: usize = 8;

/// Running sums of the portable loop: four AVX2 registers, enough to hide the latency of an addition.
const LANES: usize = 32;

/// How far a score from [`scores`] can be from the exact dot product of the same unit vectors, at most.
///
/// Each of at least 8 sums adds ⌈d/8⌉ products and a tree adds at most five more levels, so by the standard bound for
/// floating-point sums (Higham, *Accuracy and Stability of Numerical Algorithms*, §3.1) the error is below
/// (⌈d/8⌉ + 5 + 1)·u·Σ|aᵢbᵢ|, with u = 2⁻²⁴ and Σ|aᵢbᵢ| ≤ ‖a‖·‖b‖, about 1; rounding the query to single precision adds
/// one u. The bound is doubled, which covers what that leaves out: norms that are not quite 1, so that a cosine may have
/// to be clamped, and underflow.
pub(super) fn error_bound(dimensions: usize) -> f64 {
    (dimensions.div_ceil(FEWEST_LANES) + 8) as f64 * f64::from(f32::EPSILON)
}

/// The dot product of each of up to [`QUERIES`] queries with each of the rows that stand at `offsets` in `values`.
///
/// `out` takes the scores of the first query, then those of the second, and so on.
pub(super) fn scores<E: Element>(values: &[E], offsets: &[u32], queries: &[&[f32]], out: &mut [f32]) {
    match *queries {
        [a] => tiles(values, offsets, [a], out),
        [a, b] => tiles(values, offsets, [a, b], out),
        [a, b, c] => tiles(values, offsets, [a, b, c], out),
        [a, b, c, d] => tiles(values, offsets, [a, b, c, d], out),
        _ => debug_assert!(false, "{} queries", queries.len()),
    }
}

fn tiles<E: Element, const Q: usize>(values: &[E], offsets: &[u32], queries: [&[f32]; Q], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("fma")
        {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { tiles_avx512(values, offsets, queries, out) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
            // SAFETY: as above.
            return unsafe { tiles_avx2(values, offsets, queries, out) };
        }
    }
    tiles_portable(values, offsets, queries, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
fn tiles_avx512<E: Element, const Q: usize>(values: &[E], offsets: &[u32], queries: [&[f32]; Q], out: &mut [f32]) {
    let one = |row| queries.map(|query| x86::dot_avx512(row, query));
    if Q == 1 {
        return each_tile(values, offsets, queries[0].len(), out, |[row]| one(row).map(|score| [score]), one);
    }
    // 16 registers of sums, 4 of rows, one of a query: AVX-512 has 32.
    each_tile(values, offsets, queries[0].len(), out, |rows| x86::tile_avx512::<E, Q>(rows, queries), one);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn tiles_avx2<E: Element, const Q: usize>(values: &[E], offsets: &[u32], queries: [&[f32]; Q], out: &mut [f32]) {
    let one = |row| queries.map(|query| x86::dot_avx2(row, query));
    if Q == 1 {
        return each_tile(values, offsets, queries[0].len(), out, |[row]| one(row).map(|score| [score]), one);
    }
    // 8 registers of sums, 2 of rows, one of a query: AVX2 has 16.
    each_tile(values, offsets, queries[0].len(), out, |rows| x86::tile_avx2::<E, 2, Q>(rows, queries), one);
}

fn tiles_portable<E: Element, const Q: usize>(values: &[E], offsets: &[u32], queries: [&[f32]; Q], out: &mut [f32]) {
    let one = |row| queries.map(|query| dot(row, query));
    each_tile(values, offsets, queries[0].len(), out, |[row]| one(row).map(|score| [score]), one);
}

/// `R` rows at a time, then what is left one by one.
#[expect(clippy::inline_always, reason = "compiled anew into each kernel")]
#[inline(always)]
fn each_tile<'a, E, const R: usize, const Q: usize>(
    values: &'a [E],
    offsets: &[u32],
    dimensions: usize,
    out: &mut [f32],
    tile: impl Fn([&'a [E]; R]) -> [[f32; R]; Q],
    single: impl Fn(&'a [E]) -> [f32; Q],
) {
    let row = |offset: u32| &values[offset as usize * dimensions..][..dimensions];
    let (groups, rest) = offsets.as_chunks::<R>();
    let count = offsets.len();
    for (number, group) in groups.iter().enumerate() {
        for (query, scores) in tile(group.map(row)).iter().enumerate() {
            out[query * count + number * R..][..R].copy_from_slice(scores);
        }
    }
    for (place, &offset) in (groups.len() * R..).zip(rest) {
        for (query, score) in single(row(offset)).into_iter().enumerate() {
            out[query * count + place] = score;
        }
    }
}

fn dot<E: Element>(row: &[E], query: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (row_blocks, row_rest) = row.as_chunks::<LANES>();
    let (query_blocks, query_rest) = query.as_chunks::<LANES>();
    for (a, b) in row_blocks.iter().zip(query_blocks) {
        for lane in 0..LANES {
            sums[lane] = multiply_add(a[lane].single(), b[lane], sums[lane]);
        }
    }
    for ((sum, a), b) in sums.iter_mut().zip(row_rest).zip(query_rest) {
        *sum += a.single() * b;
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
    }
    sums[0]
}

#[inline]
fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    // Where the target has no fused instruction, asking for one would call a slow library function.
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) { a.mul_add(b, c) } else { a * b + c }
}

/// The dot product of a stored vector and a query in double precision, in one order of additions on every machine.
pub(super) fn exact<E: Element>(row: &[E], query: &[f64]) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
        // SAFETY: the processor has the features that the function is compiled for; its body is safe code.
        return unsafe { exact_avx2(row, query) };
    }
    exact_portable(row, query)
}

/// [`exact_portable`] compiled for AVX2: the same operations in the same order, four doubles at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
fn exact_avx2<E: Element>(row: &[E], query: &[f64]) -> f64 {
    exact_portable(row, query)
}

#[inline(always)]
fn exact_portable<E: Element>(row: &[E], query: &[f64]) -> f64 {
    const WIDTH: usize = 8;
    let mut sums = [0.0_f64; WIDTH];
    let (row_blocks, row_rest) = row.as_chunks::<WIDTH>();
    let (query_blocks, query_rest) = query.as_chunks::<WIDTH>();
    for (a, b) in row_blocks.iter().zip(query_blocks) {
        for lane in 0..WIDTH {
            sums[lane] += f64::from(a[lane].single()) * b[lane];
        }
    }
    for ((sum, &a), b) in sums.iter_mut().zip(row_rest).zip(query_rest) {
        *sum += f64::from(a.single()) * b;
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests;
