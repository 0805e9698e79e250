# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Saves values in 8 bits, as `commsched-quantize-activations` does.

Of each row x of the last dimension, with `largest` the largest number of the
8-bit type (docs/guide/activation-quantization.md):

    scale = largest / max(max |x|, 1e-12)     in f64, kept as f32
    q     = round(x * scale)                  in f32
    x'    = round(q / scale)                  in f32

For f64, the scale and the products are f64.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import fx

from commsched.torch.private import partition as private
from commsched.torch.rewriting.errors import RewriteError
from commsched.torch.rewriting.partition import QUANTIZED, Quantized
from commsched.torch.rewriting.saved import (
    Emitter,
    first_of,
    last_use,
    place_of,
)

_aten = torch.ops.aten

#: The smallest magnitude that a scale is computed for.
_SMALLEST = 1e-12


def quantize_saved(
    forward: fx.GraphModule,
    backward: fx.GraphModule,
    quantized: Sequence[Quantized],
    num_fwd_outputs: int,
) -> dict[str, str]:
    """Converts saved values behind their last use in the forward, and back
    before their first use in the backward.

    A converted value keeps its place among what is saved; scales come behind
    all tensors. Names that are not saved are skipped. Returns, by the names of
    values, those of what is saved of them now. Raises RewriteError for a value
    that is no floating-point tensor.
    """
    outputs = list(forward.graph.output_node().args[0])
    inputs = backward.graph.find_nodes(op="placeholder")
    taken = {node.name: node for node in inputs}
    at = _first_scale(outputs, num_fwd_outputs)
    # The backward takes what the forward saves in the same order, but numbers
    # first, which the forward has last.
    numbers = sum(private.is_number(node) for node in outputs[at:])
    behind = inputs[numbers + at - num_fwd_outputs - 1]
    converted = {}
    for each in quantized:
        place = place_of(outputs, num_fwd_outputs, each.name)
        if place is None or each.name not in taken:
            continue
        outputs[place], scale = _convert(forward.graph, outputs[place], each)
        converted[each.name] = outputs[place].name
        old = taken[each.name]
        new, scale_input = _convert_back(
            backward.graph, old, outputs[place], scale, behind
        )
        if old is behind:
            behind = new
        if scale is not None:
            outputs.insert(at, scale)
            at += 1
            behind = scale_input
    private.set_outputs(forward, outputs, num_fwd_outputs)
    for half in (forward, backward):
        half.graph.lint()
        half.recompile()
    return converted


def _first_scale(outputs: list, num_fwd_outputs: int) -> int:
    """Returns the place behind the saved tensors that autograd checks for
    writes: those that it does not check come last."""
    place = num_fwd_outputs
    for index in range(num_fwd_outputs, len(outputs)):
        meta = outputs[index].meta
        if isinstance(meta.get("val"), torch.Tensor) and not meta.get(
            "saved_tensor_with_no_vc_check", False
        ):
            place = index + 1
    return place


# -- the forward -------------------------------------------------------------


def _convert(
    graph: fx.Graph, value: fx.Node, how: Quantized
) -> tuple[fx.Node, fx.Node | None]:
    """Adds the conversion of `value`; returns the numbers and the scale."""
    if not value.meta["val"].is_floating_point():
        raise RewriteError(
            f"'{value.name}' of type {value.meta['val'].dtype} cannot be "
            f"converted to {how.element}"
        )
    dtype = QUANTIZED[how.element]
    with graph.inserting_before(last_use(value).next):
        emit = Emitter(graph, value)
        if not how.scaled:
            numbers = emit.cast(value, dtype, f"{value.name}_f8")
            return numbers, None
        exact = value.meta["val"].dtype == torch.float64
        wide = torch.float64 if exact else torch.float32
        size = emit(_aten.abs.default, value)
        size = emit(_aten.amax.default, size, [-1], True)
        size = emit.cast(size, torch.float64)
        size = emit(_aten.clamp_min.default, size, _SMALLEST)
        largest = emit(
            _aten.full.default,
            [],
            torch.finfo(dtype).max,
            dtype=torch.float64,
            device=value.meta["val"].device,
        )
        scale = emit(_aten.div.Tensor, largest, size)
        scale = emit.cast(scale, wide, f"{value.name}_scale")
        numbers = emit(_aten.mul.Tensor, emit.cast(value, wide), scale)
        numbers = emit.cast(numbers, dtype, f"{value.name}_f8")
        return numbers, scale


# -- the backward ------------------------------------------------------------


def _convert_back(
    graph: fx.Graph,
    old: fx.Node,
    numbers: fx.Node,
    scale: fx.Node | None,
    behind: fx.Node,
) -> tuple[fx.Node, fx.Node | None]:
    """Replaces the placeholder `old` by one of the numbers, and adds one of
    the scale behind the placeholder `behind`; returns both."""
    with graph.inserting_after(old):
        new = graph.placeholder(numbers.name)
    new.meta = dict(numbers.meta)
    scale_input = None
    if scale is not None:
        with graph.inserting_after(new if behind is old else behind):
            scale_input = graph.placeholder(scale.name)
        scale_input.meta = dict(scale.meta)
    dtype = old.meta["val"].dtype
    with graph.inserting_before(first_of(graph, old.users)):
        emit = Emitter(graph, old)
        emit.is_backward = True
        value = new
        if scale_input is not None:
            wide = scale.meta["val"].dtype
            value = emit.cast(value, wide)
            value = emit(_aten.div.Tensor, value, scale_input)
        if value.meta["val"].dtype != dtype:
            value = emit.cast(value, dtype)
    old.replace_all_uses_with(value)
    graph.erase_node(old)
    return new, scale_input
