# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models under FSDP2's `fully_shard` or `DistributedDataParallel`, trained as
they are and adopted."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard
from torch.utils.checkpoint import checkpoint

WIDTH, VOCABULARY, STEPS = 32, 52, 3


class Block(nn.Module):
    def __init__(self, recompute: bool = False):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 3 * WIDTH)
        self.down = nn.Linear(3 * WIDTH, WIDTH)
        self.scale = nn.Parameter(torch.full((1,), 0.7))
        self.recompute = recompute

    def mix(self, x):
        return self.down(torch.relu(self.up(self.norm(x)))) * self.scale

    def forward(self, x):
        if self.recompute:
            return x + checkpoint(self.mix, x, use_reentrant=False)
        return x + self.mix(x)


class Net(nn.Module):
    def __init__(self, tied: bool = True, recompute: bool = False):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block(recompute) for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        nn.init.normal_(self.embedding.weight, std=0.05)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        logits = self.head(x)[:, :-1].flatten(0, 1)
        return nn.functional.cross_entropy(logits, tokens[:, 1:].flatten())


LOW = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
#: By name: options of the model, and of `fully_shard`; the shape of the mesh.
CASES = {
    "plain": ({"tied": False}, {}, (2,)),
    "tied": ({}, {}, (2,)),
    "bfloat16": ({}, {"mp_policy": LOW}, (2,)),
    "casts": (
        {},
        {
            "mp_policy": MixedPrecisionPolicy(
                torch.bfloat16, output_dtype=torch.float32
            )
        },
        (2,),
    ),
    "kept": ({}, {"reshard_after_forward": False}, (2,)),
    "columns": (
        {},
        {"shard_placement_fn": lambda p: Shard(p.ndim - 1) if p.ndim > 1 else None},
        (2,),
    ),
    "recomputed": ({"recompute": True}, {}, (2,)),
    "grouped": ({}, {}, (2,)),
    "four": ({}, {}, (4,)),
    "replicated": ({}, {}, (2, 2)),
    "DDP": ({}, None, (2,)),
}


def make(case: str):
    model_options, options, shape = CASES[case]
    torch.manual_seed(0)
    model = Net(**model_options)
    if options is None:
        return nn.parallel.DistributedDataParallel(model)
    names = ("replica", "shard")[-len(shape):]
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
    inner = dict(options)
    if policy := options.get("mp_policy"):
        inner["mp_policy"] = dataclasses.replace(policy, output_dtype=None)
    if case == "grouped":
        fully_shard(list(model.layers), mesh=mesh, **inner)
    else:
        for layer in model.layers:
            fully_shard(layer, mesh=mesh, **inner)
    return fully_shard(model, mesh=mesh, **options)


def train(rank: int, model, optimizer, call, steps: int = STEPS, seed: int = 0):
    """Losses and norms of gradients. Under `fully_shard` a step has two micro-batches;
    DDP reduces what was reduced before once more, which rounds otherwise."""
    is_replica = isinstance(model, nn.parallel.DistributedDataParallel)
    generator = torch.Generator().manual_seed(7 * rank + seed)
    told = []
    for _ in range(steps):
        for _ in range(1 if is_replica else 2):
            tokens = torch.randint(VOCABULARY, (4, 16), generator=generator)
            loss = call(tokens)
            loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        told.append((loss.item(), get_local(norm, whole=True).item()))
    return told


def get_local(tensor, whole: bool = False):
    if not isinstance(tensor, DTensor):
        return tensor
    return tensor.full_tensor() if whole else tensor.to_local()


def state(model):
    return {name: get_local(v).clone() for name, v in model.state_dict().items()}


def compare(rank: int, case: str, inner: str):
    """Trains both models; then saves, releases and trains on. Returns what differs,
    and what `explain` says."""
    import commsched.torch as cs

    warnings.filterwarnings("ignore", ".*all_gather.*deprecated.*")
    differing, told, states = [], [], []
    said = io.StringIO()
    for adopted in (False, True):
        model = make(case)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
        names = [name for name, _ in model.named_parameters()]
        call = model
        if adopted:
            assert cs.adopt(model) is model
            torch._dynamo.reset()
            call = torch.compile(
                model,
                backend="commsched",
                fullgraph=True,
                options={"inner": inner, "memory_budget": "50%"},
            )
        found = [train(rank, model, optimizer, call), state(model)]
        if adopted:
            with contextlib.redirect_stdout(said):
                cs.explain(call)
            # Into another model that is adopted, as a checkpoint is.
            other = cs.adopt(make(case))
            other.load_state_dict(model.state_dict())
            if any(
                not torch.equal(a, b)
                for a, b in zip(state(other).values(), state(model).values())
            ):
                differing.append("a loaded state")
            assert cs.release(model) is model
        found.append(train(rank, model, optimizer, model, steps=1, seed=1))
        assert names == [name for name, _ in model.named_parameters()]
        told.append(found[::2])
        states.append(found[1])
    if told[0] != told[1]:
        differing.append(f"losses and norms: {told[0]} and {told[1]}")
    for name, value in states[0].items():
        if not torch.equal(value, states[1][name]):
            differing.append(name)
    return differing, said.getvalue()


def compare_all(rank: int, cases: list[str], inner: str):
    return {case: compare(rank, case, inner) for case in cases}
