# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank of soak.py: `soak_rank.py INNER END`."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

WIDTH, ROWS, STEPS = 32, 4, 2


def model() -> nn.Module:
    import commsched.torch as cs

    torch.manual_seed(0)
    layers = [nn.Linear(WIDTH, WIDTH) for _ in range(3)]
    whole = nn.Sequential(*layers)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    precision = cs.MixedPrecision(torch.float32, torch.float32)
    cs.shard_parameters(whole, mesh, precision)
    return whole


def train(trained: nn.Module, step) -> list:
    """Returns the gradients of all steps."""
    found = []
    for number in range(STEPS):
        torch.manual_seed(10 * number + dist.get_rank())
        loss = step(torch.randn(ROWS, WIDTH)).square().mean()
        loss.backward()
        found += [p.grad.to_local().clone() for p in trained.parameters()]
        trained.zero_grad()
    return found


def main(inner: str, end: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    one, other = model(), model()
    step = other
    if inner != "none":
        from commsched.torch.compiling.backend import commsched

        step = torch.compile(
            other, backend=commsched, options={"inner": inner}
        )
    expected, found = train(one, one), train(other, step)
    if inner != "inductor":
        assert all(map(torch.equal, expected, found)), "gradients differ"
    if end == "together":
        dist.barrier()
    if end != "exit":
        dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
