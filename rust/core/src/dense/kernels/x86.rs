//! Dot products in the registers of x86-64.
//!
//! A tile multiplies some rows by some queries at a time: each product has one register of running sums, and a row is read
//! once for all of the queries, a query once for all of the rows.

use std::arch::x86_64::{
    __m256, __m512, _MM_HINT_T0, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps, _mm_prefetch, _mm_shuffle_ps,
    _mm_storeu_ps, _mm256_add_ps, _mm256_castps256_ps128, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_hadd_ps,
    _mm256_setzero_ps, _mm512_add_ps, _mm512_castps512_ps256, _mm512_extractf32x8_ps, _mm512_fmadd_ps,
    _mm512_setzero_ps,
};

use super::element::Element;

/// Ask for what the next tile most likely reads, the rows that follow these; asking in vain does no harm.
#[inline]
fn prefetch<T>(numbers: *const T) {
    // SAFETY: a hint; nothing is read.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(numbers.cast()) };
}

/// The dot products of `R` rows with `Q` queries by AVX2.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn tile_avx2<E: Element, const R: usize, const Q: usize>(
    rows: [&[E]; R],
    queries: [&[f32]; Q],
) -> [[f32; R]; Q] {
    let ahead = R * queries[0].len();
    let blocks = queries[0].len() / 8;
    let row_blocks = rows.map(|row| &row.as_chunks::<8>().0[..blocks]);
    let query_blocks = queries.map(|query| &query.as_chunks::<8>().0[..blocks]);
    let mut sums = [[_mm256_setzero_ps(); R]; Q];
    for block in 0..blocks {
        let mut numbers = [_mm256_setzero_ps(); R];
        for (numbers, row) in numbers.iter_mut().zip(&row_blocks) {
            // SAFETY: each row has as many blocks, and this function is compiled for the features that a load needs.
            let block = unsafe { row.get_unchecked(block) };
            prefetch(block.as_ptr().wrapping_add(ahead));
            // SAFETY: as above.
            *numbers = unsafe { E::load_8(block) };
        }
        for (sums, query) in sums.iter_mut().zip(&query_blocks) {
            // SAFETY: as above.
            let query = unsafe { f32::load_8(query.get_unchecked(block)) };
            for (sum, numbers) in sums.iter_mut().zip(numbers) {
                *sum = _mm256_fmadd_ps(numbers, query, *sum);
            }
        }
    }
    let mut totals = [[0.0; R]; Q];
    for ((totals, sums), query) in totals.iter_mut().zip(sums).zip(queries) {
        for ((total, sum), row) in totals.iter_mut().zip(sums).zip(rows) {
            *total = total_256(rest_avx2(&row[blocks * 8..], &query[blocks * 8..], sum));
        }
    }
    totals
}

/// The dot product of one row with one query by AVX2: a single stream, which the processor foresees.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn dot_avx2<E: Element>(row: &[E], query: &[f32]) -> f32 {
    let (row_blocks, row_rest) = row.as_chunks::<32>();
    let (query_blocks, query_rest) = query.as_chunks::<32>();
    let mut sums = [_mm256_setzero_ps(); 4];
    for (a, b) in row_blocks.iter().zip(query_blocks) {
        let parts = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
        for (sum, (a, b)) in sums.iter_mut().zip(parts) {
            // SAFETY: this function is compiled for the features that a load needs.
            *sum = unsafe { _mm256_fmadd_ps(E::load_8(a), f32::load_8(b), *sum) };
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(row_rest.chunks(8).zip(query_rest.chunks(8))) {
        *sum = rest_avx2(a, b, *sum);
    }
    let [a, b, c, d] = sums;
    total_256(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)))
}

/// Up to 8 products more.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn rest_avx2<E: Element>(row: &[E], query: &[f32], sum: __m256) -> __m256 {
    if row.is_empty() {
        return sum;
    }
    let (mut a, mut b) = ([E::zeroed(); 8], [0.0; 8]);
    a[..row.len()].copy_from_slice(row);
    b[..query.len()].copy_from_slice(query);
    // SAFETY: this function is compiled for the features that a load needs.
    unsafe { _mm256_fmadd_ps(E::load_8(&a), f32::load_8(&b), sum) }
}

/// The dot products of four rows with `Q` queries by AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
pub(super) fn tile_avx512<E: Element, const Q: usize>(rows: [&[E]; 4], queries: [&[f32]; Q]) -> [[f32; 4]; Q] {
    let ahead = 4 * queries[0].len();
    let blocks = queries[0].len() / 16;
    let row_blocks = rows.map(|row| &row.as_chunks::<16>().0[..blocks]);
    let query_blocks = queries.map(|query| &query.as_chunks::<16>().0[..blocks]);
    let mut sums = [[_mm512_setzero_ps(); 4]; Q];
    for block in 0..blocks {
        let mut numbers = [_mm512_setzero_ps(); 4];
        for (numbers, row) in numbers.iter_mut().zip(&row_blocks) {
            // SAFETY: each row has as many blocks, and this function is compiled for the features that a load needs.
            let block = unsafe { row.get_unchecked(block) };
            prefetch(block.as_ptr().wrapping_add(ahead));
            // SAFETY: as above.
            *numbers = unsafe { E::load_16(block) };
        }
        for (sums, query) in sums.iter_mut().zip(&query_blocks) {
            // SAFETY: as above.
            let query = unsafe { f32::load_16(query.get_unchecked(block)) };
            for (sum, numbers) in sums.iter_mut().zip(numbers) {
                *sum = _mm512_fmadd_ps(numbers, query, *sum);
            }
        }
    }
    let mut totals = [[0.0; 4]; Q];
    for ((totals, mut sums), query) in totals.iter_mut().zip(sums).zip(queries) {
        if query.len() > blocks * 16 {
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = rest_avx512(&row[blocks * 16..], &query[blocks * 16..], *sum);
            }
        }
        *totals = totals_512(sums);
    }
    totals
}

/// The dot product of one row with one query by AVX-512: a single stream, which the processor foresees.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
pub(super) fn dot_avx512<E: Element>(row: &[E], query: &[f32]) -> f32 {
    let (row_blocks, row_rest) = row.as_chunks::<64>();
    let (query_blocks, query_rest) = query.as_chunks::<64>();
    let mut sums = [_mm512_setzero_ps(); 4];
    for (a, b) in row_blocks.iter().zip(query_blocks) {
        let parts = a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0);
        for (sum, (a, b)) in sums.iter_mut().zip(parts) {
            // SAFETY: this function is compiled for the features that a load needs.
            *sum = unsafe { _mm512_fmadd_ps(E::load_16(a), f32::load_16(b), *sum) };
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(row_rest.chunks(16).zip(query_rest.chunks(16))) {
        *sum = rest_avx512(a, b, *sum);
    }
    let [a, b, c, d] = sums;
    total_512(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)))
}

/// Up to 16 products more.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
fn rest_avx512<E: Element>(row: &[E], query: &[f32], sum: __m512) -> __m512 {
    if row.is_empty() {
        return sum;
    }
    let (mut a, mut b) = ([E::zeroed(); 16], [0.0; 16]);
    a[..row.len()].copy_from_slice(row);
    b[..query.len()].copy_from_slice(query);
    // SAFETY: this function is compiled for the features that a load needs.
    unsafe { _mm512_fmadd_ps(E::load_16(&a), f32::load_16(&b), sum) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn total_256(sums: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
}

/// The totals of four registers at once, which takes a third of the additions of one after the other.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2")]
fn totals_512([a, b, c, d]: [__m512; 4]) -> [f32; 4] {
    let half = |sums| _mm256_add_ps(_mm512_castps512_ps256(sums), _mm512_extractf32x8_ps::<1>(sums));
    let pairs = _mm256_hadd_ps(_mm256_hadd_ps(half(a), half(b)), _mm256_hadd_ps(half(c), half(d)));
    let four = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps::<1>(pairs));
    let mut totals = [0.0; 4];
    // SAFETY: the array is as long as the register.
    unsafe { _mm_storeu_ps(totals.as_mut_ptr(), four) };
    totals
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2")]
fn total_512(sums: __m512) -> f32 {
    total_256(_mm256_add_ps(_mm512_castps512_ps256(sums), _mm512_extractf32x8_ps::<1>(sums)))
}
