//! Dot products of many rows with one query, in single precision.
//!
//! There is one loop, written so that the compiler turns it into vector instructions: `LANES` running sums, added up in a
//! fixed tree. It is compiled twice on x86-64, once for any processor and once for AVX2 with fused multiply-add, chosen at
//! run time; elsewhere (NEON on `AArch64`) the target's own instructions serve. The two differ in the last bits of a result,
//! never by more than [`error_bound`].

/// Running sums of a dot product: four AVX2 registers, enough to hide the latency of an addition.
const LANES: usize = 32;

/// How far a score from [`scores`] can be from the exact dot product of the same unit vectors, at most.
///
/// Each of the `LANES` sums adds ⌈d/32⌉ products and the tree adds five more levels, so by the standard bound for
/// floating-point sums (Higham, *Accuracy and Stability of Numerical Algorithms*, §3.1) the error is below
/// (⌈d/32⌉ + 5 + 1)·u·Σ|aᵢbᵢ|, with u = 2⁻²⁴ and Σ|aᵢbᵢ| ≤ ‖a‖·‖b‖, about 1; rounding the query to single precision adds
/// one u. The bound is doubled, which covers what that leaves out: norms that are not quite 1, so that a cosine may have
/// to be clamped, and underflow.
pub(super) fn error_bound(dimensions: usize) -> f64 {
    (dimensions.div_ceil(LANES) + 8) as f64 * f64::from(f32::EPSILON)
}

/// The dot product of `query` with each of `rows`, the rows that stand at `offsets` in `values`.
pub(super) fn scores(values: &[f32], offsets: &[u32], query: &[f32], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the features that the function is compiled for; its body is safe code.
        unsafe { scores_avx2(values, offsets, query, out) };
        return;
    }
    scores_portable(values, offsets, query, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn scores_avx2(values: &[f32], offsets: &[u32], query: &[f32], out: &mut [f32]) {
    each_row::<true>(values, offsets, query, out);
}

fn scores_portable(values: &[f32], offsets: &[u32], query: &[f32], out: &mut [f32]) {
    // Where the target has no fused instruction, asking for one would call a slow library function.
    each_row::<{ cfg!(any(target_arch = "aarch64", target_feature = "fma")) }>(values, offsets, query, out);
}

#[expect(clippy::inline_always, reason = "the loop must be compiled with the caller's target features")]
#[inline(always)]
fn each_row<const FUSED: bool>(values: &[f32], offsets: &[u32], query: &[f32], out: &mut [f32]) {
    let dimensions = query.len();
    for (score, &offset) in out.iter_mut().zip(offsets) {
        let start = offset as usize * dimensions;
        *score = dot::<FUSED>(&values[start..start + dimensions], query);
    }
}

#[expect(clippy::inline_always, reason = "the loop must be compiled with the caller's target features")]
#[inline(always)]
fn dot<const FUSED: bool>(row: &[f32], query: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (row_blocks, row_rest) = row.as_chunks::<LANES>();
    let (query_blocks, query_rest) = query.as_chunks::<LANES>();
    for (a, b) in row_blocks.iter().zip(query_blocks) {
        for lane in 0..LANES {
            sums[lane] = if FUSED { a[lane].mul_add(b[lane], sums[lane]) } else { a[lane] * b[lane] + sums[lane] };
        }
    }
    for ((sum, a), b) in sums.iter_mut().zip(row_rest).zip(query_rest) {
        *sum += a * b;
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

/// The dot product of a stored unit vector and a query in double precision, in one order of additions on every machine.
pub(super) fn exact(row: &[f32], query: &[f64]) -> f64 {
    const WIDTH: usize = 8;
    let mut sums = [0.0_f64; WIDTH];
    let (row_blocks, row_rest) = row.as_chunks::<WIDTH>();
    let (query_blocks, query_rest) = query.as_chunks::<WIDTH>();
    for (a, b) in row_blocks.iter().zip(query_blocks) {
        for lane in 0..WIDTH {
            sums[lane] += f64::from(a[lane]) * b[lane];
        }
    }
    for ((sum, &a), b) in sums.iter_mut().zip(row_rest).zip(query_rest) {
        *sum += f64::from(a) * b;
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Two unit vectors of one length, among them lengths that fill no register.
    fn units() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        (1_usize..200).prop_flat_map(|d| (vec(-1.0_f64..1.0, d), vec(-1.0_f64..1.0, d))).prop_map(|(a, b)| {
            let unit = |v: Vec<f64>| {
                let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
                v.iter().map(|x| (x / norm) as f32).collect()
            };
            (unit(a), unit(b))
        })
    }

    proptest! {
        #[test]
        fn both_kernels_stay_within_the_bound((row, query) in units()) {
            let wanted: f64 = row.iter().zip(&query).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            let mut dispatched = [f32::NAN];
            let mut portable = [f32::NAN];
            scores(&row, &[0], &query, &mut dispatched);
            scores_portable(&row, &[0], &query, &mut portable);
            for score in [dispatched[0], portable[0]] {
                prop_assert!((f64::from(score) - wanted).abs() <= error_bound(row.len()), "{score} is not {wanted}");
            }
        }

        #[test]
        fn exact_is_exact((row, query) in units()) {
            let query: Vec<f64> = query.into_iter().map(f64::from).collect();
            let wanted: f64 = row.iter().zip(&query).map(|(&a, &b)| f64::from(a) * b).sum();
            prop_assert!((exact(&row, &query) - wanted).abs() <= 1e-14);
        }
    }

    #[test]
    fn rows_are_found_by_their_offsets() {
        let values = [1.0, 0.0, 0.0, 1.0, 0.6, 0.8];
        let mut out = [0.0; 2];
        scores(&values, &[2, 0], &[0.0, 1.0], &mut out);
        assert_eq!(out.map(f32::to_bits), [0.8_f32, 0.0].map(f32::to_bits));
    }
}
