# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors whose elements are known to be exact.

A float holds a multiple of 2^-grain that is at most `most` of them. As long as
that fits the type, sums and products are the same in any order. Integers wrap
around, which is exact as well.
"""

from dataclasses import dataclass

from mlir_values import Value, is_float

BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
# What `shrink` leaves at most.
SMALL = {"f64": 8, "f32": 6, "f16": 4, "bf16": 2}


@dataclass(eq=False)
class Exact(Value):
    most: int = 0
    grain: int = 0

    @property
    def element(self):
        return self.type.element

    @property
    def is_float(self):
        return is_float(self.element)


def fits(element, most, grain=0):
    return not is_float(element) or (most < 1 << BITS[element] and grain <= 10)


def exact(value, most=0, grain=0):
    assert fits(value.type.element, most, grain), (value.type, most, grain)
    return Exact(value.text, value.type, most, grain)


def letters_of(value, first="a"):
    return "".join(chr(ord(first) + dim) for dim in range(len(value.type.shape)))


def shrink(function, value):
    """Small integers that depend on all of `value`'s elements."""
    if not value.is_float:
        return value
    letters, limit = letters_of(value), SMALL[value.element]

    wide = "f64" if value.element in ("f64", "f32") else "f32"

    def wrap(_, x):
        number = (x.cast(wide) * 2.0**value.grain).cast("i64")
        return number.remainder(limit + 1).cast(wide).cast(x.element)

    return exact(function.map("wrap", f"{letters}->{letters}", [value], wrap), limit)
