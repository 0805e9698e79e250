# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiny models in every form of parallelism that PyTorch has.

A case builds a model on the process group at hand, so the same case runs on
gloo ranks and, for its graphs alone, on the fake process group.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
)

WIDTH, HEADS, TOKENS, BATCH = 32, 4, 16, 2
LAYERS = 2


@dataclass
class Step:
    """A model to train: `function(*inputs)` gives its loss.

    compile:  returns `function` with the parts that are to be compiled
              compiled by its argument.
    context:  what a step has to run in, for the same argument.
    backwards: of each of a step's micro-batches, what makes the context of its
              forward and backward.
    """

    function: Callable
    inputs: Sequence[torch.Tensor]
    parameters: Sequence[torch.Tensor]
    compile: Callable[[Callable], Callable]
    context: Callable = lambda compiler: contextlib.nullcontext()
    backwards: Sequence[Callable] = (contextlib.nullcontext,)


#: What builds each case's step, by name; filled by `case`.
CASES: dict[str, Callable[[], Step]] = {}


def case(name: str) -> Callable:
    """Registers what builds the step called `name`."""

    def register(build: Callable[[], Step]) -> Callable[[], Step]:
        CASES[name] = build
        return build

    return register


# -- models -------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, heads: int = HEADS):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        q, k, v = (
            linear(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
            for linear in (self.query, self.key, self.value)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH, bias=False)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH, bias=False)
        self.mlp = MLP()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """A few blocks; its forward is a loss."""

    def __init__(self, block: Callable = Block, layers: Optional[int] = None):
        super().__init__()
        self.layers = nn.ModuleList(block() for _ in range(layers or LAYERS))
        self.norm = nn.LayerNorm(WIDTH, bias=False)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x).square().mean()


def tokens(batch: int = BATCH) -> torch.Tensor:
    """Returns this rank's part of the batch."""
    generator = torch.Generator().manual_seed(1 + dist.get_rank())
    return torch.randn(batch, TOKENS, WIDTH, generator=generator)


def whole(model: nn.Module, *inputs: torch.Tensor, **fields) -> Step:
    """A step of `model`, compiled as a whole."""
    return Step(
        model,
        inputs or (tokens(),),
        list(model.parameters()),
        lambda compiler: compiler(model),
        **fields,
    )


def make(block: Callable = Block, layers: Optional[int] = None) -> Transformer:
    torch.manual_seed(0)
    return Transformer(block, layers)


def world_mesh(*shape: int, names: Sequence[str] = ("dp",)):
    return init_device_mesh(
        "cpu", shape or (dist.get_world_size(),), mesh_dim_names=tuple(names)
    )


# -- data parallelism ---------------------------------------------------------


def sharded(model: nn.Module, mesh=None, **precision) -> nn.Module:
    from commsched.torch.sharding import MixedPrecision, shard_parameters

    types = {"param_dtype": torch.float32, "reduce_dtype": torch.float32}
    types.update(precision)
    shard_parameters(model, mesh or world_mesh(), MixedPrecision(**types))
    return model


@case("simple FSDP")
def simple_fsdp() -> Step:
    return whole(sharded(make()))


@case("simple FSDP, bf16 gathers")
def simple_fsdp_bf16() -> Step:
    return whole(
        sharded(make(), param_dtype=torch.bfloat16).to(torch.float32),
        tokens().bfloat16(),
    )


@case("HSDP")
def hsdp() -> Step:
    size = dist.get_world_size()
    mesh = world_mesh(
        max(1, size // 2), min(2, size), names=("replicate", "dp")
    )
    return whole(sharded(make(), mesh))


@case("replicated parameters")
def replicated() -> Step:
    """Data parallelism whose all-reduces autograd puts into the graph."""
    model, mesh = make(), world_mesh()
    for module in list(model.modules()):
        names = [n for n, p in module._parameters.items() if p is not None]
        for name in names:
            parameter = module._parameters[name]
            module._parameters[name] = nn.Parameter(
                distribute_tensor(
                    parameter.detach(), mesh, [Replicate()], src_data_rank=None
                )
            )
        if names:
            _local_on_read(module, names)
    return whole(model)


def _local_on_read(module: nn.Module, names: Sequence[str]) -> None:
    """Reading a parameter gives its local tensor; gradients are averaged."""

    def local(name):
        return property(
            lambda self: self._parameters[name]
            .redistribute(placements=[Replicate()])
            .to_local(grad_placements=[Partial("avg")])
        )

    module.__class__ = type(
        type(module).__name__,
        (type(module),),
        {
            **{name: local(name) for name in names},
            "__module__": type(module).__module__,
        },
    )


@case("DDP, python_reducer")
def ddp_python_reducer() -> Step:
    """DDP whose all-reduces compiled autograd puts into its graph."""
    with torch._dynamo.config.patch(optimize_ddp="python_reducer"):
        model = nn.parallel.DistributedDataParallel(make())

    @contextlib.contextmanager
    def context(compiler) -> Iterator[None]:
        import torch._dynamo.compiled_autograd as compiled_autograd

        with torch._dynamo.config.patch(optimize_ddp="python_reducer"):
            if compiler is None:
                yield
                return
            with compiled_autograd._enable(compiler):
                yield

    return whole(model, context=context)


# -- tensor, sequence and context parallelism ---------------------------------


def _parallelized(sequence: bool) -> nn.Module:
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        PrepareModuleInput,
        RowwiseParallel,
        SequenceParallel,
        parallelize_module,
    )

    class Feed(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(WIDTH, bias=False)
            self.mlp = MLP()

        def forward(self, x):
            return x + self.mlp(self.norm(x))

    model, mesh = make(Feed), world_mesh(names=("tp",))
    rows = Shard(1)
    for layer in model.layers:
        plan = {"mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel()}
        if sequence:
            plan = {
                "norm": SequenceParallel(),
                "mlp": PrepareModuleInput(
                    input_layouts=(rows,), desired_input_layouts=(Replicate(),)
                ),
                "mlp.up": ColwiseParallel(),
                "mlp.down": RowwiseParallel(
                    output_layouts=rows, use_local_output=False
                ),
            }
        parallelize_module(layer, mesh, plan)
    if sequence:
        parallelize_module(model.norm, mesh, SequenceParallel())
    return model


@case("tensor parallelism")
def tensor_parallelism() -> Step:
    torch.manual_seed(1)
    return whole(_parallelized(False), torch.randn(BATCH, TOKENS, WIDTH))


@case("sequence parallelism")
def sequence_parallelism() -> Step:
    torch.manual_seed(1)
    model = _parallelized(True)
    x = torch.randn(BATCH, TOKENS // dist.get_world_size(), WIDTH)

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            mesh = self.model.norm.weight.device_mesh
            x = DTensor.from_local(x, mesh, [Shard(1)], run_check=False)
            for layer in self.model.layers:
                x = layer(x)
            return self.model.norm(x).to_local().square().mean()

    return whole(Whole(), x)


@case("context parallelism")
def context_parallelism() -> Step:
    """A ring: keys and values go round the ranks, a part at a time."""
    group = dist.group.WORLD
    size = dist.get_world_size()
    ring = [(rank + 1) % size for rank in range(size)]

    class Ring(Attention):
        def forward(self, x):
            q, k, v = self.query(x), self.key(x), self.value(x)
            total = torch.zeros_like(q)
            weights = torch.zeros_like(q[..., :1])
            for turn in range(size):
                if turn:
                    k, v = (_permuted(t, ring, group) for t in (k, v))
                scores = (q @ k.transpose(-1, -2) / WIDTH**0.5).exp()
                total = total + scores @ v
                weights = weights + scores.sum(-1, keepdim=True)
            return self.out(total / weights)

    class RingBlock(Block):
        def __init__(self):
            super().__init__()
            self.attention = Ring()

    model = make(RingBlock)
    return whole(model)


class _Permuted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, ring, group):
        ctx.ring, ctx.group = ring, group
        return _sent_round(x, ring, group)

    @staticmethod
    def backward(ctx, gradient):
        back = [ctx.ring.index(rank) for rank in range(len(ctx.ring))]
        return _sent_round(gradient, back, ctx.group), None, None


def _sent_round(x, ring, group):
    return funcol.permute_tensor(x.flatten(), ring, group).view(x.shape)


def _permuted(x, ring, group):
    return _Permuted.apply(x, ring, group)


# -- expert parallelism -------------------------------------------------------


@case("expert parallelism")
def expert_parallelism() -> Step:
    """Tokens go to the ranks that hold their experts: how many, only the
    device knows."""
    group, size = dist.group.WORLD, dist.get_world_size()

    class Experts(MLP):
        def __init__(self):
            super().__init__()
            self.router = nn.Linear(WIDTH, size)

        def forward(self, x):
            flat = x.flatten(0, 1)
            scores, chosen = self.router(flat).softmax(-1).max(-1)
            order = chosen.argsort(stable=True)
            sent = F.one_hot(chosen, size).sum(0)
            received = funcol.all_to_all_single(
                sent, [1] * size, [1] * size, group
            )
            sent, received = sent.tolist(), received.tolist()
            for count in (*sent, *received):
                torch._check(count >= 0)
            torch._check(sum(sent) == flat.shape[0])
            there = funcol.all_to_all_single_autograd(
                flat[order], received, sent, group
            )
            back = funcol.all_to_all_single_autograd(
                super().forward(there), sent, received, group
            )
            back = back[order.argsort()] * scores[:, None]
            return back.view_as(x)

    class Sparse(Block):
        def __init__(self):
            super().__init__()
            self.mlp = Experts()

    @contextlib.contextmanager
    def context(compiler) -> Iterator[None]:
        with torch._dynamo.config.patch(
            capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True
        ):
            yield

    return whole(make(Sparse), context=context)


# -- forms of compilation -----------------------------------------------------


class BrokenBlock(Block):
    def forward(self, x):
        x = super().forward(x)
        torch._dynamo.graph_break()
        return x


@case("graph breaks")
def graph_breaks() -> Step:
    return whole(sharded(make(BrokenBlock)))


@case("one graph per block")
def per_block() -> Step:
    model = sharded(make())

    def compile_blocks(compiler):
        layers = [compiler(layer) for layer in model.layers]

        def run(x):
            for layer in layers:
                x = layer(x)
            return model.norm(x).square().mean()

        return run

    return Step(model, (tokens(),), list(model.parameters()), compile_blocks)


@case("dynamic shapes")
def dynamic_shapes() -> Step:
    model = sharded(make())
    x = tokens()
    torch._dynamo.mark_dynamic(x, 0)
    return whole(model, x)


@case("activation checkpointing")
def checkpointing() -> Step:
    from torch.utils.checkpoint import checkpoint

    group = dist.group.WORLD

    class Reduced(MLP):
        def forward(self, x):
            return _Reduced.apply(super().forward(x), group)

    class Saved(Block):
        def __init__(self):
            super().__init__()
            self.mlp = Reduced()

        def forward(self, x):
            return checkpoint(super().forward, x, use_reentrant=False)

    return whole(make(Saved))


class _Reduced(torch.autograd.Function):
    """Tensor parallelism by hand: sums of parts, whose gradient each part
    has."""

    @staticmethod
    def forward(ctx, x, group):
        return funcol.all_reduce(x, "sum", group).clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


@case("dropout and buffers")
def dropout_and_buffers() -> Step:
    class Noisy(Block):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(WIDTH))
            self.batch_norm = nn.BatchNorm1d(TOKENS)

        def forward(self, x):
            self.count.add_(x.detach().sum((0, 1)))
            return F.dropout(super().forward(self.batch_norm(x)), 0.1)

    model = make(Noisy)
    return whole(sharded(model))
