# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of the torch dialect as torch-mlir prints them, with functional
collectives.

Writes them as inputs of the tests of the tables of operations; needs torch and
torch-mlir:

    python python/tests/torch_mlir_modules.py test/OperationTables/Inputs
"""

import pathlib
import sys

import torch
import torch.distributed as dist
from torch.nn import functional

WORLD = 4
c10d = torch.ops._c10d_functional


def gather(shard):
    return c10d.wait_tensor(c10d.all_gather_into_tensor(shard, WORLD, "0"))


def scatter(gradient):
    start = c10d.reduce_scatter_tensor(gradient, "avg", WORLD, "0")
    return c10d.wait_tensor(start)


class Fsdp(torch.nn.Module):
    """A step of two layers: weights are gathered, gradients scattered."""

    def forward(self, x, first, second):
        hidden = torch.relu(functional.linear(x, gather(first)))
        whole = gather(second)
        y = functional.linear(hidden, whole)
        error = y - x
        grad_second = scatter(torch.mm(error.t(), hidden))
        back = torch.mm(error, whole) * (hidden > 0)
        grad_first = scatter(torch.mm(back.t(), x))
        return first - 0.1 * grad_first, second - 0.1 * grad_second


class AllKinds(torch.nn.Module):
    """One of each functional collective, some for several tensors."""

    def forward(self, x, y):
        wait = c10d.wait_tensor
        gathered = c10d.all_gather_into_tensor_coalesced([x, y], WORLD, "0")
        reduced = c10d.all_reduce_coalesced([x, y], "max", "0")
        scattered = c10d.reduce_scatter_tensor_coalesced([x, y], "sum", WORLD, "0")
        exchanged = c10d.all_to_all_single(x, [2] * WORLD, [2] * WORLD, "0")
        sent = c10d.broadcast(y, 0, "0")
        product = torch.addmm(y, x, torch.bmm(x[None], x[None].mT)[0].mT @ x)
        return (
            [wait(t) for t in gathered],
            [wait(t) for t in reduced],
            [wait(t) for t in scattered],
            wait(exchanged),
            wait(sent),
            product,
        )


def shapes(*sizes):
    return tuple(torch.randn(*size) for size in sizes)


MODULES = {
    "torch-fsdp": (Fsdp(), shapes((256, 512), (128, 512), (128, 512))),
    "torch-all-kinds": (AllKinds(), shapes((8, 8), (8, 8))),
}


def text_of(name):
    """The module as torch-mlir prints it in the generic form."""
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch_mlir import fx

    if not dist.is_initialized():
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=WORLD)
    module, arguments = MODULES[name]
    exported = torch.export.export(module, arguments)
    imported = fx.export_and_import(exported, output_type="raw", decomposition_table=[])
    return imported.operation.get_asm(print_generic_op_form=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in MODULES:
        (folder / f"{name}.mlir").write_text(
            "// Written by python/tests/torch_mlir_modules.py.\n"
            + text_of(name).strip()
            + "\n"
        )


if __name__ == "__main__":
    main()
