//! Every kernel that this processor can run, against sums in double precision.

use half::f16;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn unit(numbers: Vec<f64>) -> Vec<f32> {
    let norm = numbers.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    numbers.into_iter().map(|x| (x / norm) as f32).collect()
}

/// Unit vectors of one length, among them lengths that fill no register: some rows and some queries.
fn units() -> impl Strategy<Value = (Vec<Vec<f32>>, Vec<Vec<f32>>)> {
    (1_usize..200).prop_flat_map(|d| {
        let vector = vec(-1.0_f64..1.0, d).prop_map(unit);
        (vec(vector.clone(), 1..12), vec(vector, 1..=QUERIES))
    })
}

type Kernel<E, const Q: usize> = fn(&[E], &[u32], [&[f32]; Q], &mut [f32]);

/// What this processor can run, by name.
fn kernels<E: Element, const Q: usize>() -> Vec<(&'static str, Kernel<E, Q>)> {
    let mut kernels: Vec<(&str, Kernel<E, Q>)> = vec![("portable", tiles_portable), ("dispatched", tiles)];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
        // SAFETY: the processor has the features.
        kernels.push(("avx2", |values, offsets, queries, out| unsafe { tiles_avx2(values, offsets, queries, out) }));
    }
    kernels
}

fn check<E: Element, const Q: usize>(rows: &[Vec<E>], queries: [&[f32]; Q]) -> Result<(), TestCaseError> {
    let dimensions = queries[0].len();
    let values = rows.concat();
    let offsets: Vec<u32> = (0..rows.len() as u32).rev().collect();
    for (name, kernel) in kernels::<E, Q>() {
        let mut out = vec![f32::NAN; offsets.len() * Q];
        kernel(&values, &offsets, queries, &mut out);
        for (query, scores) in queries.iter().zip(out.chunks(offsets.len())) {
            for (row, &score) in rows.iter().rev().zip(scores) {
                let wanted: f64 = row.iter().zip(*query).map(|(a, &b)| f64::from(a.single()) * f64::from(b)).sum();
                let far = (f64::from(score) - wanted).abs();
                prop_assert!(far <= error_bound(dimensions), "{name}: {score} is not {wanted}");
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_kernel_stays_within_the_bound((rows, queries) in units()) {
        let halves: Vec<Vec<f16>> = rows.iter().map(|row| row.iter().map(|&x| f16::from_f32(x)).collect()).collect();
        let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
        match *queries {
            [a] => { check(&rows, [a])?; check(&halves, [a])?; }
            [a, b] => { check(&rows, [a, b])?; check(&halves, [a, b])?; }
            [a, b, c] => { check(&rows, [a, b, c])?; check(&halves, [a, b, c])?; }
            [a, b, c, d] => { check(&rows, [a, b, c, d])?; check(&halves, [a, b, c, d])?; }
            _ => unreachable!(),
        }
    }

    #[test]
    fn exact_is_exact((rows, queries) in units()) {
        let query: Vec<f64> = queries[0].iter().copied().map(f64::from).collect();
        let wanted: f64 = rows[0].iter().zip(&query).map(|(&a, &b)| f64::from(a) * b).sum();
        prop_assert!((exact(&rows[0], &query) - wanted).abs() <= 1e-14);
        prop_assert_eq!(exact(&rows[0], &query).to_bits(), exact_portable(&rows[0], &query).to_bits());
    }
}

#[test]
fn rows_are_found_by_their_offsets() {
    let values = [1.0_f32, 0.0, 0.0, 1.0, 0.6, 0.8];
    let mut out = [0.0; 4];
    scores(&values, &[2, 0], &[&[0.0, 1.0], &[1.0, 0.0]], &mut out);
    assert_eq!(out.map(f32::to_bits), [0.8_f32, 0.0, 0.6, 1.0].map(f32::to_bits));
}
