# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Merged collectives in graphs: run on two ranks, and compared with the graph
before bit by bit."""

import copy

import torch
from torch.distributed.device_mesh import init_device_mesh
from commsched.torch.importer.targets import communicates, is_wait
from commsched.torch import import_graph_module
from commsched.torch.rewriting import apply_plan, make_plan
import torch.distributed as dist

from commsched import opt
from graphs import fake_trace, gather, reduce, scatter
from ranks import run_ranks

c10d = torch.ops._c10d_functional
GATHER = "--commsched-bucket-all-gather="
SCATTER = "--commsched-bucket-reduce-scatter="
REDUCE = "--commsched-bucket-all-reduce="


def gathers(group):
    """Shapes of every rank, strides, a cast, and two element types."""

    def function(a, b, c, d):
        b = gather(b.to(torch.bfloat16), group)
        a = gather(a.t().contiguous(), group)
        c, d = gather(c, group), gather(d, group)
        return a * 2, b + 1, c.float().sum() + d.sum(), d

    inputs = torch.rand(3, 4), torch.rand(5), torch.rand(2, 3, 2), torch.rand(1)
    return function, (*inputs[:2], inputs[2].to(torch.bfloat16), inputs[3])


def repeated_gathers(group):
    def function(a, b):
        first = gather(a.to(torch.bfloat16), group)
        again = gather(a.to(torch.bfloat16), group)
        return first.sum() + again.cos().sum(), gather(b, group)

    return function, (torch.rand(3, 4), torch.rand(5))


def scatters(group):
    def function(a, b, c):
        a = scatter(a * 3, group, "avg")
        b = scatter(b.to(torch.float32), group, "avg")
        c = scatter(c, group, "avg")
        return a, b.sin(), c + 1

    inputs = torch.rand(4, 3), torch.rand(6), torch.rand(2, 3, 2)
    return function, (inputs[0], inputs[1].to(torch.bfloat16), inputs[2])


def scatters_of_casts(group):
    def function(a, b, c):
        parts = [scatter(x.to(torch.float32), group) for x in (a, b, c)]
        return [part.sin() for part in parts]

    shapes = (4, 3), (6,), (2, 3, 2)
    return function, [torch.rand(s).to(torch.bfloat16) for s in shapes]


def reduces(group):
    def function(a, b, c):
        a, b = reduce(a, group, "max"), reduce(b, group, "max")
        return a, b.sum(), reduce(c, group, "max") * 2

    return function, (torch.rand(4, 3), torch.rand(()), torch.rand(7))


def scatters_then_reduces(group):
    def function(a, b):
        a, b = scatter(a, group), scatter(b, group)
        return reduce(a, group), reduce(b, group)

    return function, (torch.rand(4, 3), torch.rand(6))


def scatters_of_cast_sums(group):
    """What one bucket delivers is cast in the next one."""

    def function(a, b):
        a, b = reduce(a, group), reduce(b, group)
        return [scatter(x.to(torch.float32), group) for x in (a, b)]

    return function, [torch.rand(s).to(torch.bfloat16) for s in ((4, 3), (6,))]


def written_inputs(group):
    """What is gathered is written afterwards, and read once more."""

    def function(a, b, c):
        first, second = gather(a, group), gather(b, group)
        a.copy_(c)
        return first, second * a.sum()

    return function, (torch.rand(3), torch.rand(4), torch.rand(3))


def sums_in_place(group):
    """What a member delivers is written afterwards, directly and by a view."""

    def function(a, b, c):
        a, b, c = (scatter(x, group) for x in (a, b, c))
        a.view(-1).mul_(2)
        return a.add_(b).add_(c), b.sin()

    return function, [torch.rand(4, 3) for _ in range(3)]


def keys_and_values(group):
    """What context parallelism does in one operator each."""
    from torch.distributed.tensor.experimental import _attention  # noqa: F401

    def function(a, b, c, d):
        a, b = torch.ops.cplib.flex_cp_allgather(a, b, 2, group)
        c, d = torch.ops.cplib.flex_cp_allgather_backward(c, d, 0, group)
        return a.sin(), b, c, d + 1

    return function, [torch.rand(2, 3, 4) for _ in range(4)]


def gathers_of_a_mesh(group):
    """As in code that is compiled once for all ranks."""
    return gathers(group)


def _name_groups_by_mesh(gm):
    """Gives every collective a node of its own for its group."""
    gm.mesh = init_device_mesh("cpu", (2,))
    find = torch.ops._dtensor.mesh_get_process_group.default
    mesh = gm.graph.find_nodes(op="placeholder")[-1].next
    with gm.graph.inserting_before(mesh):
        mesh = gm.graph.get_attr("mesh")
    gather = c10d.all_gather_into_tensor.default
    for node in gm.graph.find_nodes(op="call_function", target=gather):
        with gm.graph.inserting_before(node):
            group = gm.graph.call_function(find, (mesh, 0))
        group.meta["val"] = gm.mesh.get_group(0)
        node.args = (*node.args[:-1], group)
    gm.recompile()


#: (graph, passes, buckets, collectives that are left)
CASES = [
    (gathers, [GATHER + "mode=copy"], 2, 2),
    (gathers, [GATHER + "mode=copy multi-dtype"], 1, 1),
    (gathers, [GATHER + "mode=coalesced"], 2, 2),
    (gathers, [GATHER + "mode=auto max-count=2"], 2, 2),
    (gathers, ["--commsched-pipeline"], None, None),
    (gathers_of_a_mesh, [GATHER + "mode=copy"], 2, 2),
    (gathers_of_a_mesh, [GATHER + "mode=coalesced"], 2, 2),
    (repeated_gathers, [GATHER + "mode=copy deduplicate"], 0, 2),
    (repeated_gathers, [GATHER + "mode=coalesced"], 1, 2),
    (scatters, [SCATTER + "mode=copy"], 1, 1),
    (scatters, [SCATTER + "mode=coalesced"], 1, 1),
    (scatters, [SCATTER + "bitwise"], 1, 1),
    (scatters_of_casts, [SCATTER + "mode=copy"], 1, 1),
    (scatters_of_casts, [SCATTER + "mode=coalesced"], 1, 1),
    (reduces, [REDUCE + "mode=copy"], 1, 1),
    (reduces, [REDUCE + "mode=coalesced"], 1, 1),
    (scatters_then_reduces, [SCATTER + "mode=copy", REDUCE + "mode=copy"], 2, 2),
    (
        scatters_then_reduces,
        [SCATTER + "mode=coalesced", REDUCE + "mode=coalesced"],
        2,
        2,
    ),
    (scatters_of_cast_sums, [REDUCE + "mode=copy", SCATTER + "mode=copy"], 2, 2),
    (sums_in_place, [SCATTER + "mode=copy"], 1, 1),
    (sums_in_place, [SCATTER + "mode=coalesced"], 1, 1),
    (keys_and_values, ["--commsched-schedule=memory-budget=100%"], 2, 2),
    (keys_and_values, [GATHER + "mode=copy"], 1, 3),
    (written_inputs, [GATHER + "mode=copy"], 1, 1),
    (written_inputs, [GATHER + "mode=coalesced", "--commsched-sink-waits"], 1, 1),
]


def _starts(gm):
    return sum(
        communicates(node.target) and not is_wait(node.target)
        for node in gm.graph.nodes
        if node.op == "call_function"
    )


def _run_case(make, passes, group):
    function, inputs = make(group)
    gm = fake_trace(function, *inputs)
    if make is gathers_of_a_mesh:
        _name_groups_by_mesh(gm)
    roles = {node.name: "parameter" for node in gm.graph.find_nodes(op="placeholder")}
    module = import_graph_module(gm, roles=roles)
    before, after, _ = opt.run_programs(module, *passes)
    plan = make_plan(before, after, "main")
    given, again = copy.deepcopy(inputs), copy.deepcopy(inputs)
    wanted = gm(*given)
    apply_plan(gm, plan)
    found = gm(*again)
    equal = all(map(torch.equal, (*wanted, *given), (*found, *again)))
    values = [n.meta["val"].shape for n in gm.graph.nodes if n.name in "abcd"]
    assert all(isinstance(v, torch.Size) for v in values)
    return equal, len(plan.buckets), _starts(gm)


def _run_cases(rank):
    torch.manual_seed(rank)
    group = dist.group.WORLD.group_name
    return [_run_case(make, passes, group) for make, passes, _, _ in CASES]


def test_buckets_compute_the_same(opt_program):
    for results in run_ranks(_run_cases, timeout=120):
        for (make, passes, buckets, left), found in zip(CASES, results):
            case = f"{make.__name__} {' '.join(passes)}"
            equal, merged, starts = found
            assert equal, case
            if buckets is not None:
                assert (merged, starts) == (buckets, left), case
