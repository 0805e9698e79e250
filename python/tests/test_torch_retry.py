# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cannot be put back into a graph is left out, and the rest is scheduled."""

import copy

import pytest

torch = pytest.importorskip("torch")

from commsched.torch import (  # noqa: E402
    CommSchedWarning,
    PlanError,
    RewriteError,
    ScheduleError,
    explain,
)
from commsched.torch.compiling import schedule  # noqa: E402
from commsched.torch.compiling.options import Options  # noqa: E402
from commsched.torch.compiling.schedule import optimize_graph  # noqa: E402
from commsched.torch.rewriting import (  # noqa: E402
    Bucket,
    Plan,
    Trial,
    apply_plan,
    fit_plan,
    follow_plan,
    rewriter,
)
from graphs import fake_trace  # noqa: E402

pytestmark = pytest.mark.usefixtures("opt_program")

c10d = torch.ops._c10d_functional
WIDTH = 64
MERGED = Options(memory_budget="400%")


@pytest.fixture
def gm(fake_world):
    """Small gathers and sums, which are better merged, each kind by itself."""
    group = fake_world(8)

    def forward(x, *shards):
        for shard in shards:
            whole = c10d.all_gather_into_tensor(shard, 8, group)
            x = x @ c10d.wait_tensor(whole)
        sums = [c10d.all_reduce(x * i, "sum", group) for i in range(3)]
        return [c10d.wait_tensor(total) for total in sums]

    shards = [torch.randn(WIDTH // 8, WIDTH) for _ in range(4)]
    return fake_trace(forward, torch.randn(WIDTH, WIDTH), *shards)


def starts(gm):
    return [
        node.name
        for node in gm.graph.nodes
        if node.op == "call_function" and "wait" not in node.name
        and str(node.target).startswith("_c10d")
    ]


def buckets():
    (record,) = explain().records
    return [list(bucket.starts) for bucket in record.plan.buckets]


@pytest.fixture
def planned(gm, fake_world):
    """The buckets of the whole plan."""
    from commsched.torch.compiling import records

    assert optimize_graph(copy.deepcopy(gm), "inference", MERGED)
    found = buckets()
    assert len(found) > 1
    records.reset()
    return found


def refuse(monkeypatch, name, error=RewriteError):
    """Lets no bucket with the collective `name` be merged."""
    whole = rewriter.merge

    def merge(maker, bucket, find):
        merged = whole(maker, bucket, find)
        if name in bucket.starts:
            raise error("it has no such operator")
        return merged

    monkeypatch.setattr(rewriter, "merge", merge)


@pytest.mark.parametrize("error", [RewriteError, AttributeError])
def test_a_bucket_that_cannot_be_merged(gm, planned, monkeypatch, error):
    """The others are."""
    first, *others = planned
    refuse(monkeypatch, first[0], error)
    assert optimize_graph(gm, "inference", MERGED)
    assert buckets() == others
    assert set(first) <= set(starts(gm))
    text = str(explain())
    assert "scheduled by this rank's plan" in text
    assert f"does not merge {' + '.join(first)}, since" in text
    assert "it has no such operator" in text
    assert "the figures are those of the whole plan" in text


def test_names_of_another_rank_mean_other_nodes(gm):
    """A plan in which a product that comes late is the name of an early one is
    followed in the order of its launches."""
    first, second, third, *others = starts(gm)
    names = [node.name for node in gm.graph.nodes if node.name not in starts(gm)]
    product = next(name for name in names if name.startswith("m") and "_1" in name)
    plan = Plan(order=(product, third, first, second, *others))
    with pytest.raises(RewriteError, match=f"'{third}'|'{first}'"):
        apply_plan(copy.deepcopy(gm), plan)
    follow_plan(gm, plan)
    assert starts(gm) == [third, first, second, *others]


def test_strict_refuses_it(gm, planned, monkeypatch):
    refuse(monkeypatch, planned[0][0])
    before = str(gm.graph)
    with pytest.raises(ScheduleError, match="no such operator"):
        optimize_graph(gm, "inference", Options(memory_budget="400%", strict=True))
    assert str(gm.graph) == before


def refuse_results(monkeypatch, refused):
    """Lets the check of a rewritten graph fail where `refused` holds for what it
    finds."""
    whole = rewriter.verify

    def verify(record, graph, gone):
        whole(record, graph, gone)
        if refused([node for node in graph.nodes if node not in gone]):
            raise RewriteError("it computes something else")

    monkeypatch.setattr(rewriter, "verify", verify)


def test_merging_that_is_wrong_somewhere(gm, planned, monkeypatch):
    alone = len(starts(gm))
    refuse_results(monkeypatch, lambda live: any("bucket" in n.name for n in live))
    assert optimize_graph(gm, "inference", MERGED)
    assert buckets() == [] and len(starts(gm)) == alone
    assert "merges nothing, since it computes something else" in str(explain())


def test_nothing_fits(gm, planned, monkeypatch):
    refuse_results(monkeypatch, lambda live: True)
    before = str(gm.graph)
    with pytest.warns(CommSchedWarning, match="it computes something else"):
        assert not optimize_graph(gm, "inference", MERGED)
    assert str(gm.graph) == before
    assert "left as it was: it computes something else" in str(explain())


def test_a_program_that_no_plan_can_say(gm, planned, monkeypatch):
    whole = schedule.make_plan

    def make_plan(before, after, function):
        plan = whole(before, after, function)
        if plan.buckets:
            raise PlanError("a pass has made an operation")
        return plan

    monkeypatch.setattr(schedule, "make_plan", make_plan)
    assert optimize_graph(gm, "inference", MERGED)
    assert buckets() == []
    (record,) = explain().records
    assert "merges nothing, since a pass has made an operation" in str(record)
    assert record.after["num_collectives"] == record.before["num_collectives"]


def test_other_ranks_hear_of_what_fits(gm, planned, monkeypatch):
    refuse(monkeypatch, planned[0][0])
    seen = []
    whole = schedule.agree

    def agree(launches, kind, frame, plan, options, reason):
        seen.append((list(launches.names), plan))
        return whole(launches, kind, frame, plan, options, reason)

    monkeypatch.setattr(schedule, "agree", agree)
    before = starts(gm)
    assert optimize_graph(gm, "inference", MERGED)
    ((launches, plan),) = seen
    assert launches == before
    assert [list(b.starts) for b in plan.buckets] == planned[1:]


def test_another_ranks_plan_is_carried_out_in_full(gm, planned, monkeypatch):
    """This rank's own, which it has tried, is taken back."""
    whole = schedule.agree
    theirs = Plan(order=tuple(reversed(starts(gm)[-3:])))

    def agree(*given):
        import dataclasses

        decision = whole(*given)
        return dataclasses.replace(decision, plan=theirs, how="followed")

    monkeypatch.setattr(schedule, "agree", agree)
    names = set(starts(gm))
    assert optimize_graph(gm, "inference", MERGED)
    assert starts(gm)[-3:] == list(theirs.order) and set(starts(gm)) == names


def test_names_after_a_plan_was_taken_back(gm, planned):
    """Ranks compare the names of what they launch."""
    plan = plan_of(copy.deepcopy(gm))
    whole = copy.deepcopy(gm)
    Trial(whole, plan).keep()
    Trial(gm, plan).undo()
    Trial(gm, plan).keep()
    assert [n.name for n in gm.graph.nodes] == [
        n.name for n in whole.graph.nodes
    ]


def test_names_after_a_bucket_was_left_out(gm, planned, monkeypatch):
    plan = plan_of(copy.deepcopy(gm))
    less = plan.without_bucket(len(plan.buckets) - 1)
    other = copy.deepcopy(gm)
    Trial(other, less).keep()
    refuse(monkeypatch, planned[-1][0])
    trial, left_out = fit_plan(gm, plan)
    trial.keep()
    assert len(left_out) == 1
    assert starts(gm) == starts(other)


def plan_of(gm):
    assert optimize_graph(gm, "inference", MERGED)
    return explain().records[-1].plan


def test_an_error_while_ranks_agree_takes_the_plan_back(gm, monkeypatch):
    def agree(*given):
        raise RuntimeError("the store is gone")

    monkeypatch.setattr(schedule, "agree", agree)
    before = str(gm.graph)
    with pytest.warns(CommSchedWarning, match="the store is gone"):
        assert not optimize_graph(gm, "inference", MERGED)
    assert str(gm.graph) == before


def test_without_a_bucket():
    def bucket(*names):
        return Bucket("all_gather", "copy", names, tuple(f"w{n}" for n in names))

    plan = Plan(
        order=(
            (0, "copy_in"), (0, "start"), "x", (1, "start"), (2, "start"),
            (1, "wait"), (1, "copy_out"), (0, "wait"), "y", (2, "wait"),
        ),
        buckets=(bucket("a", "b"), bucket("c", "d"), bucket("e", "f")),
        replacements=(("g", "h"),),
    )
    less = plan.without_bucket(1)
    assert less.order == (
        (0, "copy_in"), (0, "start"), "x", "c", "d", (1, "start"),
        "wc", "wd", (0, "wait"), "y", (1, "wait"),
    )
    assert less.buckets == (plan.buckets[0], plan.buckets[2])
    assert less.replacements == plan.replacements


def test_a_gather_that_cannot_deliver_into_a_buffer(gm):
    """The gather has memory of its own."""
    start = starts(gm)[0]
    plan = Plan(order=tuple(starts(gm)), into=((start, "no_such_node", 0),))
    trial, left_out = fit_plan(gm, plan)
    trial.keep()
    assert left_out == [
        f"lets {start} deliver into memory of their own, since the plan lets "
        f"'{start}' deliver into result 0 of 'no_such_node'; the graph lacks one "
        "of them"
    ]
