# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans that have no more than so many collectives in flight."""

import random

import pytest
import torch
from graphs import build

from commsched.torch.compiling.records import records
from commsched.torch.importer.targets import is_wait
from commsched.torch.rewriting import Bucket, Limit, Plan, apply_plan, limit_in_flight
from commsched.torch.rewriting.dependences import is_start, started_by
from compiled_steps import explained
from ranks import run_ranks

aten = torch.ops.aten


def anything(most):
    return Limit("collectives", lambda kind: True, most)


def gathers(most):
    return Limit("gathers", "all_gather".__eq__, most)


def step(kinds):
    """A graph that starts collectives of `kinds` (g and r), waits for each and
    computes with it; `s0`, `w0` and `c0` are the first one's."""

    def body(b, *inputs):
        total = inputs[0]
        for number, (kind, source) in enumerate(zip(kinds, inputs)):
            start = (b.gather if kind == "g" else b.reduce)(f"s{number}", source)
            done = b.wait(f"w{number}", start)
            total = b.add(f"c{number}", aten.sin, (done,), done)
        return total

    return build([(f"x{i}", (4,)) for i in range(len(kinds))], body)


def limited(gm, order, *limits, buckets=()):
    plan, moved = limit_in_flight(
        Plan(tuple(order.split()), tuple(buckets)), gm.graph, list(limits)
    )
    return " ".join(map(str, plan.order)), moved


def test_a_start_moves_behind_the_wait_for_an_earlier_one():
    order, moved = limited(step("ggg"), "s0 s1 s2 w0 c0 w1 c1 w2 c2", gathers(1))
    assert order == "s0 w0 s1 c0 w1 s2 c1 w2 c2" and moved == 2
    order, moved = limited(step("ggg"), "s0 s1 s2 w0 c0 w1 c1 w2 c2", gathers(2))
    assert order == "s0 s1 w0 s2 c0 w1 c1 w2 c2" and moved == 1


def test_a_wait_moves_up_where_the_next_is_needed_first():
    order, moved = limited(step("gg"), "s0 s1 w1 c1 w0 c0", gathers(1))
    assert order == "s0 w0 s1 w1 c1 c0" and moved == 2


def test_what_is_not_counted_keeps_its_place_unless_it_has_to_follow():
    given = "s0 s1 s2 w0 c0 w1 c1 w2 c2"
    # All-reduces are not counted.
    order, moved = limited(step("grr"), given, gathers(1))
    assert (order, moved) == (given, 0)
    # The one behind a gather that is held starts behind it, too.
    order, moved = limited(step("ggr"), given, gathers(1))
    assert order == "s0 w0 s1 s2 c0 w1 c1 w2 c2" and moved == 2
    order, moved = limited(step("grg"), given, anything(1))
    assert order == "s0 w0 s1 c0 w1 s2 c1 w2 c2"


def test_without_limits_or_excess_the_plan_is_the_same():
    gm, plan = step("gg"), Plan(("s0", "w0", "s1", "w1"), unchanged=True)
    for limits in ([], [gathers(1)], [anything(1), gathers(1)]):
        assert limit_in_flight(plan, gm.graph, limits) == (plan, 0)
    changed, _ = limit_in_flight(
        Plan(("s0", "s1", "w0", "w1"), unchanged=True), gm.graph, [gathers(1)]
    )
    assert not changed.unchanged


def test_a_bucket_is_one_launch():
    gm = step("ggg")
    bucket = Bucket("all_gather", "coalesced", ("s0", "s1"), ("w0", "w1"))
    order = ((0, "copy_in"), (0, "start"), "s2", "c0", (0, "wait"), "w2")
    plan, moved = limit_in_flight(Plan(order, (bucket,)), gm.graph, [gathers(1)])
    assert moved == 1
    assert plan.order == ((0, "copy_in"), (0, "start"), "c0", (0, "wait"), "s2", "w2")


@pytest.mark.parametrize("seed", range(60))
def test_random_orders_are_limited_and_still_fit(seed):
    rng = random.Random(seed)
    kinds = "".join(rng.choices("gr", k=7))
    gm, most = step(kinds), rng.randint(1, 3)
    pending = {f"{part}{i}" for i in range(7) for part in "swc"}
    order = []
    while pending:
        ready = [
            name
            for name in sorted(pending)
            if name[0] == "s"
            or {"w": "s", "c": "w"}[name[0]] + name[1:] not in pending
        ]
        order.append(rng.choice(ready))
        pending.remove(order[-1])
    limits = [anything(most), gathers(1)]
    plan, _ = limit_in_flight(Plan(tuple(order)), gm.graph, limits)
    assert sorted(plan.order) == sorted(order)
    starts = [name for name in order if name[0] == "s"]
    assert [name for name in plan.order if name[0] == "s"] == starts
    apply_plan(gm, plan)
    flying = set()
    for node in gm.graph.nodes:
        if is_start(node):
            flying.add(node.name)
        elif node.op == "call_function" and is_wait(node.target):
            flying.discard(started_by(node).name)
        assert len(flying) <= most
        assert sum(kinds[int(name[1:])] == "g" for name in flying) <= 1


class Busy(torch.nn.Module):
    """Takes as long as several gathers, and more memory than they do."""

    def forward(self, x):
        busy = torch.ones(1 << 22)
        for _ in range(6):
            busy = torch.tanh(busy)
        return x + busy.mean()


def _trained(rank, most):
    """What is said of a step whose gathers the scheduler starts early."""
    options = {"inner": "eager", "buckets": "off", "max_in_flight": most}
    said = explained(rank, 4, options, width=64, before=(Busy(),))
    return said, [record.plan.order for record in records()]


@pytest.mark.parametrize("most", [None, 2])
def test_gloo_gathers_one_at_a_time(most):
    (said, orders), (_, others) = run_ranks(_trained, 2, args=(most,))
    assert orders == others and len(orders) == 2
    if most is None:
        words = "no more than 1 all-gather of gloo in flight; the figures are"
    else:
        words = "than 2 collectives and 1 all-gather of gloo in flight; the"
    assert words in said
    flying = [0]
    for name in orders[0]:
        if name.startswith("all_gather"):
            flying.append(flying[-1] + 1)
        elif name.startswith("wait_tensor"):
            flying.append(flying[-1] - 1)
    assert max(flying) == 1 and len(flying) == 17
