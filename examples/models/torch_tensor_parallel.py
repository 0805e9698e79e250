# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor and sequence parallelism of the Llama, by DTensor.

The products of a layer are split by columns, then by rows, over the ranks of a
mesh dimension; between them, every rank has all of the sequence. What lies
between the layers, norms and residual sums, is split along the sequence
(Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
Models", 2022). So an all-gather stands before the products and a
reduce-scatter behind them. The output projection and the loss are split along
the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Placement, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from commsched.torch.sharding import shard_parameters
from decoder_sizes import LlamaConfig
from torch_llama import Llama

#: Where the sequence is in the activations of a model with the sequence first.
_SEQUENCE = Shard(0)


def check_divides(config: LlamaConfig, sequence: int, ranks: int) -> None:
    """Raise ValueError where ``ranks`` does not divide what is split."""
    split = {
        "sequence": sequence,
        "num_heads": config.num_heads,
        "num_kv_heads": config.num_kv_heads,
        "ffn_dim": config.ffn_dim,
        "vocab_size": config.vocab_size,
    }
    for name, size in split.items():
        if size % ranks:
            raise ValueError(
                f"tensor {ranks} does not divide {name} {size} of the model"
            )


def parallelize(model: Llama, mesh: DeviceMesh) -> set[str]:
    """Split ``model`` over the dimension ``tp`` of ``mesh``, and every rank's
    part of each parameter over the other dimensions.

    ``model`` has the sequence first. It has to run with
    ``torch.distributed.tensor.parallel.loss_parallel``. Returns the names of
    the parameters that are split over ``tp``.
    """
    names = mesh.mesh_dim_names
    tensor = mesh["tp"]
    parallelize_module(model, tensor, _plan(model))
    model.register_forward_hook(_local_loss)
    placements = {
        module: _own_parts(module) for module in list(model.modules())
    }
    others = tuple(name for name in names if name != "tp")
    shard_parameters(model, mesh[others])
    for module, own in placements.items():
        if own:
            _split_on_read(module, own, tensor)
    return {
        f"{path}.{name}"
        for path, module in model.named_modules()
        for name, own in placements[module].items()
        if any(placement.is_shard() for placement in own)
    }


def _plan(model: Llama) -> dict[str, ParallelStyle]:
    plan: dict[str, ParallelStyle] = {
        "embedding": RowwiseParallel(
            input_layouts=Replicate(), output_layouts=_SEQUENCE
        ),
        "norm": SequenceParallel(sequence_dim=_SEQUENCE.dim),
        "output": ColwiseParallel(
            input_layouts=_SEQUENCE,
            output_layouts=Shard(-1),
            use_local_output=False,
        ),
    }
    for index in range(len(model.layers)):
        for name, style in _layer_plan().items():
            plan[f"layers.{index}.{name}"] = style
    return plan


def _layer_plan() -> dict[str, ParallelStyle]:
    return {
        "attention_norm": SequenceParallel(sequence_dim=_SEQUENCE.dim),
        "attention": _whole_sequence(arguments=3),
        "attention.wq": ColwiseParallel(),
        "attention.wk": ColwiseParallel(),
        "attention.wv": ColwiseParallel(),
        "attention.wo": RowwiseParallel(output_layouts=_SEQUENCE),
        "ffn_norm": SequenceParallel(sequence_dim=_SEQUENCE.dim),
        "feed_forward": _whole_sequence(arguments=1),
        "feed_forward.w1": ColwiseParallel(),
        "feed_forward.w2": RowwiseParallel(output_layouts=_SEQUENCE),
        "feed_forward.w3": ColwiseParallel(),
    }


def _whole_sequence(arguments: int) -> ParallelStyle:
    """Gathers the first of a module's arguments along the sequence."""
    rest = (None,) * (arguments - 1)
    return PrepareModuleInput(
        input_layouts=(_SEQUENCE, *rest),
        desired_input_layouts=(Replicate(), *rest),
    )


def _local_loss(module: nn.Module, args: Any, loss: DTensor):
    """Every rank has the whole loss."""
    return loss.to_local()


def _own_parts(module: nn.Module) -> dict[str, Sequence[Placement]]:
    """Turn the parameters of ``module`` into this rank's parts; returns how
    each was placed."""
    placements = {}
    for name, parameter in module._parameters.items():
        if parameter is None:
            continue
        placements[name] = parameter.placements
        module._parameters[name] = nn.Parameter(parameter.detach().to_local())
    return placements


def _split_on_read(
    module: nn.Module,
    placements: dict[str, Sequence[Placement]],
    mesh: DeviceMesh,
) -> None:
    """Give ``module`` a class in which reading a parameter gives the whole
    one, of which this rank has its part."""
    cls = type(module)

    def whole(name: str) -> property:
        part = getattr(cls, name)
        return property(
            lambda self: DTensor.from_local(
                part.fget(self), mesh, placements[name], run_check=False
            )
        )

    properties: dict[str, Any] = {name: whole(name) for name in placements}
    properties["__module__"] = cls.__module__
    module.__class__ = type(cls.__name__, (cls,), properties)
