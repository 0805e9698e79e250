# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import commsched.torch as cs

gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
if gpus:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl" if gpus else "gloo")
device = "cuda" if gpus else "cpu"
torch.manual_seed(0)  # The same parameters on every rank.
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4))).to(device)
mesh = init_device_mesh(device, (dist.get_world_size(),))
for layer in model:
    fully_shard(layer, mesh=mesh)
cs.adopt(fully_shard(model, mesh=mesh))
optimizer = torch.optim.AdamW(model.parameters())
step = torch.compile(model, backend="commsched", options={"inner": "eager"})
torch.manual_seed(dist.get_rank())  # A batch of its own on each rank.
x = torch.randn(64, 256, device=device)
for i in range(3):
    loss = step(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if dist.get_rank() == 0:
        print(f"step {i}: loss {loss.item():.4f}", flush=True)
if dist.get_rank() == 0:
    cs.explain(step)
dist.barrier()
dist.destroy_process_group()
