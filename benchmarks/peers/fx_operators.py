# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of the FX graphs for problem dumps: those of PyTorch, and two for
operations without an operator in PyTorch.
"""

import functools

import torch
from torch.utils import backend_registration
from torch.utils.flop_counter import register_flop_formula

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E5M2": torch.float8_e5m2,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "ui8": torch.uint8,
    "ui64": torch.uint64,
    "ui32": torch.uint32,
    "i1": torch.bool,
}
CASTS = (
    torch.ops.prims.convert_element_type.default,
    torch.ops.aten._to_copy.default,
)

@functools.cache
def get_device():
    """What is no processor, so that Inductor counts its memory."""
    name = "commsched"
    backend_registration._setup_privateuseone_for_python_backend(name)
    return name


LIBRARY = torch.library.Library("commsched_peers", "DEF")


def make_results(_, results):
    """Tensors as in "64x4096xbf16 f32"."""
    made = []
    for result in results.split():
        *shape, dtype = result.split("x")
        shape = [int(size) for size in shape]
        made.append(torch.empty(shape, dtype=DTYPES[dtype], device=get_device()))
    return made


def make_result(inputs, results):
    return make_results(inputs, results)[0]


def _define(name):
    """An operator whose results are as its last argument says."""
    LIBRARY.define(f"{name}(Tensor[] inputs, str results) -> Tensor")
    LIBRARY.define(f"{name}.several(Tensor[] inputs, str results) -> Tensor[]")
    for overload in ("", ".several"):
        torch.library.register_fake(
            f"commsched_peers::{name}{overload}",
            make_results if overload else make_result,
            lib=LIBRARY,
        )
    return getattr(torch.ops.commsched_peers, name)


EXPENSIVE = _define("expensive")
OTHER = _define("other")


@register_flop_formula(EXPENSIVE, get_raw=True)
def _count_flops(*_, **__):
    """Nothing that is decided rests on it: the dump says what nodes cost."""
    return 0


def find_operator(node):
    """What a node on the compute stream calls."""
    if node["expensive"]:
        return EXPENSIVE
    namespace, _, name = node["op"].partition(".")
    name, _, overload = name.partition(".")
    if namespace not in ("aten", "prims"):
        return OTHER
    packet = getattr(getattr(torch.ops, namespace), name, None)
    for candidate in [overload] if overload else ["default", "Tensor"]:
        if hasattr(packet, candidate):
            return getattr(packet, candidate)
    return OTHER
