# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiny models under FSDP2's `fully_shard` or `DistributedDataParallel`, more of the
cases of parallelisms.py.

What compiles them adopts them before, so that their collectives are in the graph;
else they run as PyTorch made them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable

import torch
import torch.distributed as dist
from parallelisms import (
    BATCH,
    TOKENS,
    WIDTH,
    Block,
    BrokenBlock,
    Step,
    Transformer,
    case,
    make,
    tokens,
    whole,
    world_mesh,
)
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

WORDS = 48


def adopted(model: nn.Module, *inputs: torch.Tensor, **fields) -> Step:
    """A step of `model`, which is adopted and compiled as a whole."""

    def compile_adopted(compiler: Callable) -> Callable:
        from commsched.torch import adopt

        return compiler(adopt(model))

    step = whole(model, *inputs, **fields)
    step.compile = compile_adopted
    return step


def fully_sharded(model: nn.Module, mesh=None, **options) -> nn.Module:
    """`model` under `fully_shard`, each of its layers by itself."""
    mesh = mesh or world_mesh()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, **options)
    return fully_shard(model, mesh=mesh, **options)


@case("FSDP2 (fully_shard)")
def fsdp2() -> Step:
    return adopted(fully_sharded(make()))


@case("FSDP2, bfloat16")
def fsdp2_bf16() -> Step:
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    return adopted(fully_sharded(make(), mp_policy=policy))


# -- activation checkpointing -------------------------------------------------


def _recomputed(**options) -> Step:
    """The layers are wrapped as torchtitan does it."""
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
        checkpoint_wrapper,
    )

    model = make()
    for name, layer in model.layers.named_children():
        model.layers.register_module(name, checkpoint_wrapper(layer, **options))
    return adopted(fully_sharded(model))


@case("FSDP2, full checkpointing")
def fsdp2_full() -> Step:
    return _recomputed()


@case("FSDP2, selective checkpointing")
def fsdp2_selective() -> Step:
    from torch.utils.checkpoint import (
        CheckpointPolicy,
        create_selective_checkpoint_contexts,
    )

    saved = (
        torch.ops.aten.mm.default,
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
    )

    def choose(context, operator, *args, **kwargs):
        if operator in saved:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    return _recomputed(
        context_fn=functools.partial(create_selective_checkpoint_contexts, choose)
    )


# -- more dimensions ----------------------------------------------------------


@case("FSDP2 over HSDP")
def fsdp2_hsdp() -> Step:
    mesh = world_mesh(dist.get_world_size() // 2, 2, names=("replicate", "dp"))
    return adopted(fully_sharded(make(), mesh))


@case("FSDP2 x tensor parallelism")
def fsdp2_tensor_parallelism() -> Step:
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = world_mesh(dist.get_world_size() // 2, 2, names=("dp", "tp"))
    model = make()
    for layer in model.layers:
        plan = {"mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel()}
        parallelize_module(layer, mesh["tp"], plan)
    torch.manual_seed(1 + mesh.get_local_rank("dp"))
    inputs = torch.randn(BATCH, TOKENS, WIDTH)
    return adopted(fully_sharded(model, mesh["dp"]), inputs)


# -- tied weights and accumulation --------------------------------------------


class Language(Transformer):
    """Words in, and a loss out; one weight embeds them and is the head's."""

    def __init__(self):
        super().__init__(Block)
        self.embedding = nn.Embedding(WORDS, WIDTH)
        nn.init.normal_(self.embedding.weight, std=0.05)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words):
        x = self.embedding(words)
        for layer in self.layers:
            x = layer(x)
        logits = self.head(self.norm(x))[:, :-1].flatten(0, 1)
        return nn.functional.cross_entropy(logits, words[:, 1:].flatten())


@case("FSDP2, tied weights")
def fsdp2_tied() -> Step:
    torch.manual_seed(0)
    model = fully_sharded(Language())
    words = tokens().view(BATCH, -1).mul(100).long().remainder(WORDS)
    return adopted(model, words[:, :TOKENS])


@case("FSDP2, accumulated")
def fsdp2_accumulated() -> Step:
    """Three micro-batches, of which the last reduces the gradients of all."""
    model = fully_sharded(make())

    def synchronizing(reduces: bool) -> contextlib.AbstractContextManager:
        model.set_requires_gradient_sync(reduces)
        model.set_is_last_backward(reduces)
        return contextlib.nullcontext()

    contexts = [functools.partial(synchronizing, r) for r in (False, False, True)]
    return adopted(model, backwards=contexts)


# -- forms of compilation -----------------------------------------------------


@case("FSDP2, graph breaks")
def fsdp2_graph_breaks() -> Step:
    return adopted(fully_sharded(make(BrokenBlock, layers=2)))


@case("FSDP2, one graph per block")
def fsdp2_per_block() -> Step:
    model = fully_sharded(make(layers=2))

    def compile_blocks(compiler: Callable) -> Callable:
        from commsched.torch import adopt

        adopt(model)
        for name, layer in model.layers.named_children():
            model.layers.register_module(name, compiler(layer))
        return model

    step = whole(model)
    step.compile = compile_blocks
    return step


# -- replicated data parallelism -----------------------------------------------


@case("DDP")
def ddp() -> Step:
    return adopted(nn.parallel.DistributedDataParallel(make()))


@case("DDP, no_sync")
def ddp_no_sync() -> Step:
    model = nn.parallel.DistributedDataParallel(make())
    return adopted(model, backwards=(model.no_sync, contextlib.nullcontext))
