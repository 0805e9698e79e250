# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules under Inductor: that its code has their order."""

import pytest

pytest.importorskip("torch")

import torch

import commsched.torch as cs
from commsched.torch.compiling import inductor
from generated_code import events_of_code, events_of_graph, without_compiler
from language_model import Model

BF16 = cs.MixedPrecision(torch.bfloat16, torch.float32)
F32 = cs.MixedPrecision(torch.float32, torch.float32)


@pytest.fixture
def codegen(monkeypatch):
    """Returns a function that runs `step` and its backward and returns the
    code of its graphs. Kernels are generated but not compiled: they do
    nothing, as the collectives of a fake process group."""
    from torch._inductor import config
    from torch._inductor.graph import GraphLowering

    codes = []
    monkeypatch.setattr(
        GraphLowering, "save_output_code", staticmethod(codes.append)
    )

    def run(step, *inputs):
        codes.clear()
        torch._dynamo.reset()
        with without_compiler(), config.patch(force_disable_caches=True):
            step(*inputs).backward()
        return list(codes)

    return run


@pytest.fixture
def graphs(monkeypatch):
    """The kinds and orders of the graphs that were scheduled."""
    seen = []
    schedule = inductor.optimize_graph

    def record(gm, kind, *args, **kw):
        done = schedule(gm, kind, *args, **kw)
        seen.append((kind, done, events_of_graph(gm.graph)))
        return done

    monkeypatch.setattr(inductor, "optimize_graph", record)
    return seen


def sharded(world, precision, layers=1):
    from torch.distributed.device_mesh import init_device_mesh

    world(4)
    torch.manual_seed(0)
    model = Model(layers)
    mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("dp",))
    cs.shard_parameters(model, mesh, precision)
    return model


TOKENS = torch.zeros(2, 8, dtype=torch.long)


@pytest.mark.parametrize(
    "precision, buckets",
    [(F32, "off"), (BF16, "auto")],
    ids=["f32, order", "bf16, buckets"],
)
def test_code_has_the_order_of_the_schedule(
    opt_program, fake_world, codegen, graphs, precision, buckets
):
    model = sharded(fake_world, precision, layers=2)
    options = cs.inductor_options(buckets=buckets, strict=True)
    codes = codegen(torch.compile(model, options=options), TOKENS)
    assert [(kind, done) for kind, done, _ in graphs] == [
        ("forward", True),
        ("backward", True),
    ]
    assert len(codes) == 2
    for code, (_, _, events) in zip(codes, graphs):
        assert events_of_code(code) == events
