# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules a step of JAX, compiles what comes out and runs it.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 python examples/jax/hello.py

The variable makes eight devices of a processor; leave it out where there are
accelerators.
"""

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, PartitionSpec as P

import commsched.jax

SIZE = 512


def loss(shards, x):
    for shard in shards:
        x = jnp.tanh(x @ jax.lax.all_gather(shard, "fsdp", tiled=True))
    return jnp.mean(x**2)


def train(shards, x):
    gradients = jax.grad(loss)(shards, x)
    return [w - 0.1 * g for w, g in zip(shards, gradients, strict=True)]


devices = (len(jax.devices()),)
mesh = jax.make_mesh(devices, ("fsdp",), axis_types=(AxisType.Auto,))
step = jax.jit(
    jax.shard_map(
        train, mesh=mesh, in_specs=P("fsdp"), out_specs=P("fsdp"), check_vma=False
    )
)
keys = jax.random.split(jax.random.key(0), 4)
shards = [jax.random.normal(key, (SIZE, SIZE)) / 16 for key in keys]
x = jnp.ones((8 * SIZE, SIZE))

scheduled = commsched.jax.schedule(step.lower(shards, x), memory_budget="5%")
print(scheduled.report)
compiled = scheduled.compile()
for _ in range(3):
    shards = compiled(shards, x)
print("sum of the parameters:", sum(float(shard.sum()) for shard in shards))
