//! The kinds of numbers that rows are stored in.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m512, _mm_loadu_si128, _mm256_cvtph_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm512_cvtph_ps,
    _mm512_loadu_ps,
};

use bytemuck::Pod;
use half::f16;

/// A stored number: single or half precision.
pub(in crate::dense) trait Element: Pod + Send + Sync {
    /// The same number in single precision.
    fn single(self) -> f32;

    /// Eight numbers in single precision.
    ///
    /// # Safety
    /// The processor has AVX2 and F16C.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load_8(numbers: &[Self; 8]) -> __m256;

    /// Sixteen numbers in single precision.
    ///
    /// # Safety
    /// The processor has AVX-512F.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load_16(numbers: &[Self; 16]) -> __m512;
}

impl Element for f32 {
    fn single(self) -> f32 {
        self
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn load_8(numbers: &[Self; 8]) -> __m256 {
        // SAFETY: the array is as long as the register.
        unsafe { _mm256_loadu_ps(numbers.as_ptr()) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load_16(numbers: &[Self; 16]) -> __m512 {
        // SAFETY: the array is as long as the register.
        unsafe { _mm512_loadu_ps(numbers.as_ptr()) }
    }
}

impl Element for f16 {
    fn single(self) -> f32 {
        self.to_f32()
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn load_8(numbers: &[Self; 8]) -> __m256 {
        // SAFETY: the array is as long as the register.
        _mm256_cvtph_ps(unsafe { _mm_loadu_si128(numbers.as_ptr().cast()) })
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load_16(numbers: &[Self; 16]) -> __m512 {
        // SAFETY: the array is as long as the register.
        _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) })
    }
}
