# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules under Inductor: that its code has their order."""

import pytest

pytest.importorskip("torch")

import torch

import commsched.torch as cs
import seeds
from commsched.torch.compiling import inductor
from generated_code import (
    EXTERNAL,
    events_of_code,
    events_of_graph,
    without_compiler,
)
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


@pytest.fixture
def copies(monkeypatch):
    """How many kernels copy what is merged, by graph that was scheduled."""
    seen = []
    schedule = inductor.optimize_graph

    def record(gm, *args, **kw):
        done = schedule(gm, *args, **kw)
        nodes = gm.graph.nodes
        packs = [n for n in nodes if n.name.endswith("_bucket_copy_in")]
        unpacks = [n for n in nodes if n.name.endswith("_of_bucket_copy")]
        seen.append(
            sum(not is_written_in_place(part) for n in packs for part in n.args[0])
            + sum(map(is_needed_whole, unpacks))
        )
        return done

    monkeypatch.setattr(inductor, "optimize_graph", record)
    return seen


VIEWS = ("view", "permute", "reshape")


def operator_of(node):
    return str(node.target).split(".")[1] if node.op == "call_function" else None


def is_written_in_place(part):
    """Whether what computes a part of a buffer can write it there."""
    while operator_of(part) in VIEWS and len(part.users) == 1:
        part = part.args[0]
    return part.op == "call_function" and len(part.users) == 1


def is_needed_whole(node):
    """Whether an external call or the backward reads a tensor, so that no kernel of
    Inductor's can compute it as it goes."""
    return any(
        user.op == "output"
        or operator_of(user) in EXTERNAL
        or operator_of(user) in VIEWS and is_needed_whole(user)
        for user in node.users
    )


# In f32 Inductor computes two sums together of which the schedule sends one before
# what the other one needs.
@pytest.mark.parametrize("precision, apart", seeds.turns([(F32, 1), (BF16, 0)], 1))
def test_kernels_are_inductors_and_those_that_copy(
    opt_program, fake_world, codegen, copies, precision, apart
):
    from torch._inductor import config
    from torch._inductor.scheduler import NopKernelSchedulerNode

    def count(**settings):
        kernels = []

        def count_kernels(nodes):
            kernels.append(
                sum(
                    not (node.is_extern() or isinstance(node, NopKernelSchedulerNode))
                    for node in nodes
                )
            )
            return nodes

        model = sharded(fake_world, precision)
        with config.patch(_post_fusion_custom_pass=count_kernels):
            codegen(torch.compile(model, **settings), TOKENS)
        return kernels

    plain = count()
    options = {"mode": "copy", "target": "h100", "strict": True}
    merged = count(backend="commsched", options=options)
    assert len(plain) == len(merged) == len(copies) == 2
    assert copies[0] > 0
    assert merged[0] <= plain[0] + copies[0]
    assert merged[1] <= plain[1] + copies[1] + apart
