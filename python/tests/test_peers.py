# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/peers: what schedulers of others are given, and what becomes of
their answers; that of Inductor's FX scheduler is a schedule, and what Inductor
sees is the step."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COSTS = ("step_time_ns", "peak_memory_bytes", "exposed_comm_ns", "num_collectives")


class Peers:
    """A small step, and commsched-peers on it."""

    def __init__(self, tool, folder, layers=1):
        self.tool, self.folder = tool, folder
        self.program = folder / "step.mlir"
        make = [sys.executable, BENCHMARKS.parent / "testsupport" / "steps" / "make_step.py"]
        with open(self.program, "w", encoding="utf-8") as out:
            subprocess.run([*make, f"--layers={layers}", "--dp=8"], stdout=out, check=True)
        dump = folder / "dump.json"
        self.call(f"--dump={dump}")
        (self.function,) = json.loads(dump.read_text())["functions"]
        self.nodes = self.function["nodes"]
        self.order = list(range(len(self.nodes)))

    def call(self, *arguments):
        command = [self.tool, self.program, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True)

    def run(self, *arguments):
        lines = self.call(*arguments).stdout.splitlines()
        return {line["peer"]: line for line in map(json.loads, lines)}

    def answer(self, **answer):
        """What the tool says of an answer, beside the input."""
        path = self.folder / "answer.json"
        path.write_text(json.dumps({"functions": [{"function": "step", **answer}]}))
        peers = self.run(f"--external=other={path}")
        return peers["input"], peers["other"]

    def starts(self, kind):
        return [i for i, node in enumerate(self.nodes) if node["collective"] == kind]


@pytest.fixture(scope="module")
def peers(built, tmp_path_factory):
    return Peers(built("commsched-peers"), tmp_path_factory.mktemp("peers"))


def test_the_same_order_costs_the_same(peers):
    before, after = peers.answer(order=peers.order, schedule_ms=7, note="as it was")
    for key in COSTS:
        assert after[key] == before[key] == peers.function.get(key, before[key])
    assert after["schedule_ms"] == 7
    assert after["note"] == "as it was"


def test_orders_are_carried_out_or_repaired(peers):
    # A reduce-scatter that is waited for at the end is hidden.
    scatters = peers.starts("reduce-scatter")
    wait = next(i for i, node in enumerate(peers.nodes) if node["start"] in scatters)
    order = [node for node in peers.order if node != wait] + [wait]
    before, after = peers.answer(order=order)
    assert after["step_time_ns"] < before["step_time_ns"]
    assert "note" not in after
    _, after = peers.answer(order=peers.order[::-1])
    assert "dependences broken: " in after["note"]
    assert after["num_collectives"] == before["num_collectives"]


@pytest.mark.parametrize("kind", ["all-gather", "reduce-scatter"])
def test_buckets_are_merged(peers, kind):
    starts = peers.starts(kind)
    key = peers.nodes[starts[1]]["key"]
    bucket = [start for start in starts if peers.nodes[start]["key"] == key][:3]
    before, after = peers.answer(order=peers.order, buckets=[bucket])
    assert after["num_collectives"] == before["num_collectives"] - 2
    # In the program members are waited for before the last of them starts.
    assert "the merged start of bucket 0" in after["note"]


@pytest.mark.parametrize("change, error", [
    (lambda p: {"order": p.order[:-1]}, "the answer is no order"),
    (lambda p: {}, "missing value at answer.order"),
    (lambda p: {"order": p.order, "buckets": [p.starts("all-gather")[:1]]},
     "a bucket has fewer than two members"),
    (lambda p: {"order": p.order, "buckets": [[0, 1]]},
     "a member that may not be merged: node 0 (compute): it is no start"),
    (lambda p: {"order": p.order, "buckets": [p.starts("all-gather")[:2]] * 2},
     "the buckets cannot be merged"),
    (lambda p: {"function": "other", "order": p.order},
     "has no answer for function 'step'"),
])
def test_bad_answers_are_refused(peers, change, error):
    before, after = peers.answer(**change(peers))
    assert error in after["error"]
    assert before["step_time_ns"] > 0


def test_peers_stand_side_by_side(peers):
    costs = peers.run(
        "--pipeline=simple=func.func(commsched-simple-overlap)",
        "--latency-hiding=xla=none",
        "--latency-hiding=two=none,2",
        "--latency-hiding=tight=0%",
        "--latency-hiding=wrong=much",
    )
    assert list(costs) == ["input", "simple", "xla", "two", "tight", "wrong"]
    for peer in ("simple", "xla", "two", "tight"):
        assert costs[peer]["step_time_ns"] < costs["input"]["step_time_ns"]
        bound = costs[peer]["tight_lower_bound_ns"]
        assert costs[peer]["lower_bound_ns"] <= bound <= costs[peer]["step_time_ns"]
        assert 0 < costs[peer]["merging_lower_bound_ns"] <= bound
    assert costs["tight"]["step_time_ns"] > costs["xla"]["step_time_ns"]
    assert "memory budget must be bytes" in costs["wrong"]["error"]


def test_the_table_has_a_row_for_each_peer(peers, opt_program):
    command = [sys.executable, BENCHMARKS / "peers" / "run.py", peers.program]
    command += [f"--tool={peers.tool}", f"--opt={opt_program}", "--steps=^$"]
    command += ["--peers=simple|block|nothing", "--reference=simple-overlap"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in result.stdout.splitlines()[2:]
    ]
    assert [row[:2] for row in rows] == [
        ["step", name] for name in ("input", "simple-overlap", "block-buckets")
    ]
    assert [row[-1] for row in rows[:2]] == ["", "1.00"]


# -- Inductor's FX scheduler ---------------------------------------------------


@contextlib.contextmanager
def programs():
    """With the programs of benchmarks/peers to import."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS / "peers"))
        yield


def run(*arguments):
    """Runs the program within this process; returns what it says is wrong."""
    with programs():
        import fx_overlap

        try:
            fx_overlap.main([str(argument) for argument in arguments])
        except SystemExit as end:
            return end.code
    return None


def read_answer(path):
    (found,) = json.loads(path.read_text())["functions"]
    assert found.pop("function") == "step" and found.pop("schedule_ms") > 0
    return found


class Step:
    """A step of two layers, and the answer to it."""

    def __init__(self, tool, folder):
        import simulate

        self.peers = Peers(tool, folder, layers=2)
        self.function, self.nodes = self.peers.function, self.peers.nodes
        self.dump = folder / "dump.json"
        self.found = self.answer()
        self.simulator = simulate
        fields = ("kind", "cost_ns", "stream", "expensive", "start")
        self.problem = {
            "nodes": [[node[field] for field in fields] for node in self.nodes],
            "dependences": self.function["dependences"],
            "buffers": self.function["buffers"],
        }

    def answer(self, *options):
        output = self.dump.with_suffix(".answer")
        assert run(self.dump, "-o", output, *options) is None
        return read_answer(output)


@pytest.fixture(scope="module")
def step(built, tmp_path_factory):
    pytest.importorskip("torch")
    return Step(built("commsched-peers"), tmp_path_factory.mktemp("fx"))


def test_answer_of_fx(step):
    order, buckets = step.found["order"], step.found["buckets"]
    step.simulator.check_legal(step.problem, order)
    members = [member for bucket in buckets for member in bucket]
    assert len(members) == len(set(members))
    kinds = set()
    for bucket in buckets:
        assert len(bucket) >= 2
        nodes = [step.nodes[member] for member in bucket]
        ((kind, _),) = {(node["collective"], node["key"]) for node in nodes}
        kinds.add(kind)
    assert kinds == {"all-gather", "reduce-scatter"}
    # As the README says: a merged start is where the last member's is, a wait
    # where the first member's is.
    places = {node: place for place, node in enumerate(order)}
    waits = {node["start"]: i for i, node in enumerate(step.nodes)}
    for bucket in buckets:
        start = max(places[member] for member in bucket)
        wait = min(places[waits[member]] for member in bucket)
        for member in bucket:
            places[member], places[waits[member]] = start, wait
    for source, user, _ in step.problem["dependences"]:
        assert places[source] < places[user]
    # It hides collectives.
    orders = range(len(step.nodes)), order
    before, after = (step.simulator.simulate_time(step.problem, o)[1] for o in orders)
    assert after < before / 2
    # By default it merges before it schedules. A bucket of what has been merged has
    # all its members.
    alone = step.answer("--no-pre-bucketing", "--memory-increase=0%")
    assert alone["order"] != order
    assert len(members) > sum(map(len, alone["buckets"]))


def test_inductor_sees_the_step(step):
    """Its tracker of memory, and its search for compute nodes, say what the
    dump says."""
    with programs():
        import fx_standin
        from torch._inductor.fx_passes import memory_estimator, overlap_scheduling

        with fx_standin.process_groups(step.function["streams"]) as groups:
            graph = fx_standin.StandIn(step.function, groups).graph
        graph.lint()
        tracker = memory_estimator.MemoryTracker(graph)
        compute = []
        for node in graph.nodes:
            tracker.schedule_node(node)
            if overlap_scheduling.is_compute_node(node):
                compute.append(node.meta[fx_standin.INDEX])
    program = range(len(step.nodes))
    assert tracker.peak_memory == step.simulator.simulate_peak(step.problem, program)
    assert compute == [i for i, node in enumerate(step.nodes) if node["expensive"]]
