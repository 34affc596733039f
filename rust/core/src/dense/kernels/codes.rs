//! Products of quantised rows with a quantised query, in whole numbers: the same on every processor.

/// Planes of bits in which a query is held against binary rows.
pub(in crate::dense) const PLANES: usize = 4;

/// The dot product of `query` with each of the rows of bytes at `offsets`; a row has as many as the query, a multiple of 64.
pub(in crate::dense) fn products(bytes: &[i8], offsets: &[u32], query: &[i8], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { products_vnni(bytes, offsets, query, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { products_avx2(bytes, offsets, query, out) };
        }
    }
    products_portable(bytes, offsets, query, out);
}

/// The sum over planes p of 2ᵖ times the number of bits in which a row differs from plane p, for each row at `offsets`.
///
/// `planes` holds [`PLANES`] rows of words, the least significant plane first.
pub(in crate::dense) fn distances(words: &[u64], offsets: &[u32], planes: &[u64], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    {
        let whole = planes.len().is_multiple_of(8 * PLANES);
        if whole && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { distances_avx512(words, offsets, planes, out) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
            // SAFETY: as above.
            return unsafe { distances_popcnt(words, offsets, planes, out) };
        }
    }
    distances_portable(words, offsets, planes, out);
}

#[expect(clippy::inline_always, reason = "compiled anew into each kernel")]
#[inline(always)]
fn each_row<T>(values: &[T], width: usize, offsets: &[u32], out: &mut [i32], row: impl Fn(&[T]) -> i32) {
    for (out, &offset) in out.iter_mut().zip(offsets) {
        *out = row(&values[offset as usize * width..][..width]);
    }
}

#[expect(clippy::inline_always, reason = "compiled anew into each kernel")]
#[inline(always)]
fn products_portable(bytes: &[i8], offsets: &[u32], query: &[i8], out: &mut [i32]) {
    each_row(bytes, query.len(), offsets, out, |row| {
        row.iter().zip(query).map(|(&a, &b)| i32::from(i16::from(a) * i16::from(b))).sum()
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn products_avx2(bytes: &[i8], offsets: &[u32], query: &[i8], out: &mut [i32]) {
    products_portable(bytes, offsets, query, out);
}

/// The instruction multiplies unsigned by signed bytes: rows are read as `row + 128`, and 128·Σ`query` is taken off again.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vnni")]
fn products_vnni(bytes: &[i8], offsets: &[u32], query: &[i8], out: &mut [i32]) {
    use std::arch::x86_64::{
        _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_reduce_add_epi32, _mm512_set1_epi32, _mm512_setzero_si512,
        _mm512_xor_si512,
    };
    // SAFETY: the array is as long as the register.
    let load = |block: &[i8; 64]| unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let shift = _mm512_set1_epi32(i32::from_ne_bytes([0x80; 4]));
    let excess = 128 * query.iter().map(|&code| i32::from(code)).sum::<i32>();
    each_row(bytes, query.len(), offsets, out, |row| {
        let mut sums = _mm512_setzero_si512();
        for (a, b) in row.as_chunks::<64>().0.iter().zip(query.as_chunks::<64>().0) {
            sums = _mm512_dpbusd_epi32(sums, _mm512_xor_si512(load(a), shift), load(b));
        }
        _mm512_reduce_add_epi32(sums) - excess
    });
}

#[expect(clippy::inline_always, reason = "compiled anew into each kernel")]
#[inline(always)]
fn distances_portable(words: &[u64], offsets: &[u32], planes: &[u64], out: &mut [i32]) {
    let width = planes.len() / PLANES;
    each_row(words, width, offsets, out, |row| {
        let differing = |plane: &[u64]| row.iter().zip(plane).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
        planes.chunks(width).zip(0..).map(|(plane, power)| differing(plane) << power).sum::<u32>().cast_signed()
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn distances_popcnt(words: &[u64], offsets: &[u32], planes: &[u64], out: &mut [i32]) {
    distances_portable(words, offsets, planes, out);
}

/// Rows of whole registers only.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn distances_avx512(words: &[u64], offsets: &[u32], planes: &[u64], out: &mut [i32]) {
    use std::arch::x86_64::{
        _mm512_add_epi64, _mm512_loadu_si512, _mm512_popcnt_epi64, _mm512_reduce_add_epi64, _mm512_setzero_si512,
        _mm512_slli_epi64, _mm512_xor_si512,
    };
    // SAFETY: the array is as long as the register.
    let load = |block: &[u64; 8]| unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let planes = planes.as_chunks::<8>().0;
    let blocks = planes.len() / PLANES;
    let (low, high) = planes.split_at(2 * blocks);
    let (ones, twos) = low.split_at(blocks);
    let (fours, eights) = high.split_at(blocks);
    each_row(words, blocks * 8, offsets, out, |row| {
        let mut sums = _mm512_setzero_si512();
        let planes = ones.iter().zip(twos).zip(fours).zip(eights);
        for (row, (((one, two), four), eight)) in row.as_chunks::<8>().0.iter().zip(planes) {
            let row = load(row);
            let differing = |plane| _mm512_popcnt_epi64(_mm512_xor_si512(row, load(plane)));
            let low = _mm512_add_epi64(differing(one), _mm512_slli_epi64::<1>(differing(two)));
            let high = _mm512_add_epi64(differing(four), _mm512_slli_epi64::<1>(differing(eight)));
            sums = _mm512_add_epi64(sums, _mm512_add_epi64(low, _mm512_slli_epi64::<2>(high)));
        }
        _mm512_reduce_add_epi64(sums) as i32
    });
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    type Kernel<T> = fn(&[T], &[u32], &[T], &mut [i32]);

    fn of<T>(kernel: Kernel<T>, rows: &[Vec<T>], query: &[T]) -> Vec<i32>
    where
        T: Clone,
    {
        let offsets: Vec<u32> = (0..rows.len() as u32).rev().collect();
        let mut out = vec![i32::MIN; rows.len()];
        kernel(&rows.concat(), &offsets, query, &mut out);
        out.reverse();
        out
    }

    fn byte_kernels() -> Vec<Kernel<i8>> {
        let mut kernels: Vec<Kernel<i8>> = vec![products];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            kernels.push(|bytes, offsets, query, out| unsafe { products_avx2(bytes, offsets, query, out) });
        }
        kernels
    }

    fn word_kernels() -> Vec<Kernel<u64>> {
        let mut kernels: Vec<Kernel<u64>> = vec![distances];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
            // SAFETY: the processor has the features.
            kernels.push(|words, offsets, planes, out| unsafe { distances_popcnt(words, offsets, planes, out) });
        }
        kernels
    }

    proptest! {
        #[test]
        fn products_are_those_of_the_portable_loop(
            (rows, query) in (1_usize..7).prop_flat_map(|blocks| {
                let code = prop_oneof![4 => -127_i8..=127, 1 => Just(-127), 1 => Just(127)];
                let row = vec(code, blocks * 64);
                (vec(row.clone(), 1..6), row)
            }),
        ) {
            let wanted = of(products_portable, &rows, &query);
            let plain = |row: &Vec<i8>| row.iter().zip(&query).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum::<i32>();
            prop_assert_eq!(&wanted, &rows.iter().map(plain).collect::<Vec<_>>());
            for kernel in byte_kernels() {
                prop_assert_eq!(&of(kernel, &rows, &query), &wanted);
            }
        }

        #[test]
        fn distances_are_those_of_the_portable_loop(
            (rows, planes) in prop_oneof![Just(1_usize), Just(4), Just(8), Just(16), Just(32)].prop_flat_map(|width| {
                (vec(vec(any::<u64>(), width), 1..6), vec(any::<u64>(), width * PLANES))
            }),
        ) {
            let wanted = of(distances_portable, &rows, &planes);
            for kernel in word_kernels() {
                prop_assert_eq!(&of(kernel, &rows, &planes), &wanted);
            }
        }
    }
}
