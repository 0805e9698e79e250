# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types and values of MLIR, as text."""

import math
from dataclasses import dataclass

FLOATS = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}


def is_float(element):
    return element in FLOATS


@dataclass(frozen=True)
class Type:
    shape: tuple
    element: str

    def __str__(self):
        return f"tensor<{''.join(f'{n}x' for n in self.shape)}{self.element}>"

    @property
    def count(self):
        return math.prod(self.shape)

    def resized(self, dim, size):
        shape = list(self.shape)
        shape[dim] = size
        return Type(tuple(shape), self.element)

    def cast(self, element):
        return Type(self.shape, element)


@dataclass(eq=False)
class Value:
    text: str
    type: Type


def list_types(values):
    return ", ".join(str(value.type) for value in values)


def list_texts(values):
    return ", ".join(value.text for value in values)


def future_type(types):
    return "!commsched.future" + (f"<{', '.join(map(str, types))}>" if types else "")


def literal(number, element):
    """As an attribute: floats have a point, the infinities are bits."""
    if not is_float(element):
        return str(int(number))
    if math.isinf(number):
        return {"f32": "0xFF800000", "f64": "0xFFF0000000000000"}[element]
    mantissa, _, exponent = repr(float(number)).partition("e")
    point = "" if "." in mantissa else ".0"
    return mantissa + point + (f"e{exponent}" if exponent else "")
