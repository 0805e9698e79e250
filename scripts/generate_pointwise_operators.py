#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes lib/Dialect/PointwiseOperators.def: the operators of `aten` that
PyTorch marks as pointwise, which its partitioner takes as cheap to compute
again. A test compares the file with the PyTorch that is installed.

    python scripts/generate_pointwise_operators.py
"""

from pathlib import Path

FILE = (
    Path(__file__).resolve().parent.parent
    / "lib/Dialect/PointwiseOperators.def"
)

HEADER = """\
//===- PointwiseOperators.def - Pointwise operators of PyTorch --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operators of `aten` with an overload that has the tag `pointwise`, sorted.
// Written by scripts/generate_pointwise_operators.py.
//
//===----------------------------------------------------------------------===//

"""


def packets(namespace):
    """Yields every operator of a namespace of `torch.ops`, by name. (`dir`
    lists only those that have been looked up before.)"""
    import torch

    names = {
        name.split(".")[0].removeprefix(f"{namespace}::")
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith(f"{namespace}::")
    }
    for name in sorted(names):
        packet = getattr(getattr(torch.ops, namespace), name, None)
        if isinstance(packet, torch._ops.OpOverloadPacket):
            yield packet


def pointwise_operators():
    """Returns the names, "aten.abs" and so on, sorted."""
    import torch

    return sorted(
        str(packet)
        for packet in packets("aten")
        if any(
            torch.Tag.pointwise in getattr(packet, overload).tags
            for overload in packet.overloads()
        )
    )


def text():
    """Returns what the file should hold."""
    lines = (f'POINTWISE_OPERATOR("{n}")\n' for n in pointwise_operators())
    return HEADER + "".join(lines)


if __name__ == "__main__":
    FILE.write_text(text())
