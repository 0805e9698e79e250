# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""More of the models of jax_models.py: operations with regions, results of
several types, calls, shardings without collectives, asynchronous starts."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from jax_models import array, mesh_of, model, per_device, shifted


@model(all_gather=2)
def sort_top_k():
    def forward(keys, values):
        keys = lax.all_gather(keys, "dp", tiled=True)
        values = lax.all_gather(values, "dp", tiled=True)
        keys, values = lax.sort((keys, values), num_keys=1)
        return lax.top_k(keys, 4), jnp.argsort(values), jnp.median(values)

    forward = per_device(forward, mesh_of(dp=8), (P("dp"),) * 2, P())
    return forward, array(64), array(64)


@model(all_to_all=2)
def distributed_fft():
    def forward(x):
        x = jnp.fft.fft(x, axis=1)
        x = lax.all_to_all(x, "dp", 1, 0, tiled=True)
        x = jnp.fft.ifft(x, axis=0)
        x = lax.all_to_all(x, "dp", 0, 1, tiled=True)
        return x, jnp.fft.irfft(x), jnp.real(x) + jnp.imag(x)

    forward = per_device(forward, mesh_of(dp=8), P("dp"), P("dp"))
    return forward, array(16, 32, dtype=jnp.complex64)


@model(all_reduce=1, all_gather=1)
def linear_algebra():
    def solve(a, b):
        gram = lax.psum(a.T @ a, "dp") + jnp.eye(8)
        lower = jnp.linalg.cholesky(gram)
        x = lax.linalg.triangular_solve(
            lower, a.T @ b, left_side=True, lower=True
        )
        vectors, values = jnp.linalg.qr(lax.all_gather(x, "dp", tiled=True))
        return x, vectors, values, jnp.linalg.eigh(gram)[1]

    solve = per_device(
        solve,
        mesh_of(dp=8),
        (P("dp"), P("dp")),
        (P(), P(), P(), P()),
    )
    return solve, array(32, 8), array(32, 3)


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


@model(all_reduce=1)
def random_numbers():
    def forward(key, x):
        key = jax.random.fold_in(key, lax.axis_index("dp"))
        first, second = jax.random.split(key)
        noise = jax.random.normal(first, x.shape)
        kept = jax.random.bernoulli(second, 0.9, x.shape)
        bits = lax.rng_bit_generator(jnp.zeros(4, jnp.uint32), (4,))[1]
        mean = lax.pmean(jnp.mean(noise), "dp")
        return jnp.where(kept, x + noise, mean), bits

    forward = per_device(
        forward, mesh_of(dp=8), (P(), P("dp")), (P("dp"), P("dp"))
    )
    return forward, array(2, dtype=jnp.uint32), array(16, 4)


@model(all_gather=5, reduce_scatter=3)
def rematerialized():
    def forward(weights, x):
        policy = jax.checkpoint_policies.dots_saveable

        @functools.partial(jax.checkpoint, policy=policy)
        def layer(weight, x):
            full = lax.all_gather(weight, "dp", tiled=True)
            return jnp.sin(x @ full)

        for weight in weights:
            x = layer(weight, x)
        return jnp.sum(x)

    step = per_device(
        jax.grad(forward), mesh_of(dp=8), (P("dp"), P("dp")), P("dp")
    )
    return step, [array(16, 16)] * 3, array(16, 16)


@model(all_gather=2, reduce_scatter=1, all_reduce=1)
def custom_gradient():
    """A gather whose gradient is reduced in a lower precision."""

    @jax.custom_vjp
    def gather(shard):
        return lax.all_gather(shard, "dp", tiled=True)

    def backward(_, gradient):
        small = gradient.astype(jnp.bfloat16)
        small = lax.psum_scatter(small, "dp", tiled=True)
        return (small.astype(jnp.float32),)

    gather.defvjp(lambda shard: (gather(shard), None), backward)

    def step(weight, x):
        def loss(weight):
            return jnp.sum(jnp.tanh(x @ gather(weight)) ** 2)

        value, gradient = jax.value_and_grad(loss)(weight)
        whole = lax.all_gather(gradient, "dp", axis=1)
        return lax.psum(value, "dp"), gradient, whole

    step = per_device(
        step,
        mesh_of(dp=8),
        (P("dp"), P("dp")),
        (P(), P("dp"), P("dp")),
    )
    return step, array(16, 16), array(16, 16)


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

    forward = per_device(
        forward, mesh, (P("dp"), P("fsdp")), (P(), P(), P(), P())
    )
    return forward, array(8, 4), array(8)


@model(
    platforms=("cuda",), collective_broadcast=1, all_reduce=2, all_gather=2
)
def untiled():
    def forward(x):
        first = lax.pbroadcast(x, ("dp",), 0)
        rows = lax.all_gather(x, "dp", axis=1)
        halves = lax.all_gather(
            x, "dp", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]
        )
        return first, rows, halves, lax.pmin(x, "dp"), lax.pmax(x, "dp")

    return per_device(forward, mesh_of(dp=8), P("dp"), P()), array(16, 4)


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


@model(all_reduce=3)
def nested_functions():
    """Calls inside the region, of functions that communicate and not."""

    @jax.jit
    def normalized(x):
        return x / jnp.sqrt(lax.psum(jnp.sum(x * x), "dp"))

    @jax.jit
    def layer(weight, x):
        return normalized(jax.nn.relu(x @ weight))

    def forward(weight, x):
        for _ in range(3):
            x = layer(weight, x)
        return jax.jit(lambda x: lax.psum(x, "dp"))(x + lax.psum(x, "dp"))

    forward = per_device(forward, mesh_of(dp=8), (P(), P("dp")), P())
    return forward, array(8, 8), array(16, 8)


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
        total = per_device(
            lambda y: lax.psum(y.sum(), "tp"), mesh, P(None, "tp"), P()
        )
        return total(jnp.sin(first)), first

    return forward, array(16, 16), array(16, 16)
