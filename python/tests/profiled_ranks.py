# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records three steps of a small model on gloo ranks with torch.profiler."""

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule


def _step(x, w):
    summed = torch.relu(torch.mm(x, w))
    dist.all_reduce(summed, async_op=True).wait()
    z = torch.mm(x, w)
    gathered = torch.empty(64, 64)
    dist.all_gather_into_tensor(gathered, z, async_op=True).wait()
    return torch.mm(gathered, w)


def record(rank, folder):
    """Writes the rank's trace into the folder."""
    torch.set_num_threads(1)
    x, w = torch.ones(32, 64), torch.ones(64, 64)
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True,
        schedule=schedule(wait=0, warmup=1, active=3, repeat=1),
    ) as recorded:
        for _ in range(4):
            _step(x, w)
            recorded.step()
    recorded.export_chrome_trace(f"{folder}/{rank}.json.gz")
