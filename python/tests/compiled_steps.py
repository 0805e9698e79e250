# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small training steps, eager and compiled, for tests on several ranks."""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Callable
from typing import Any, Optional

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, distribute_tensor

import commsched.torch as cs
from commsched.torch.compiling import records
from commsched.torch.compiling.backend import commsched

WIDTH, ROWS, STEPS = 64, 8, 3


class Layer(nn.Module):
    def __init__(self, dropout: float = 0.0, norm: bool = False):
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH) if norm else nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        hidden = torch.relu(self.up(self.norm(x)))
        return x + self.dropout(self.down(hidden))


class Model(nn.Module):
    """Some layers, and a buffer that counts calls."""

    def __init__(self, layers: int = 2, **settings: Any):
        super().__init__()
        self.layers = nn.ModuleList(Layer(**settings) for _ in range(layers))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        for layer in self.layers:
            x = layer(x)
        return x * (1 + 0.001 * self.calls)


def shard(model: nn.Module, mesh=None, dtype=torch.float32) -> nn.Module:
    """Shards the parameters of a model, over all ranks without a mesh."""
    mesh = mesh or init_device_mesh("cpu", (dist.get_world_size(),))
    cs.shard_parameters(model, mesh, cs.MixedPrecision(dtype, torch.float32))
    return model


def shard_mixed(model: nn.Module, mesh) -> None:
    shard(model, mesh, torch.bfloat16)


def replicate(model: nn.Module, mesh) -> None:
    """Data parallelism whose all-reduces are in the graph: each parameter is
    a replicated DTensor that is read as a plain tensor."""
    for module in list(model.modules()):
        names = [n for n, p in module._parameters.items() if p is not None]
        for name in names:
            whole = distribute_tensor(
                module._parameters[name].detach(),
                mesh,
                [Replicate()],
                src_data_rank=None,
            )
            module._parameters[name] = nn.Parameter(whole)
        read = {
            name: property(
                lambda self, name=name: self._parameters[name]
                # Leaves the value alone; its backward is the all-reduce.
                .redistribute(placements=[Replicate()])
                .to_local(grad_placements=[Partial("avg")])
            )
            for name in names
        }
        cls = type(module)
        module.__class__ = type(cls.__name__, (cls,), read)


@dataclasses.dataclass(frozen=True)
class Case:
    """A model, how it is distributed, and what it is compiled with."""

    model: dict = dataclasses.field(default_factory=dict)
    distribute: Callable = shard
    rows: tuple[int, ...] = (ROWS,) * STEPS
    compiled: dict = dataclasses.field(default_factory=dict)
    prepare: Optional[Callable] = None
    dtype: torch.dtype = torch.float32


def freeze(model: nn.Module) -> None:
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("up" not in name)


def train(case: Case, options: Optional[dict]) -> list[dict]:
    """Trains with the backend, or eagerly without options; returns the loss,
    the gradients and the buffers of each step by name."""
    def compiled(model: nn.Module) -> nn.Module:
        if options is None:
            return model
        return torch.compile(model, backend=commsched, options=options)

    return train_with(case, compiled)


def compare(case: Case, options: dict) -> tuple[Optional[str], list[dict]]:
    """Trains eagerly and with the backend; returns the first difference, and what
    the second gave."""
    torch._dynamo.reset()
    records.reset()
    eager = train(case, None)
    compiled = train(case, {"inner": "eager", **options})
    return difference(eager, compiled), compiled


def train_with(case: Case, compiled: Callable) -> list[dict]:
    """Trains what `compiled` makes of the model; returns what `train` does."""
    torch.manual_seed(0)
    model = Model(**case.model)
    if case.prepare is not None:
        case.prepare(model)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    case.distribute(model, mesh)
    step = compiled(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    history = []
    for number, rows in enumerate(case.rows):
        torch.manual_seed(100 * number + dist.get_rank())
        inputs = torch.randn(rows, WIDTH, dtype=case.dtype)
        loss = step(inputs).float().square().mean()
        loss.backward()
        history.append(_state(model, loss))
        optimizer.step()
        optimizer.zero_grad()
    return history


def _state(model: nn.Module, loss: torch.Tensor) -> dict:
    state = {"loss": loss.detach().clone()}
    for name, parameter in model.named_parameters():
        gradient = parameter.grad
        if isinstance(gradient, DTensor):
            gradient = gradient.to_local()
        if gradient is not None:
            state[f"gradient of {name}"] = gradient.clone()
    for name, buffer in model.named_buffers():
        state[name] = buffer.clone()
    return state


def difference(expected: list[dict], found: list[dict]) -> Optional[str]:
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        if one.keys() != other.keys():
            return f"step {number}: {set(one) ^ set(other)}"
        for name in one:
            if not torch.equal(one[name], other[name]):
                error = (one[name] - other[name]).abs().max()
                return f"step {number}: {name} differs by {error}"
    return None


def take_gradients(model: nn.Module) -> list[torch.Tensor]:
    """This rank's part of each gradient, which the model has no longer."""
    found = [p.grad.to_local().clone() for p in model.parameters()]
    model.zero_grad()
    return found


def explained(
    rank: int, layers: int, options: dict, plain: str = "", steps: int = 1,
    width: int = 32, before: tuple = (),
) -> str:
    """Trains sharded linear layers, behind what is `before` them, with the backend
    and eagerly, or with the backend `plain`. Raises unless gradients have equal
    bits; returns what is explained."""
    torch.manual_seed(0)
    linears = (nn.Linear(width, width) for _ in range(layers))
    model = shard(nn.Sequential(*before, *linears))
    compiled = torch.compile(model, backend="commsched", options=options)
    expected = torch.compile(model, backend=plain) if plain else model
    for step in range(steps):
        found = []
        for run in (expected, compiled):
            run(torch.full((8, width), rank + step + 1.0)).square().sum().backward()
            found.append(take_gradients(model))
        assert all(map(torch.equal, *found))
    with contextlib.redirect_stdout(io.StringIO()) as said:
        cs.explain(compiled)
    return said.getvalue()
