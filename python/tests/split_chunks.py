# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs an operator in chunks, as its rule says."""

import dataclasses
import re

import torch


@dataclasses.dataclass
class Axis:
    """Where an axis is: (value, dimension, outer) of operands and results."""

    size: int
    operands: list
    results: list


def read_rule(text, operands, results):
    """Returns the axes of the rule of an operator of these tensors."""
    left, right = text.split("->")
    parts = {}
    for side, tensors in (("operands", operands), ("results", results)):
        values = (left if side == "operands" else right).split(",")
        assert len(values) == len(tensors), text
        for index, (value, tensor) in enumerate(zip(values, tensors)):
            dims = re.findall(r"\([^)]*\)|\S+", value)
            assert len(dims) == tensor.dim(), text
            for dim, names in enumerate(dims):
                parts[side, index, dim] = names.strip("()").split()
    sides = {"operands": operands, "results": results}
    shapes = {
        (side, index, dim): sides[side][index].shape[dim]
        for side, index, dim in parts
    }
    sizes = _sizes(parts, shapes)
    axes = {name: Axis(sizes[name], [], []) for name in sizes}
    for (side, index, dim), names in parts.items():
        outer = 1
        for name in names:
            if name in axes:
                getattr(axes[name], side).append((index, dim, outer))
                outer *= axes[name].size
            elif name != "_":
                outer *= int(name)
    return axes


def _sizes(parts, shapes):
    sizes = {}
    while True:
        found = {}
        for key, names in parts.items():
            known = [sizes.get(n, n.isdigit() and int(n)) for n in names]
            missing = [n for n, size in zip(names, known) if not size]
            if len(missing) == 1 and missing[0] != "_":
                size = shapes[key]
                for number in filter(None, known):
                    assert size % number == 0
                    size //= number
                found[missing[0]] = size
        if not found:
            return sizes
        sizes.update(found)


def part(tensor, dim, outer, count, index):
    """Returns chunk `index` of `count` of a tensor."""
    shape = list(tensor.shape)
    rest = shape[dim] // (outer * count)
    view = tensor.reshape(*shape[:dim], outer, count, rest, *shape[dim + 1 :])
    shape[dim] = outer * rest
    return view.select(dim + 1, index).reshape(shape)


def whole(chunks, dim, outer):
    """Returns the tensor whose chunks these are."""
    shape = list(chunks[0].shape)
    rest = shape[dim] // outer
    views = [
        chunk.reshape(*shape[:dim], outer, 1, rest, *shape[dim + 1 :])
        for chunk in chunks
    ]
    shape[dim] *= len(chunks)
    return torch.cat(views, dim + 1).reshape(shape)


def in_chunks(function, operands, results, axis, blocks, count):
    """Computes `results` in chunks of `axis`, each of which has a part of each
    of its `blocks`. `function` takes the operands and the results' shapes."""
    made = []
    shapes = [list(result.shape) for result in results]
    for index, dim, _ in axis.results:
        shapes[index][dim] //= count
    for chunk in range(count):
        given = list(operands)
        for index, dim, outer in axis.operands:
            given[index] = part(
                given[index], dim, outer * blocks, count, chunk
            ).contiguous()
        outputs = function(given, shapes)
        made.append(outputs)
        assert [list(output.shape) for output in outputs] == shapes
    if not axis.results:
        return [sum(parts[1:], parts[0]) for parts in zip(*made)]
    return [
        whole([outputs[index] for outputs in made], dim, outer * blocks)
        for index, dim, outer in axis.results
    ]
