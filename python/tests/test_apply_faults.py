# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong rewritings are found, and leave the graph as it was."""

import pytest
import torch
from commsched.torch.rewriting import Bucket, Plan, RewriteError, apply_plan, rewriter
from graphs import build, node_of

aten = torch.ops.aten
c10d = torch.ops._c10d_functional

STARTS = ("s0", "s1", "s2")
WAITS = ("w0", "w1", "w2")
OPERATORS = {
    "all_gather": (c10d.all_gather_into_tensor, (2, "g"), 2),
    "reduce_scatter": (c10d.reduce_scatter_tensor, ("sum", 2, "g"), 0.5),
    "all_reduce": (c10d.all_reduce, ("sum", "g"), 1),
}


def collectives(kind="all_gather"):
    """Three collectives of equal shapes, and other nodes of which some have
    effects."""
    target, rest, factor = OPERATORS[kind]

    def body(b, x, y, z):
        like = b.like
        shape = (int(4 * factor),)
        starts = [
            b.add(name, target, (source, *rest), like(source, shape))
            for name, source in zip(STARTS, (x, y, z))
        ]
        waits = [b.wait(name, source) for name, source in zip(WAITS, starts)]
        sums = [b.add(f"sin{i}", aten.sin, (w,), like(w)) for i, w in enumerate(waits)]
        draws = [b.add(f"draw{i}", aten.bernoulli, (w,), like(w))
                 for i, w in enumerate(waits[:2])]
        b.add("write", aten.copy_, (x, y), x)
        read = b.add("read", aten.cos, (x,), like(x))
        b.add("check", aten._assert_async.msg, (read, "no"))
        return [*sums, *draws, read]

    return build([("x", (4,)), ("y", (4,)), ("z", (4,))], body)


def described(gm):
    return [
        (n.name, n.target, n.args, n.kwargs, n.meta["val"])
        for n in gm.graph.nodes
        if n.op != "output"
    ]


def bucket(kind="all_gather", mode="copy"):
    return Plan(buckets=(Bucket(kind, mode, STARTS, WAITS),))


def refused(gm, plan, match):
    before, code = described(gm), gm.code
    order = [(node.name, list(node.users)) for node in gm.graph.nodes]
    with pytest.raises(RewriteError, match=match):
        apply_plan(gm, plan)
    assert all(a[:4] == b[:4] and a[4] is b[4] for a, b in zip(before, described(gm)))
    assert [(n.name, list(n.users)) for n in gm.graph.nodes] == order
    gm.graph.lint()
    gm.recompile()
    assert gm.code == code


@pytest.fixture
def tamper(monkeypatch):
    """Lets a function change what the step of the rewriting returns."""

    def patch(step, change):
        original = getattr(rewriter, step)

        def run(*args):
            result = original(*args)
            return change(result) or result

        monkeypatch.setattr(rewriter, step, run)

    return patch


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("mode", ["copy", "coalesced"])
def test_members_that_are_swapped(tamper, kind, mode):
    def swap(merged):
        results = merged.results
        nodes = {node.name: node for node in results}
        for a, b in (("s0", "s1"), ("w0", "w1")):
            a, b = nodes[a], nodes[b]
            results[a], results[b] = results[b], results[a]

    tamper("merge", swap)
    refused(collectives(kind), bucket(kind, mode), "another value")


def _launch(merged):
    return merged.stages["start"][0]


def _with_args(node, **changes):
    args = list(node.args)
    for index, value in changes.items():
        args[int(index[1:])] = value
    node.args = tuple(args)


def _unwaited(merged):
    wait = merged.stages["wait"][0]
    for user in list(wait.users):
        user.replace_input_with(wait, wait.args[0])


def _in_flight(merged):
    items = merged.stages["start"][1:]
    for index, old in enumerate(list(merged.results)):
        merged.results[old] = items[index // 2]


def _another_type(merged):
    out = next(iter(merged.results.values()))
    out.meta["val"] = out.meta["val"].to(torch.float64)


def _reversed(merged):
    copy = merged.stages["copy_in"][0]
    _with_args(copy, _0=copy.args[0][::-1])


OTHER = "another value|understood"
FAULTS = [
    ("all_reduce", "copy", lambda m: _with_args(_launch(m), _1="max"), OTHER),
    ("all_reduce", "coalesced", lambda m: _with_args(_launch(m), _1="max"), OTHER),
    ("all_gather", "copy", lambda m: _with_args(_launch(m), _2="other"), OTHER),
    ("all_gather", "coalesced", lambda m: _with_args(_launch(m), _2="other"), OTHER),
    ("reduce_scatter", "copy", lambda m: _with_args(_launch(m), _3="other"), OTHER),
    ("reduce_scatter", "copy", lambda m: _with_args(m.stages["copy_in"][0], _1=0), OTHER),
    ("all_gather", "copy", _reversed, OTHER),
    ("all_gather", "copy", _unwaited, "in flight"),
    ("all_gather", "coalesced", _in_flight, "another value"),
    ("all_gather", "copy", _another_type, "another value"),
]


@pytest.mark.parametrize("kind, mode, fault, match", FAULTS)
def test_launches_of_something_else(tamper, kind, mode, fault, match):
    tamper("merge", lambda merged: fault(merged))
    refused(collectives(kind), bucket(kind, mode), match)


@pytest.mark.parametrize("first, second, match", [
    ("w0", "s0", "malformed"),
    ("draw1", "draw0", "random"),
    ("read", "write", "last written"),
    ("write", "s0", "last written"),
    ("write", "w0", "last written"),
])
def test_nodes_in_a_wrong_order(tamper, first, second, match):
    """The first is put before the second, on which it depends."""

    def fault(order):
        names = [node.name for node in order]
        node = order.pop(names.index(first))
        order.insert(names.index(second), node)

    tamper("arrange", fault)
    refused(collectives(), Plan(("sin2", "sin1")), match)


def test_reads_behind_another_write(tamper):
    """As many operations have written then, but others."""

    def body(b, x, y, z):
        b.add("first", aten.copy_, (x, y), x)
        read = b.add("read", aten.cos, (x,), b.like(x))
        return [read, b.add("second", aten.copy_, (x, z), x)]

    def fault(order):
        names = [node.name for node in order]
        order.insert(names.index("second"), order.pop(names.index("read")))

    gm = build([("x", (4,)), ("y", (4,)), ("z", (4,))], body)
    tamper("arrange", fault)
    refused(gm, Plan(("first",)), "written by first, and now by second")


def test_nodes_that_are_lost(monkeypatch):
    for name, match in [("check", "lost"), ("sin0", "'output'|lost")]:
        gm = collectives()
        node = node_of(gm, name)
        original = rewriter.Rewriter._bury

        def bury(self, replaced, node=node):
            original(self, replaced)
            self._gone[node] = None

        monkeypatch.setattr(rewriter.Rewriter, "_bury", bury)
        refused(gm, Plan(("w1",)), match)
        monkeypatch.undo()


def test_inputs_in_another_order(tamper):
    def fault(order):
        order[0], order[1] = order[1], order[0]

    tamper("arrange", fault)
    refused(collectives(), Plan(("sin2",)), "other inputs")


def test_gathers_of_what_was_written_since_are_not_the_same():
    def body(b, x, y):
        w0 = b.wait("w0", b.reduce("s0", x))
        b.add("write", aten.copy_, (x, y), x)
        return [w0, b.wait("w1", b.reduce("s1", x))]

    gm = build([("x", (4,)), ("y", (4,))], body)
    refused(gm, Plan(replacements=(("w1", "w0"),)), "another value")


@pytest.mark.parametrize("plan, match", [
    ({"replacements": (("w0", "no"),)}, "has no 'no'"),
    ({"into": (("s0", "no", 1),)}, "lacks one"),
    ({"buckets": (Bucket("all_gather", "copy", ("s0", "no"), WAITS),)},
     "does not have"),
    ({"buckets": (Bucket("all_reduce", "copy", STARTS, WAITS),)}, "it calls"),
    ({"replacements": (("w0", "w1"),)}, "another value"),
    ({"replacements": (("sin0", "sin1"),)}, "another"),
])
def test_what_a_plan_asks_for_in_vain(plan, match):
    refused(collectives(), Plan(**plan), match)


@pytest.mark.parametrize("kind", OPERATORS)
def test_collectives_of_two_groups_are_not_merged(kind):
    gm = collectives(kind)
    start = node_of(gm, "s1")
    start.args = (*start.args[:-1], "h")
    gm.recompile()
    refused(gm, bucket(kind), "group_name is h and g")


def test_starts_that_cannot_come_in_the_order_of_the_plan():
    def body(b, x):
        return [b.wait("w1", b.reduce("s1", b.wait("w0", b.reduce("s0", x))))]

    gm = build([("x", (4,))], body)
    refused(gm, Plan(("s1", "s0")), "cannot start before")
    plan = Bucket("all_reduce", "copy", ("s0", "s1"), ("w0", "w1"))
    refused(gm, Plan(buckets=(plan,)), "come before itself")
