# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One training step of a model, sharded over the devices of a mesh.

Run as ``python examples/models/jax_step.py --model llama3-8b --devices 64 -o
step.mlir``, it writes the step as a StableHLO module; ``--help`` lists every
option. The step is lowered for shapes and an abstract mesh: it takes neither
the devices nor the memory of the model.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
from collections.abc import Sequence
from typing import Any, Optional

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_llama as llama
import tracing
from commsched.jax import private
from commsched.jax.schedule import module_text
from commsched.output import positive
from decoder_sizes import CONFIGS, LlamaConfig
from jax_llama import AXIS

OPTIMIZERS = ("adam", "sgd", "none")


@dataclasses.dataclass(frozen=True)
class StepOptions:
    """What step to make.

    model:     one of `decoder_sizes.CONFIGS`.
    devices:   devices that parameters and sequences are sharded over.
    layers:    decoder layers, in place of the model's own number.
    sequence:  tokens of a sequence.
    batch:     sequences of one device.
    scan:      loop over the layers, whose parameters are then stacked.
    optimizer: one of `OPTIMIZERS`; "none" returns gradients.
    """

    model: str = "llama3-8b"
    devices: int = 64
    layers: Optional[int] = None
    sequence: int = 8192
    batch: int = 1
    scan: bool = False
    optimizer: str = "adam"

    def config(self) -> LlamaConfig:
        """Returns the sizes of the model. Raises ValueError if the devices
        cannot share a parameter evenly."""
        config = CONFIGS[self.model].with_layers(self.layers)
        shapes = llama.parameter_shapes(config, False)
        for shape in jax.tree.leaves(shapes, is_leaf=_is_shape):
            if shape[0] % self.devices:
                raise ValueError(
                    f"{self.devices} devices cannot share {shape[0]} rows of "
                    f"a parameter of {self.model} evenly"
                )
        return config


def _is_shape(tree: Any) -> bool:
    return isinstance(tree, tuple)


def abstract_mesh(devices: int) -> AbstractMesh:
    """Returns a mesh of devices that need not be there."""
    return AbstractMesh((devices,), (AXIS,), axis_types=(AxisType.Auto,))


def make_step(options: StepOptions, mesh: Any) -> Any:
    """Returns a jitted function `step(state, tokens, labels)` that gives the
    next state and the mean loss.

    The state is a tuple of trees of sharded arrays: the parameters and what
    the optimizer keeps of each. It is donated. Without an optimizer the
    function gives the gradients in place of the next state.
    """
    config = options.config()
    specs = state_specs(options)
    results = specs if options.optimizer != "none" else specs[0]
    tokens = options.devices * options.batch * options.sequence

    def local_step(state: tuple, inputs: jax.Array, labels: jax.Array):
        loss, gradients = jax.value_and_grad(
            lambda p: llama.forward(config, p, inputs, labels) / tokens
        )(state[0])
        loss = lax.psum(loss, AXIS)
        return update(options.optimizer, state, gradients), loss

    step = jax.shard_map(
        local_step,
        mesh=mesh,
        in_specs=(specs, P(AXIS), P(AXIS)),
        out_specs=(results, P()),
        check_vma=False,
    )
    donated = (0,) if options.optimizer != "none" else ()
    return jax.jit(step, donate_argnums=donated)


def update(optimizer: str, state: tuple, gradients: Any) -> Any:
    """Returns the state after one step of the optimizer, or the gradients if
    there is none."""
    if optimizer == "none":
        return gradients
    if optimizer == "sgd":
        return (jax.tree.map(lambda p, g: p - 0.1 * g, state[0], gradients),)
    parameters, first, second = state
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(
        lambda v, g: 0.95 * v + 0.05 * (g * g), second, gradients
    )
    parameters = jax.tree.map(
        lambda p, m, v: p - 3e-4 * m / (jnp.sqrt(v) + 1e-8),
        parameters,
        first,
        second,
    )
    return parameters, first, second


def state_specs(options: StepOptions) -> tuple:
    """Returns how each array of the state is sharded: along its first
    dimension, or the second of those that stack all layers."""
    shapes = llama.parameter_shapes(options.config(), options.scan)
    specs = jax.tree.map(lambda _: P(AXIS), shapes, is_leaf=_is_shape)
    if options.scan:
        specs["layers"] = {name: P(None, AXIS) for name in specs["layers"]}
    return (specs,) * (3 if options.optimizer == "adam" else 1)


def abstract_arguments(options: StepOptions, mesh: Any) -> tuple:
    """Returns the arguments of the step as shapes, types and shardings."""
    shapes = llama.parameter_shapes(options.config(), options.scan)
    abstract = functools.partial(_abstract, mesh)
    state = tuple(
        jax.tree.map(
            lambda shape, spec: abstract(shape, jnp.float32, spec),
            shapes,
            specs,
            is_leaf=_is_shape,
        )
        for specs in state_specs(options)
    )
    rows = options.devices * options.batch
    tokens = abstract((rows, options.sequence), jnp.int32, P(AXIS))
    return state, tokens, tokens


def _abstract(mesh: Any, shape: tuple, dtype: Any, spec: P) -> Any:
    return jax.ShapeDtypeStruct(
        shape, dtype, sharding=NamedSharding(mesh, spec)
    )


def random_arguments(options: StepOptions, mesh: Mesh, seed: int = 0) -> tuple:
    """Returns arguments of the step on the devices of a mesh: random weights,
    and as tokens sequences that a model can learn."""
    state, tokens, _ = abstract_arguments(options, mesh)
    leaves, tree = jax.tree.flatten(state[0])
    keys = jax.random.split(jax.random.key(seed), len(leaves) + 1)
    weights = [_weight(key, leaf) for key, leaf in zip(keys, leaves)]
    rest = [jax.tree.map(_zeros, other) for other in state[1:]]
    vocabulary = options.config().vocab_size
    rows, length = tokens.shape
    first = jax.random.randint(keys[-1], (rows, 1), 0, vocabulary)
    text = (first + 3 * jnp.arange(length + 1)) % vocabulary
    put = functools.partial(jax.device_put, device=tokens.sharding)
    return (
        (jax.tree.unflatten(tree, weights), *rest),
        put(text[:, :-1]),
        put(text[:, 1:]),
    )


def _zeros(leaf: Any) -> jax.Array:
    return jax.device_put(jnp.zeros(leaf.shape, leaf.dtype), leaf.sharding)


def _weight(key: Any, leaf: Any) -> jax.Array:
    """Ones for a vector, which scales a norm, else normal numbers."""
    # Those of all layers are stacked along a dimension that is not sharded.
    is_stacked = leaf.sharding.spec[0] is None
    if len(leaf.shape) - is_stacked < 2:
        value = jnp.ones(leaf.shape, leaf.dtype)
    else:
        scale = leaf.shape[-2] ** -0.5
        value = scale * jax.random.normal(key, leaf.shape, leaf.dtype)
    return jax.device_put(value, leaf.sharding)


def lower_step(options: StepOptions) -> Any:
    """Lowers the step for devices that need not be there."""
    mesh = abstract_mesh(options.devices)
    step = make_step(options, mesh)
    traced = step.trace(*abstract_arguments(options, mesh))
    return traced.lower(lowering_platforms=("cuda",))


def trace_text(options: StepOptions, locations: bool = False) -> str:
    """Returns the step as the text of a module in generic form. Raises
    ValueError for a model that the devices cannot share."""
    return module_text(private.module_of(lower_step(options)), locations)


def _parser() -> argparse.ArgumentParser:
    parser = tracing.make_parser(
        "examples/models/jax_step.py",
        "Lower one training step of a model whose parameters are "
        "sharded over devices (gathered in bfloat16, gradients reduced in "
        "float32) with jax.shard_map, and write it as a StableHLO module in "
        "generic form.",
        CONFIGS,
    )
    add = parser.add_argument
    add(
        "--devices",
        required=True,
        type=positive,
        metavar="N",
        help="devices that every parameter is sharded over",
    )
    tracing.add_size_arguments(
        parser, StepOptions.sequence, StepOptions.batch, holder="device"
    )
    add(
        "--scan",
        action="store_true",
        help="loop over the layers with lax.scan",
    )
    add(
        "--optimizer",
        choices=OPTIMIZERS,
        default=StepOptions.optimizer,
        help="update of the sharded parameters; none returns gradients",
    )
    add(
        "--locations",
        action="store_true",
        help="write where in Python each operation comes from",
    )
    return parser


def _trace(args: argparse.Namespace) -> str:
    options = StepOptions(**tracing.given(args, StepOptions))
    return trace_text(options, args.locations) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    errors = (ValueError, private.UnknownJax)
    return tracing.run(_parser(), argv, _trace, errors)


if __name__ == "__main__":
    sys.exit(main())
