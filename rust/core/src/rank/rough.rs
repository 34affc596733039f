//! Dot products in single precision, several rows at a time, and how far a cosine made of them can be off.
//!
//! One loop, compiled twice on x86-64: for any processor, and for AVX2 with fused multiply-add, chosen at run time.

/// Running sums of a dot product where four are made at a time: eight AVX2 registers, which hide the latency of an
/// addition.
const LANES: usize = 16;

/// Running sums of a dot product that is made alone.
const WIDE: usize = 32;

/// Squared lengths between which the sums of [`dots`] neither overflow nor lose anything that [`margin`] does not cover.
pub(super) const TAME: std::ops::RangeInclusive<f32> = 1e-20..=1e20;

/// How far dot/√(square·square) can be from the cosine, all three taken from [`dots`] and the squares within [`TAME`].
///
/// A sum of 16 running sums, or of 32, rounds each term at most n = ⌈d/16⌉ + 6 times, so the dot product is off by at most
/// γ·|a|·|b| and each square by γ times itself, γ = nu/(1 − nu), u = 2⁻²⁴ (Higham, *Accuracy and Stability of Numerical
/// Algorithms*, §3.1, and Cauchy-Schwarz). Together that is 2γ/(1 − γ); a hundredth more covers double rounding and
/// underflow.
pub(super) fn margin(dimensions: usize) -> f64 {
    let roundings = (dimensions.div_ceil(LANES) + 6) as f64 * f64::from(f32::EPSILON) / 2.0;
    let gamma = roundings / (1.0 - roundings);
    if roundings < 0.1 { 2.02 * gamma / (1.0 - gamma) } else { f64::INFINITY }
}

/// The dot product of `vector` with each of the rows of `values` that `rows` names.
pub(super) fn dots(vector: &[f32], values: &[f32], rows: &[u32], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the features that the function is compiled for; its body is safe code.
        unsafe { dots_avx2(vector, values, rows, out) };
        return;
    }
    dots_portable(vector, values, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dots_avx2(vector: &[f32], values: &[f32], rows: &[u32], out: &mut [f32]) {
    grouped::<true>(vector, values, rows, out);
}

fn dots_portable(vector: &[f32], values: &[f32], rows: &[u32], out: &mut [f32]) {
    // Where the target has no fused instruction, asking for one would call a slow library function.
    grouped::<{ cfg!(any(target_arch = "aarch64", target_feature = "fma")) }>(vector, values, rows, out);
}

#[expect(clippy::inline_always, reason = "the loops must be compiled with the caller's target features")]
#[inline(always)]
fn grouped<const FUSED: bool>(vector: &[f32], values: &[f32], rows: &[u32], out: &mut [f32]) {
    let dimensions = vector.len();
    let (groups, rest) = rows.as_chunks::<4>();
    let (group_outs, rest_outs) = out.as_chunks_mut::<4>();
    for (out, &[a, b, c, d]) in group_outs.iter_mut().zip(groups) {
        let row = |row: u32| &values[row as usize * dimensions..(row as usize + 1) * dimensions];
        *out = four::<FUSED>(vector, row(a), row(b), row(c), row(d));
    }
    for (out, &row) in rest_outs.iter_mut().zip(rest) {
        *out = one::<FUSED>(vector, &values[row as usize * dimensions..(row as usize + 1) * dimensions]);
    }
}

/// Four at a time, so that each register of `vector` is loaded once for all of them.
#[expect(clippy::inline_always, reason = "the loops must be compiled with the caller's target features")]
#[inline(always)]
fn four<const FUSED: bool>(vector: &[f32], a: &[f32], b: &[f32], c: &[f32], d: &[f32]) -> [f32; 4] {
    let (vector, vector_rest) = vector.as_chunks::<LANES>();
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let ((c, c_rest), (d, d_rest)) = (c.as_chunks::<LANES>(), d.as_chunks::<LANES>());
    let (mut sums_a, mut sums_b) = ([0.0; LANES], [0.0; LANES]);
    let (mut sums_c, mut sums_d) = ([0.0; LANES], [0.0; LANES]);
    for ((((vector, a), b), c), d) in vector.iter().zip(a).zip(b).zip(c).zip(d) {
        add::<FUSED, _>(&mut sums_a, vector, a);
        add::<FUSED, _>(&mut sums_b, vector, b);
        add::<FUSED, _>(&mut sums_c, vector, c);
        add::<FUSED, _>(&mut sums_d, vector, d);
    }
    [
        total(sums_a, vector_rest, a_rest),
        total(sums_b, vector_rest, b_rest),
        total(sums_c, vector_rest, c_rest),
        total(sums_d, vector_rest, d_rest),
    ]
}

#[expect(clippy::inline_always, reason = "the loops must be compiled with the caller's target features")]
#[inline(always)]
fn one<const FUSED: bool>(vector: &[f32], row: &[f32]) -> f32 {
    let ((vector, vector_rest), (row, row_rest)) = (vector.as_chunks::<WIDE>(), row.as_chunks::<WIDE>());
    let mut sums = [0.0; WIDE];
    for (vector, row) in vector.iter().zip(row) {
        add::<FUSED, _>(&mut sums, vector, row);
    }
    total(sums, vector_rest, row_rest)
}

#[expect(clippy::inline_always, reason = "the loops must be compiled with the caller's target features")]
#[inline(always)]
fn add<const FUSED: bool, const N: usize>(sums: &mut [f32; N], a: &[f32; N], b: &[f32; N]) {
    for lane in 0..N {
        sums[lane] = if FUSED { a[lane].mul_add(b[lane], sums[lane]) } else { a[lane] * b[lane] + sums[lane] };
    }
}

#[expect(clippy::inline_always, reason = "the loops must be compiled with the caller's target features")]
#[inline(always)]
fn total<const N: usize>(mut sums: [f32; N], a_rest: &[f32], b_rest: &[f32]) -> f32 {
    for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum += a * b;
    }
    let mut width = N;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matrix() -> impl Strategy<Value = (usize, Vec<f32>)> {
        let number = prop_oneof![8 => -1.0_f32..1.0, 1 => Just(0.0), 1 => -1e6_f32..1e6, 1 => -1e-6_f32..1e-6];
        (1_usize..80, 1_usize..10)
            .prop_flat_map(move |(d, rows)| (Just(d), proptest::collection::vec(number.clone(), d * rows)))
    }

    proptest! {
        #[test]
        fn both_kernels_stay_within_the_margin((dimensions, values) in matrix()) {
            let rows: Vec<u32> = (0..(values.len() / dimensions) as u32).collect();
            let row = |r: u32| &values[r as usize * dimensions..][..dimensions];
            let exact = |a: u32, b: u32| row(a).iter().zip(row(b)).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
            for kernel in [dots, dots_portable] {
                let mut squares = vec![0.0; rows.len()];
                for &r in &rows {
                    kernel(row(r), &values, &[r], &mut squares[r as usize..=r as usize]);
                }
                let mut out = vec![f32::NAN; rows.len()];
                kernel(row(0), &values, &rows, &mut out);
                for &r in &rows {
                    let (own, other) = (squares[0], squares[r as usize]);
                    if TAME.contains(&own) && TAME.contains(&other) {
                        let rough = f64::from(out[r as usize]) / (f64::from(own) * f64::from(other)).sqrt();
                        let cosine = exact(0, r) / (exact(0, 0) * exact(r, r)).sqrt();
                        prop_assert!((rough - cosine).abs() <= margin(dimensions), "{rough} is not {cosine}");
                    }
                }
            }
        }
    }
}
