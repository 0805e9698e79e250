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
from jax.sharding import NamedSharding  # noqa: E402
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
        lowered = traced.lower(lowering_platforms=(platform or self.platforms[0],))
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


def block(weights, x):
    """A transformer block with one head, on full weights."""
    q, k, v = jnp.split(x @ weights["qkv"], 3, axis=-1)
    scores = jax.nn.softmax(q @ k.swapaxes(-1, -2) / 4.0, axis=-1)
    x = x + (scores @ v) @ weights["out"]
    hidden = jax.nn.silu(x @ weights["up"])
    return x + hidden @ weights["down"]


WEIGHTS = {"qkv": (16, 48), "out": (16, 16), "up": (16, 64), "down": (64, 16)}


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
    return lambda sharded: per_device(step, mesh, (sharded, P("fsdp")), (P(), sharded))


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

    layer = per_device(layer, mesh_of(ep=8), (P(), P("ep"), P("ep")), (P("ep"), P()))
    return layer, array(16, 8), array(8, 16, 16), array(32, 16)


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


@model(all_reduce=3, all_gather=1, collective_permute=1)
def conditional_collectives():
    def forward(choice, x):
        y = lax.cond(choice > 1, lambda x: lax.psum(x, "dp"), lambda x: x * 2.0, x)
        branches = [
            lambda x: lax.pmax(x, "dp"),
            lambda x: lax.ppermute(x, "dp", shifted(8, 3)),
            lambda x: lax.all_gather(x, "dp").sum(0),
        ]
        return lax.switch(choice, branches, y), lax.pmin(y, "dp")

    forward = per_device(forward, mesh_of(dp=8), (P(), P("dp")), (P("dp"), P()))
    return forward, array(dtype=jnp.int32), array(16, 4)


@model(all_reduce=2, all_gather=1)
def embedding():
    """A table of which each device holds some rows."""

    def forward(table, tokens):
        first = lax.axis_index("tp") * table.shape[0]
        local = tokens - first
        held = (local >= 0) & (local < table.shape[0])
        rows = jnp.take(table, jnp.where(held, local, 0), axis=0)
        return lax.psum(jnp.where(held[..., None], rows, 0.0), "tp")

    def step(table, tokens, counts):
        loss, gradient = jax.value_and_grad(
            lambda t: jnp.sum(forward(t, tokens))
        )(table)
        counts = counts.at[tokens.ravel()].add(1, mode="drop")
        counts = counts.at[2:4].max(7)
        everywhere = lax.all_gather(gradient, "tp", tiled=True)
        return loss, everywhere.at[tokens].get(mode="clip"), counts

    step = per_device(step, mesh_of(tp=8), (P("tp"), P(), P()), P())
    return (
        step,
        array(64, 8),
        array(2, 4, dtype=jnp.int32),
        array(64, dtype=jnp.int32),
    )


@model(all_gather=7, all_reduce=5)
def element_types():
    """Gathers of what a byte or less holds, and reductions of all kinds."""

    def forward(x):
        narrow = (
            jnp.int8,
            jnp.int4,
            jnp.float8_e4m3fn,
            jnp.float8_e5m2,
            jnp.bfloat16,
            jnp.complex64,
            jnp.bool_,
        )
        gathered = [lax.all_gather(x.astype(d), "dp") for d in narrow]
        reduced = (
            lax.psum(x.astype(jnp.int32), "dp"),
            lax.psum(x.astype(jnp.complex64), "dp"),
            lax.pmax(x.astype(jnp.bfloat16), "dp"),
            lax.pmin(x.astype(jnp.uint8), "dp"),
            lax.psum(x.astype(jnp.float16), "dp"),
        )
        return gathered, reduced

    return per_device(forward, mesh_of(dp=8), P("dp"), P()), array(16, 4)


@model(
    all_gather=1,
    all_reduce=1,
    reduce_scatter=1,
    all_to_all=1,
    collective_permute=1,
    async_start=5,
    async_done=5,
)
def asynchronous():
    from jax._src.lax import parallel

    def forward(x, y):
        gathered = parallel.all_gather_start(x, "dp", tiled=True)
        reduced = parallel.psum_start(y, "dp")
        local = x @ y
        scattered = parallel.psum_scatter_start(local, "dp", tiled=True)
        local = jnp.tanh(local) @ y
        exchanged = parallel.all_to_all_start(local, "dp", 0, 1, tiled=True)
        sent = parallel.ppermute_start(local, "dp", shifted(8))
        whole = gathered.done() @ reduced.done()
        return whole, scattered.done(), sent.done(), exchanged.done()

    forward = per_device(
        forward,
        mesh_of(dp=8),
        (P("dp"), P()),
        (P(), P("dp"), P("dp"), P("dp")),
    )
    return forward, array(64, 16), array(16, 16)


@model()
def sharded_by_the_compiler():
    """No collectives: the partitioner adds them from the shardings."""
    mesh = mesh_of(dp=2, tp=4)

    def loss(weights, x):
        for weight in weights:
            x = jax.nn.relu(x @ weight)
            sharding = NamedSharding(mesh, P("dp", "tp"))
            x = lax.with_sharding_constraint(x, sharding)
        return jnp.mean(x)

    rows = NamedSharding(mesh, P("dp"))
    columns = NamedSharding(mesh, P(None, "tp"))
    step = jax.jit(jax.grad(loss), in_shardings=(columns, rows))
    return step, [array(16, 16)] * 2, array(8, 16)


@model(all_reduce=4, all_gather=1)
def several_axes():
    mesh = mesh_of(dp=2, fsdp=2, tp=2)

    def forward(x, y):
        total = lax.psum((x, y), ("dp", "fsdp"))
        highest = lax.pmax(x, ("fsdp", "tp"))
        everywhere = lax.all_gather(y, ("dp", "tp"))
        return total, highest, everywhere, lax.psum(x.sum(), mesh.axis_names)

    forward = per_device(forward, mesh, (P("dp"), P("fsdp")), (P(), P(), P(), P()))
    return forward, array(8, 4), array(8)


@model(all_gather=1, reduce_scatter=1)
def donated():
    """The state is updated where it is."""
    mesh = mesh_of(dp=8)

    def step(state, x):
        def loss(weight):
            full = lax.all_gather(weight, "dp", tiled=True)
            return jnp.sum(jnp.tanh(x @ full))

        gradient = jax.grad(loss)(state["weight"])
        moment = 0.9 * state["moment"] + gradient
        return {"weight": state["weight"] - moment, "moment": moment}

    step = per_device(step, mesh, (P("dp"), P("dp")), P("dp"))
    sharding = NamedSharding(mesh, P("dp"))
    step = jax.jit(
        step,
        donate_argnums=0,
        in_shardings=sharding,
        out_shardings=sharding,
    )
    state = {"weight": array(16, 8), "moment": array(16, 8)}
    return step, state, array(16, 16)


@model(all_gather=1, reduce_scatter=1, all_reduce=1)
def manual_in_automatic():
    """Only one of two axes is manual, within code that the compiler shards,
    and twice in one function."""
    mesh = mesh_of(dp=2, tp=4)

    def inner(weight, x):
        y = x @ lax.all_gather(weight, "dp", tiled=True)
        return lax.psum_scatter(y, "dp", tiled=True)

    def forward(weight, x):
        first = jax.shard_map(
            inner,
            mesh=mesh,
            in_specs=(P("dp"), P("dp")),
            out_specs=P("dp"),
            axis_names={"dp"},
            check_vma=False,
        )(weight, x)
        total = per_device(lambda y: lax.psum(y.sum(), "tp"), mesh, P(None, "tp"), P())
        return total(jnp.sin(first)), first

    return forward, array(16, 16), array(16, 16)
