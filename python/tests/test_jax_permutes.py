# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows that a stencil of JAX exchanges travel together."""

import pytest

pytest.importorskip("jax")

import jax_models  # noqa: E402, F401  Makes eight devices of the processor.
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType, PartitionSpec as P  # noqa: E402

import commsched.jax as cs  # noqa: E402

UP = [(i, (i + 1) % 8) for i in range(8)]
DOWN = [(i, (i - 1) % 8) for i in range(8)]


def stencil(*fields):
    results = []
    for field in fields:
        north = jax.lax.ppermute(field[-1:], "x", UP)
        south = jax.lax.ppermute(field[:1], "x", DOWN)
        results.append(
            jnp.concatenate([north, field[:-1]])
            + jnp.concatenate([field[1:], south])
        )
    return tuple(results)


@pytest.mark.parametrize("mode", ["copy", "coalesced"])
def test_permutes_of_a_stencil_are_merged(mode):
    mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
    step = jax.jit(
        jax.shard_map(stencil, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    )
    random = np.random.default_rng(0)
    fields = [
        jnp.asarray(random.standard_normal((64, 16), np.float32))
        for _ in range(4)
    ]
    lowered = step.lower(*fields)
    assert lowered.as_text().count("stablehlo.collective_permute") == 8
    scheduled = cs.schedule(lowered, mode=mode, memory_budget="100%")
    assert scheduled.as_text().count("stablehlo.collective_permute") == 2
    for result, expected in zip(scheduled.compile()(*fields), step(*fields)):
        assert np.array_equal(result, expected)
