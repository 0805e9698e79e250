# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank of soak.py."""

import torch
import torch._dynamo
import torch._inductor.compile_fx  # noqa: F401
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import commsched.torch as cs
from commsched.torch.compiling import records
from commsched.torch.compiling.backend import commsched

WIDTH, ROWS, STEPS = 32, 4, 4


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(3)))


def sharded() -> nn.Module:
    whole = model()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in whole:
        fully_shard(layer, mesh=mesh)
    return fully_shard(whole, mesh=mesh)


def batch(number: int, rank: int) -> torch.Tensor:
    torch.manual_seed(10 * number + rank)
    return torch.randn(ROWS, WIDTH)


def train(trained: nn.Module, step) -> list:
    """Returns the gradients of all steps."""
    found = []
    for number in range(STEPS):
        step(batch(number, dist.get_rank())).square().mean().backward()
        found += [p.grad.to_local().clone() for p in trained.parameters()]
        trained.zero_grad()
    return found


def expect() -> list:
    """Returns what `train` should: this rank's parts of the gradients, computed
    without communication."""
    whole, found = model(), []
    ranks = dist.get_world_size()
    for number in range(STEPS):
        sums = 0
        for rank in range(ranks):
            loss = whole(batch(number, rank)).square().mean()
            grads = torch.autograd.grad(loss, list(whole.parameters()))
            sums = grads if rank == 0 else map(torch.add, sums, grads)
        found += [(g / ranks).chunk(ranks)[dist.get_rank()] for g in sums]
    return found


def main(inner: str, end: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    trained = sharded()
    step = trained
    if inner != "none":
        options = {"inner": inner, "strict": True}
        step = torch.compile(
            cs.adopt(trained), backend=commsched, options=options
        )
    found = train(trained, step)
    equal = torch.allclose if inner == "inductor" else torch.equal
    assert all(map(equal, expect(), found)), "gradients differ"
    if inner != "none":
        statuses = [record.status for record in records.records()]
        assert statuses == ["scheduled"] * 2, statuses
    if end == "together":
        dist.barrier()
    if end != "exit":
        dist.destroy_process_group()
