# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""8-bit floating-point numbers, by their definition: slow and plain."""

import numpy as np

# Stored bits of the mantissa, bias of the exponent, pattern of the first
# magnitude that is not finite, pattern of NaN.
FORMATS = {"f8E5M2": (2, 15, 0x7C, 0x7E), "f8E4M3FN": (3, 7, 0x7F, 0x7F)}


def magnitudes(name):
    """What the patterns 0 to 0x7f would be if all were finite, as f64."""
    mantissa_bits, bias, _, _ = FORMATS[name]
    exponent, mantissa = np.divmod(np.arange(128), 1 << mantissa_bits)
    fraction = mantissa / (1 << mantissa_bits) + (exponent > 0)
    return np.ldexp(fraction, np.maximum(exponent, 1) - bias)


def largest(name):
    return magnitudes(name)[FORMATS[name][2] - 1]


def smallest_normal(name):
    return magnitudes(name)[1 << FORMATS[name][0]]


def smallest(name):
    return magnitudes(name)[1]


def decode(name, patterns):
    """The numbers of bit patterns, as f64."""
    _, _, first_special, _ = FORMATS[name]
    values = magnitudes(name)
    values[first_special:] = np.nan
    if name == "f8E5M2":
        values[first_special] = np.inf
    return np.concatenate([values, -values])[patterns]


def encode(name, numbers):
    """The patterns of numbers rounded to the nearest, ties to even."""
    _, _, first_special, nan = FORMATS[name]
    numbers = np.asarray(numbers, np.float64)
    size = np.abs(numbers)
    # Up to what would come behind the largest number.
    candidates = magnitudes(name)[:first_special + 1]
    above = np.clip(np.searchsorted(candidates, size), 1, first_special)
    below = above - 1
    doubled_middle = candidates[below] + candidates[above]
    even = np.where(above % 2 == 0, above, below)
    pattern = np.where(2 * size < doubled_middle, below,
                       np.where(2 * size > doubled_middle, above, even))
    pattern = np.where(np.isnan(numbers), nan, pattern)
    return (pattern | np.where(np.signbit(numbers), 0x80, 0)).astype(np.uint8)


def bfloat16_bits(numbers):
    """The patterns of f32 numbers in bf16, rounded to nearest, ties to even."""
    bits = np.asarray(numbers, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    quiet = bits >> 16 | 0x40
    return np.where(np.isnan(numbers), quiet, rounded).astype(np.uint16)


def bfloat16_numbers(bits):
    """The numbers of bf16 patterns, as f32."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)
