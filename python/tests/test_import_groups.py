# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Process groups: members, strides, nodes, and groups of another machine."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard

from graphs import build, fake_trace, gather, lines

from commsched.torch import GraphImportError, GraphSpec

c10d = torch.ops._c10d_functional


def reduction(*names):
    """A graph that reduces over groups, by name."""

    def uses(g, x):
        for index, name in enumerate(names):
            x = g.wait(f"w{index}", g.reduce(f"ar{index}", x, name))
        return x

    return build([("x", (4,))], uses)


def declarations(text):
    return [line for line in text.splitlines() if "commsched.group" in line]


@pytest.mark.parametrize("given, declared", [
    (16, "size(16)"),
    ([0, 1, 2, 3], "size(4) ranks_per_node(4)"),
    (range(0, 64, 8), "size(8) ranks_per_node(1) stride(8)"),
    (range(0, 16, 2), "size(8) ranks_per_node(4) stride(2)"),
    ([[0, 3], [1, 2]],
     "size(2) ranks_per_node(2) ranks(dense<[[0, 3], [1, 2]]> : "
     "tensor<2x2xi64>)"),
    ([[0, 2], [1, 3]], "size(2) ranks_per_node(2) stride(2)"),
    ([5], "size(1) ranks_per_node(1)"),
    # By nodes of four.
    (range(16), "size(16) ranks_per_node(4)"),
])
def test_groups_that_the_user_gives(imported, given, declared):
    width = {"ranks_per_node": 4} if given == range(16) else {}
    if isinstance(given, range):
        given = list(given)
    text = imported(reduction("mine"), groups={"mine": given}, **width)
    assert declarations(text) == [f"commsched.group @pg_mine {declared}"]


def test_group_of_unknown_size_names_the_node(imported):
    with pytest.raises(GraphImportError, match="'ar0'.*'pg_nowhere' is unknown"):
        imported(reduction("nowhere"))


def test_size_is_learnt_from_any_graph(imported):
    gather = build([("x", (4,))], lambda g, x: g.gather("ag", x, 3, "far"))
    text = imported(reduction("far"), gather)
    assert declarations(text) == ["commsched.group @pg_far size(3)"]


def test_sizes_that_disagree(fake_world, imported):
    group = fake_world(8)
    graph = build([("x", (4,))], lambda g, x: g.gather("ag", x, 4, group))
    with pytest.raises(GraphImportError, match="'ag'.*size 4.*disagrees.* 8"):
        imported(graph)


def test_group_object_and_group_from_a_node(fake_world, imported):
    fake_world(8)

    def uses(g, x):
        held = g.graph.get_attr("world")
        return g.wait("w", g.reduce("ar", x, held))

    text = imported(build([("x", (4,))], uses, world=torch.distributed.group.WORLD))
    assert declarations(text) == ["commsched.group @pg_0 size(8) ranks_per_node(8)"]


def test_devices_of_two_types_share_no_launch(fake_world, imported):
    """Of a model with parameters on both, each has a group of its own here."""
    group = fake_world(8)

    def gathers(*shards):
        return [gather(s, group, 8) for s in shards]

    with FakeTensorMode():
        shards = [torch.empty(4, device=d) for d in ("cpu", "cuda", "cpu")]
        text = imported(fake_trace(gathers, *shards))
    assert declarations(text) == [
        "commsched.group @pg_0 size(8) ranks_per_node(8)",
        "commsched.group @pg_0_cuda size(8) ranks_per_node(8)",
    ]
    used = [line for line in lines(text) if "commsched.all_gather" in line]
    assert ["@pg_0 " in line for line in used] == [True, False, True]


@pytest.mark.parametrize("backend", ["gloo", None])
def test_backend_of_a_group(imported, backend):
    """Given to PyTorch, or its choice for the device."""
    dist = torch.distributed
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    try:
        text = imported(reduction(dist.group.WORLD.group_name))
    finally:
        dist.destroy_process_group()
    (declared,) = declarations(text)
    assert declared.endswith('{commsched.backend = "gloo"}')


def test_groups_and_functions_have_symbols_of_their_own(imported):
    """The second group is known by its members, and would be called so."""
    legacy = torch.ops.c10d_functional

    def uses(g, x):
        a = g.wait("w", g.reduce("a", x, "ranks_0_to_1_by_1"))
        b = g.add("b", legacy.all_reduce, (a, "sum", "", [0, 1], 2), x)
        return g.add("w2", legacy.wait_tensor, (b,), x)

    text = imported(
        GraphSpec("pg_g", build([("x", (4,))], uses)),
        GraphSpec("other", reduction("g")),
        groups={"ranks_0_to_1_by_1": 2, "g": 2},
    )
    assert [line.split()[1] for line in declarations(text)] == [
        "@pg_ranks_0_to_1_by_1", "@pg_ranks_0_to_1_by_1_1", "@pg_g_1",
    ]
    assert "on @pg_ranks_0_to_1_by_1_1 " in text and "on @pg_g_1 " in text


def test_two_graphs_of_one_name(imported):
    graph = reduction("g")
    with pytest.raises(GraphImportError, match="two graphs.*'step'"):
        imported(GraphSpec("step", graph), GraphSpec("step", graph), groups={"g": 2})


@pytest.mark.parametrize("described", [True, False])
def test_group_of_a_mesh(fake_world, imported, described):
    fake_world(8)
    mesh = init_device_mesh("cpu", (4, 2), mesh_dim_names=("dp", "tp"))

    def uses(g, x):
        held = g.graph.get_attr("mesh")
        op = torch.ops._dtensor.mesh_get_process_group
        group = g.add("group", op, (held, 0), mesh.get_group(0))
        if not described:
            del group.meta["val"]
        return g.wait("w", g.reduce("ar", x, group))

    (group,) = declarations(imported(build([("x", (4,))], uses, mesh=mesh)))
    assert group.endswith(" size(4) ranks_per_node(4) stride(2)")


def test_distributed_tensor_is_an_error_at_its_node(fake_world, imported):
    """As Dynamo has them: of global size, and no collective to be seen."""
    fake_world(4)
    mesh = init_device_mesh("cpu", (4,))
    local = torch.empty(2, 4)
    value = DTensor.from_local(local, mesh, [Shard(0)], run_check=False)
    graph = build([("w", (8, 4))], lambda g, w: w)
    next(iter(graph.graph.nodes)).meta["val"] = value
    with pytest.raises(GraphImportError, match="node 'w'.*DTensor.*AOT"):
        imported(graph)
