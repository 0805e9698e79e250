# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of different kinds, as JAX programs on eight devices, and the
collectives that JAX's lowering of each is known to contain.

Every model is a function of abstract values that is only lowered, never run.
"""

import dataclasses
import os
from collections.abc import Callable

DEVICES = 8
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "")
    + f" --xla_force_host_platform_device_count={DEVICES}"
    # Compiling takes longer than what is run.
    " --xla_backend_optimization_level=0"
)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Model:
    """How to build a model, and what its module contains.

    `collectives` counts the operations of the module by what follows
    `stablehlo.` in their names, or by the target of a custom call;
    asynchronous ones count as what they do and as `async_start`.
    `platforms` are those that JAX lowers the model for.
    """

    name: str
    build: Callable
    platforms: tuple
    collectives: dict

    def lower(self, platform=None):
        """Returns jaxlib's module of the model, by default for the first
        of its platforms."""
        function, *arguments = self.build()
        if not hasattr(function, "trace"):
            function = jax.jit(function)
        traced = function.trace(*arguments)
        lowered = traced.lower(
            lowering_platforms=(platform or self.platforms[0],)
        )
        return lowered.compiler_ir("stablehlo")


MODELS = {}


def model(platforms=("cpu", "cuda"), **collectives):
    """Enters the decorated function, which returns a function and the
    abstract values of its arguments."""

    def add(build):
        name = build.__name__
        MODELS[name] = Model(name, build, platforms, collectives)
        return build

    return add


def mesh_of(**axes):
    kinds = (jax.sharding.AxisType.Auto,) * len(axes)
    return jax.make_mesh(tuple(axes.values()), tuple(axes), axis_types=kinds)


def array(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def per_device(body, mesh, inputs, outputs):
    return jax.shard_map(
        body, mesh=mesh, in_specs=inputs, out_specs=outputs, check_vma=False
    )


def shifted(count, by=1):
    return [(i, (i + by) % count) for i in range(count)]


@model(all_reduce=5)
def dense_data_parallel():
    def loss(parameters, x):
        for weight, bias in parameters:
            x = jax.nn.gelu(x @ weight + bias)
        return jnp.mean(x**2)

    def step(parameters, x):
        value, gradients = jax.value_and_grad(loss)(parameters, x)
        gradients = jax.tree.map(lambda g: lax.pmean(g, "dp"), gradients)
        update = jax.tree.map(lambda p, g: p - g, parameters, gradients)
        return lax.pmean(value, "dp"), update

    layers = [(array(16, 16), array(16))] * 2
    step = per_device(step, mesh_of(dp=8), (P(), P("dp")), (P(), P()))
    return step, layers, array(32, 16)


def block(weights, x):
    """A transformer block with one head, on full weights."""
    q, k, v = jnp.split(x @ weights["qkv"], 3, axis=-1)
    scores = jax.nn.softmax(q @ k.swapaxes(-1, -2) / 4.0, axis=-1)
    x = x + (scores @ v) @ weights["out"]
    hidden = jax.nn.silu(x @ weights["up"])
    return x + hidden @ weights["down"]


WEIGHTS = {
    "qkv": (16, 48),
    "out": (16, 16),
    "up": (16, 64),
    "down": (64, 16),
}


def gathered(weights):
    return {
        name: lax.all_gather(shard, "fsdp", tiled=True)
        for name, shard in weights.items()
    }


def fsdp_step(forward):
    def step(weights, x):
        value, gradients = jax.value_and_grad(forward)(weights, x)
        return lax.pmean(value, "fsdp"), gradients

    mesh = mesh_of(fsdp=8)
    return lambda sharded: per_device(
        step, mesh, (sharded, P("fsdp")), (P(), sharded)
    )


@model(all_gather=8, reduce_scatter=8, all_reduce=1)
def fsdp_transformer():
    def forward(layers, x):
        for weights in layers:
            x = block(gathered(weights), x)
        return jnp.mean(x)

    weights = {name: array(*shape) for name, shape in WEIGHTS.items()}
    return fsdp_step(forward)(P("fsdp")), [weights] * 2, array(8, 4, 16)


@model(all_gather=8, reduce_scatter=4, all_reduce=1)
def fsdp_transformer_scan():
    """Layers in a loop, gathered again in the backward."""

    def forward(stacked, x):
        @jax.checkpoint
        def layer(x, weights):
            return block(gathered(weights), x), None

        return jnp.mean(lax.scan(layer, x, stacked)[0])

    weights = {name: array(3, *shape) for name, shape in WEIGHTS.items()}
    return fsdp_step(forward)(P(None, "fsdp")), weights, array(8, 4, 16)


@model(all_gather=1, reduce_scatter=1, all_reduce=2)
def tensor_parallel_transformer():
    mesh = mesh_of(dp=2, tp=4)

    def layer(qkv, out, up, down, x):
        full = lax.all_gather(x, "tp", axis=1, tiled=True)
        q, k, v = jnp.split(full @ qkv, 3, axis=-1)
        scores = jax.nn.softmax(q @ k.swapaxes(-1, -2), axis=-1)
        full = full + lax.psum((scores @ v) @ out, "tp")
        hidden = jax.nn.relu(full @ up) @ down
        hidden = lax.psum_scatter(
            hidden, "tp", scatter_dimension=1, tiled=True
        )
        return hidden, lax.pmean(jnp.mean(hidden), ("dp", "tp"))

    column, row = P(None, "tp"), P("tp", None)
    activations = P("dp", "tp")
    layer = per_device(
        layer,
        mesh,
        (column, row, column, row, activations),
        (activations, P()),
    )
    shapes = ((16, 48), (16, 16), (16, 64), (64, 16), (4, 8, 16))
    return layer, *(array(*shape) for shape in shapes)


@model(all_to_all=2, all_reduce=1)
def mixture_of_experts():
    def layer(router, experts, x):
        chosen = jnp.argmax(x @ router, axis=-1)
        onehot = jax.nn.one_hot(chosen, 8)
        slots = jnp.einsum("te,th->eth", onehot, x)
        slots = lax.all_to_all(slots, "ep", 0, 1, tiled=True)
        hidden = jax.nn.relu(slots @ experts)
        back = lax.all_to_all(hidden, "ep", 1, 0, tiled=True)
        balance = lax.psum(onehot.sum(0), "ep")
        return jnp.einsum("te,eth->th", onehot, back), balance

    layer = per_device(
        layer,
        mesh_of(ep=8),
        (P(), P("ep"), P("ep")),
        (P("ep"), P()),
    )
    return layer, array(16, 8), array(8, 16, 16), array(32, 16)


@model(all_to_all=1, ragged_all_to_all=1)
def ragged_experts():
    """The ragged exchange is a custom call."""

    def exchange(x, space, sizes):
        offsets = jnp.cumsum(sizes) - sizes
        received = lax.all_to_all(sizes, "ep", 0, 0, tiled=True)
        return lax.ragged_all_to_all(
            x, space, offsets, sizes, offsets, received, axis_name="ep"
        )

    exchange = per_device(exchange, mesh_of(ep=8), (P("ep"),) * 3, P("ep"))
    return (
        exchange,
        array(128, 4),
        array(256, 4),
        array(64, dtype=jnp.int32),
    )


@model(collective_permute=2, all_reduce=1)
def pipeline():
    def step(weights, microbatches):
        stage = lax.axis_index("pp")

        def tick(carried, microbatch):
            x = jnp.where(stage == 0, microbatch, carried)
            y = jnp.tanh(x @ weights)
            return lax.ppermute(y, "pp", shifted(8)), y

        start = jnp.zeros_like(microbatches[0])
        last, outputs = lax.scan(tick, start, microbatches)
        back = lax.ppermute(last, "pp", shifted(8, -1))
        return lax.psum(jnp.sum(back) + jnp.sum(outputs), "pp")

    step = per_device(step, mesh_of(pp=8), (P(None, "pp"), P()), P())
    return step, array(16, 128), array(4, 4, 16)


@model(all_reduce=6)
def convolution_batch_norm():
    def forward(kernel, scale, x):
        y = lax.conv_general_dilated(
            x,
            kernel,
            (2, 2),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        mean = lax.pmean(y.mean((0, 1, 2)), "dp")
        variance = lax.pmean(((y - mean) ** 2).mean((0, 1, 2)), "dp")
        y = scale * (y - mean) * lax.rsqrt(variance + 1e-5)
        y = lax.reduce_window(
            y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
        )
        return jnp.sum(y)

    def step(kernel, scale, x):
        gradients = jax.grad(forward, (0, 1))(kernel, scale, x)
        return tuple(lax.psum(g, "dp") for g in gradients)

    step = per_device(step, mesh_of(dp=8), (P(), P(), P("dp")), (P(), P()))
    return step, array(3, 3, 3, 8), array(8), array(8, 16, 16, 3)


@model(all_gather=2, all_reduce=1)
def recurrent_scan():
    def forward(recurrent, inward, x):
        inward = lax.all_gather(inward, "dp", tiled=True)

        def cell(state, x):
            full = lax.all_gather(recurrent, "dp", tiled=True)
            forget, update = jnp.split(x @ inward + state @ full, 2, axis=1)
            state = jax.nn.sigmoid(forget) * state + jnp.tanh(update)
            return state, state

        start = jnp.zeros((x.shape[1], 16))
        state, states = lax.scan(cell, start, x, reverse=True)
        return lax.psum(jnp.sum(state), "dp"), states

    forward = per_device(
        forward,
        mesh_of(dp=8),
        (P("dp"), P("dp"), P(None, "dp")),
        (P(), P(None, "dp")),
    )
    return forward, array(16, 32), array(8, 32), array(5, 16, 8)


@model(all_reduce=3, all_gather=1, collective_permute=1)
def conditional_collectives():
    def forward(choice, x):
        y = lax.cond(
            choice > 1,
            lambda x: lax.psum(x, "dp"),
            lambda x: x * 2.0,
            x,
        )
        branches = [
            lambda x: lax.pmax(x, "dp"),
            lambda x: lax.ppermute(x, "dp", shifted(8, 3)),
            lambda x: lax.all_gather(x, "dp").sum(0),
        ]
        return lax.switch(choice, branches, y), lax.pmin(y, "dp")

    forward = per_device(
        forward, mesh_of(dp=8), (P(), P("dp")), (P("dp"), P())
    )
    return forward, array(dtype=jnp.int32), array(16, 4)


@model(all_reduce=2, collective_permute=1)
def while_collectives():
    """Power iteration until all devices agree that it converged."""

    def forward(matrix, x):
        def unconverged(state):
            step, x, change = state
            return (lax.pmax(change, "dp") > 1e-3) & (step < 10)

        def body(state):
            step, x, _ = state
            y = lax.ppermute(matrix @ x, "dp", shifted(8))
            y = y / jnp.sqrt(lax.psum(jnp.sum(y * y), "dp"))
            return step + 1, y, jnp.max(jnp.abs(y - x))

        return lax.while_loop(unconverged, body, (0, x, jnp.float32(1)))[1]

    forward = per_device(forward, mesh_of(dp=8), (P(), P("dp")), P("dp"))
    return forward, array(4, 4), array(32)


@model(collective_permute=4)
def halo_exchange():
    mesh = mesh_of(x=4, y=2)

    def stencil(grid):
        def side(part, axis, count, by):
            pairs = [
                (i, i + by) for i in range(count) if 0 <= i + by < count
            ]
            return lax.ppermute(part, axis, pairs)

        above = side(grid[-1:], "x", 4, 1)
        below = side(grid[:1], "x", 4, -1)
        left = side(grid[:, -1:], "y", 2, 1)
        right = side(grid[:, :1], "y", 2, -1)
        rows = jnp.concatenate([above, grid, below])
        columns = jnp.concatenate([left, grid, right], axis=1)
        return 0.25 * (
            rows[:-2] + rows[2:] + columns[:, :-2] + columns[:, 2:]
        )

    return per_device(stencil, mesh, P("x", "y"), P("x", "y")), array(32, 16)
