# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cannot be put back into a graph is left out, and the rest is scheduled."""

import copy
import dataclasses

import pytest
import torch
from commsched import __version__, opt
from commsched.torch import (
    CommSchedWarning,
    PlanError,
    RewriteError,
    ScheduleError,
    explain,
)
from commsched.torch.compiling import records, runs, schedule
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.schedule import optimize_graph
from commsched.torch.rewriting import (
    Bucket,
    Plan,
    Trial,
    apply_plan,
    fit_plan,
    follow_plan,
    rewriter,
)
from graphs import fake_trace, gather, names

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
            x = x @ gather(shard, group, 8)
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
def planned(gm):
    """The buckets of the whole plan."""
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
    others_of = [name for name in names(gm) if name not in starts(gm)]
    product = next(name for name in others_of if name.startswith("m") and "_1" in name)
    plan = Plan(order=(product, third, first, second, *others))
    with pytest.raises(RewriteError, match=f"'{third}'|'{first}'"):
        apply_plan(copy.deepcopy(gm), plan)
    follow_plan(gm, plan)
    assert starts(gm) == [third, first, second, *others]


def refuse_results(monkeypatch, refused):
    """Lets the check of a rewritten graph fail where `refused` holds for what it
    finds."""
    whole = rewriter.verify

    def verify(record, graph, gone):
        whole(record, graph, gone)
        if refused([node for node in graph.nodes if node not in gone]):
            raise RewriteError("it computes something else")

    monkeypatch.setattr(rewriter, "verify", verify)


def test_nothing_fits(gm, planned, monkeypatch):
    refuse_results(monkeypatch, lambda live: True)
    before = str(gm.graph)
    with pytest.warns(CommSchedWarning, match="it computes something else"):
        assert not optimize_graph(gm, "inference", MERGED)
    assert str(gm.graph) == before
    assert "left as it was: it computes something else" in str(explain())
    with pytest.raises(ScheduleError, match="something else"):
        optimize_graph(gm, "inference", Options(memory_budget="400%", strict=True))
    assert str(gm.graph) == before


def refuse_merged(monkeypatch):
    refuse_results(monkeypatch, lambda live: any("bucket" in n.name for n in live))


def refuse_plans(monkeypatch):
    whole = schedule.make_plan

    def make_plan(before, after, function):
        plan = whole(before, after, function)
        if plan.buckets:
            raise PlanError("a pass has made an operation")
        return plan

    monkeypatch.setattr(schedule, "make_plan", make_plan)


@pytest.mark.parametrize("refuse, reason", [
    (refuse_merged, "it computes something else"),
    (refuse_plans, "a pass has made an operation"),
])
def test_merging_that_is_wrong_somewhere(gm, planned, monkeypatch, refuse, reason):
    alone = len(starts(gm))
    refuse(monkeypatch)
    assert optimize_graph(gm, "inference", MERGED)
    assert buckets() == [] and len(starts(gm)) == alone
    (record,) = explain().records
    assert f"merges nothing, since {reason}" in str(record)
    if refuse is refuse_plans:
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
        decision = whole(*given)
        return dataclasses.replace(decision, plan=theirs, how="followed")

    monkeypatch.setattr(schedule, "agree", agree)
    launched = set(starts(gm))
    assert optimize_graph(gm, "inference", MERGED)
    assert starts(gm)[-3:] == list(theirs.order) and set(starts(gm)) == launched


def test_names_after_a_plan_was_taken_back(gm, planned, monkeypatch):
    """Ranks compare the names of what they launch."""
    plan = plan_of(copy.deepcopy(gm))
    fitted, whole, other = (copy.deepcopy(gm) for _ in range(3))
    Trial(whole, plan).keep()
    Trial(gm, plan).undo()
    Trial(gm, plan).keep()
    assert names(gm) == names(whole)
    # As where a bucket was left out.
    Trial(other, plan.without_bucket(len(plan.buckets) - 1)).keep()
    refuse(monkeypatch, planned[-1][0])
    trial, left_out = fit_plan(fitted, plan)
    trial.keep()
    assert len(left_out) == 1
    assert starts(fitted) == starts(other)


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


# -- What the ways into torch.compile do where something is missing or wrong:
# one warning for each cause, and the graph as it was; `strict` raises.


@pytest.fixture(autouse=True)
def forgotten():
    """Nothing was scheduled before."""
    runs.reset()
    yield
    runs.reset()


@pytest.fixture
def gathers(fake_world):
    """A graph that can be improved: the second gather can start early."""
    group = fake_world(8)

    def forward(x, first, second):
        for shard in (first, second):
            x = torch.mm(x, gather(shard, group, 8))
        return x

    shard = torch.randn(WIDTH // 8, WIDTH)
    return fake_trace(forward, torch.randn(WIDTH, WIDTH), shard, shard.clone())


def left_alone(gm, match, **options):
    """Asserts that the graph stays as it is, with one warning although two
    graphs have the same trouble, and that `strict` raises."""
    before = names(gm)
    with pytest.warns(CommSchedWarning, match=match) as warned:
        assert not optimize_graph(gm, "forward", Options(**options))
        assert not optimize_graph(gm, "backward", Options(**options))
    assert len(warned) == 1, [str(w.message) for w in warned]
    assert names(gm) == before
    assert {r.status for r in records.records()} == {"failed"}
    with pytest.raises(ScheduleError, match=match):
        optimize_graph(gm, "forward", Options(strict=True, **options))
    assert names(gm) == before


def test_no_program(gathers, monkeypatch):
    monkeypatch.setenv("COMMSCHED_OPT", "/nowhere/commsched-opt")
    left_alone(gathers, "'/nowhere/commsched-opt', which is no program")
    # Another cause, of which is warned too.
    monkeypatch.delenv("COMMSCHED_OPT", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    left_alone(gathers, "no commsched-opt on PATH.*COMMSCHED_OPT")


def version(script):
    return (
        f'if [ "$1" = --version ]; then echo "CommSched version {__version__}"'
        f"\nexit; fi\n{script}"
    )


@pytest.mark.parametrize("body, match", [
    ("echo 'CommSched version 0.0.7'",
     "{path} is of version 0.0.7, but the Python package"),
    ("echo hello", "of no known version"),
    (version("echo '<stdin>:3:1: error: too much' >&2; exit 1"),
     "failed: error: too much"),
    (version("kill -ABRT $$"), "ended by signal 6"),
    (version("cat > /dev/null"), "commsched-opt"),  # It writes nothing.
])
def test_a_program_that_fails(gathers, script, body, match):
    left_alone(gathers, match.format(path=script(body)))


@pytest.mark.parametrize("text, match", [
    (None, "profile '{path}' cannot be read"),
    ("{times: 3}", "profile '{path}' is not JSON"),
    ('[{"collectives": 3}]', "profile"),
])
def test_a_profile_that_cannot_be_read(gathers, opt_program, tmp_path, text, match):
    path = tmp_path / "profile.json"
    if text is not None:
        path.write_text(text)
    left_alone(gathers, match.format(path=path), profile=path)


def test_a_graph_that_cannot_be_imported(fake_world, opt_program):
    """The warning names the node."""
    group = fake_world(8)
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    start = graph.call_function(c10d.all_gather_into_tensor.default, (x, 8, group))
    graph.output(graph.call_function(c10d.wait_tensor.default, (start,)))
    gm = torch.fx.GraphModule(torch.nn.Module(), graph)
    left_alone(gm, "node '.*'")


@pytest.mark.parametrize("version, warned", [
    ("2.12.1", 1), ("2.16.0a0+git1234", 1), ("3.0.0", 1), ("2.13.7+cu130", 0),
])
def test_an_untested_pytorch(gathers, opt_program, monkeypatch, recwarn, version, warned):
    """It may work: only a warning. A patch release of a tested one does."""
    monkeypatch.setattr(torch, "__version__", version)
    assert optimize_graph(gathers, "forward", Options())
    optimize_graph(gathers, "forward", Options())
    assert ["PyTorch is" in str(w.message) for w in recwarn] == [True] * warned


def test_a_graph_without_collectives_needs_no_program(monkeypatch):
    monkeypatch.setenv("COMMSCHED_OPT", "/nowhere/commsched-opt")
    gm = fake_trace(lambda x: x + 1, torch.randn(3))
    assert not optimize_graph(gm, "forward", Options(strict=True))
    (record,) = records.records()
    assert (record.status, record.reason) == ("unchanged", "no collectives")


def test_equal_graphs_are_scheduled_once(gathers, opt_program, monkeypatch):
    calls = []
    original = opt.run_programs

    def listen(*arguments, **settings):
        calls.append(arguments)
        return original(*arguments, **settings)

    monkeypatch.setattr(opt, "run_programs", listen)
    for gm in (copy.deepcopy(gathers), copy.deepcopy(gathers)):
        before = names(gm)
        assert optimize_graph(gm, "forward", Options())
        assert names(gm) != before
    assert len(calls) == 1
    optimize_graph(gathers, "forward", Options(target="b200"))
    assert len(calls) == 2
