# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records steps with torch.profiler: of a model that Inductor compiled, and of
ranks on gloo."""

import copy

import torch
import torch.distributed as dist
from captures import Capture
from torch.profiler import ProfilerActivity, profile, schedule

from commsched.torch import import_graphs

STEPS = 3


def record_steps(step, path):
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True,
        schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1),
    ) as recorded:
        for _ in range(STEPS + 1):
            step()
            recorded.step()
    recorded.export_chrome_trace(path)


class _Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = torch.nn.LayerNorm(size)
        self.up = torch.nn.Linear(size, 2 * size)
        self.down = torch.nn.Linear(2 * size, size)

    def forward(self, x):
        hidden = torch.nn.functional.silu(self.up(self.norm(x)))
        return x + self.down(hidden)


def record(_, folder):
    """Writes the trace and the program, forward and backward, into the
    folder."""
    capture = Capture()

    def keep(graph):
        kind = "backward" if capture.graphs else "forward"
        capture.graphs.append((kind, torch.fx.GraphModule(
            graph.owning_module, copy.deepcopy(graph))))

    model = torch.nn.Sequential(_Block(64), _Block(64))
    compiled = torch.compile(
        lambda x: model(x).square().mean(), options={
            "post_grad_custom_post_pass": keep, "fx_graph_cache": False,
            # What runs on the CPU has names of kernels in traces only so.
            "cpp.enable_kernel_profile": True})
    x = torch.randn(256, 64)
    compiled(x).backward()
    record_steps(lambda: compiled(x).backward(), f"{folder}/step.json.gz")
    with open(f"{folder}/step.mlir", "w", encoding="utf-8") as file:
        file.write(str(import_graphs(capture.specs())))


def _collectives(x, w):
    summed = torch.relu(torch.mm(x, w))
    dist.all_reduce(summed, async_op=True).wait()
    z = torch.mm(x, w)
    gathered = torch.empty(64, 64)
    dist.all_gather_into_tensor(gathered, z, async_op=True).wait()
    return torch.mm(gathered, w)


def record_ranks(rank, folder):
    """Writes the rank's trace into the folder."""
    x, w = torch.ones(32, 64), torch.ones(64, 64)
    record_steps(lambda: _collectives(x, w), f"{folder}/{rank}.json.gz")
