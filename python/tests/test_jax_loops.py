# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans whose iterations overlap, or that are unrolled, compute what they
computed."""

import pytest

pytest.importorskip("jax")

import jax_models  # noqa: E402, F401  Makes eight devices of the processor.
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType, PartitionSpec as P  # noqa: E402

from commsched import opt  # noqa: E402
from commsched.jax import private  # noqa: E402


def lower_scan(layers):
    """The loss and the gradients of a scan over layers with sharded
    parameters: the forward pass gathers them in a loop, the backward pass
    scatters their gradients in another."""
    mesh = jax.make_mesh((8,), ("dp",), axis_types=(AxisType.Auto,))

    def loss(stacked, x):
        def layer(x, shard):
            full = jax.lax.all_gather(shard, "dp", tiled=True)
            return jnp.tanh(x @ full), None

        y, _ = jax.lax.scan(layer, x, stacked)
        return jnp.sum(y**2)

    def step(stacked, x):
        value, gradients = jax.value_and_grad(loss)(stacked, x)
        return jax.lax.psum(value, "dp"), gradients

    stacked_spec = P(None, "dp")
    function = jax.jit(
        jax.shard_map(
            step,
            mesh=mesh,
            in_specs=(stacked_spec, P("dp")),
            out_specs=(P(), stacked_spec),
            check_vma=False,
        )
    )
    stacked = jax.random.normal(jax.random.key(0), (layers, 64, 64)) / 8
    arguments = stacked, jax.random.normal(jax.random.key(1), (32, 64))
    return function.lower(*arguments), arguments


@pytest.mark.parametrize(
    "layers, flags, loops",
    [
        (1, "", 2),
        (2, "", 2),
        (7, "", 2),
        (7, "unroll=8 max-depth=1", 0),
    ],
)
def test_scans_compute_alike(opt_program, layers, flags, loops):
    lowered, arguments = lower_scan(layers)
    module = private.module_of(lowered)
    text = opt.run(
        module.operation.get_asm(print_generic_op_form=True),
        "--convert-stablehlo-to-commsched=inline-loops",
        f"--commsched-pipeline-loops=memory-budget=400% {flags}",
        "--convert-commsched-to-stablehlo=version=1.16",
        "--mlir-print-op-generic",
    )
    assert text.count("stablehlo.while") == loops
    if layers == 7 and loops:
        # One gather in front of its loop, and one in it.
        assert text.count('"stablehlo.all_gather"') == 2
    scheduled = private.with_module(lowered, private.parse_like(module, text))
    for a, b in zip(
        jax.tree.leaves(lowered.compile()(*arguments)),
        jax.tree.leaves(scheduled.compile()(*arguments)),
        strict=True,
    ):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
