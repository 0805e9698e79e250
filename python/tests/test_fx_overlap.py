# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peer of benchmarks/peers that runs Inductor's FX scheduler, on a small
step: that its answer is a schedule, and that what Inductor sees is the step."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RANKS, WIDTH, LAYERS = 4, 2048, 6
SIZES = {"f32": 4, "bf16": 2}
COMM_NS = {"all-gather": 200_000, "reduce-scatter": 300_000}


class Step:
    """A dump of one function: linear layers with sharded weights and scales,
    forward and backward."""

    def __init__(self):
        self.nodes, self.values, self.buffers, self.dependences = [], [], [], []
        self.keys = {}
        rows, layers = WIDTH // RANKS, range(LAYERS)
        weights = [self.add_value([rows, WIDTH], "f32") for _ in layers]
        scales = [self.add_value([rows], "f32") for _ in layers]
        activations = [self.add_value([8 * WIDTH, WIDTH], "bf16")]
        for weight, scale in zip(weights, scales):
            gathered = self.gather(self.cast(weight, "bf16"))
            scaled = self.scale(activations[-1], self.gather(scale))
            activations.append(self.multiply(scaled, gathered))
        gradient = self.scale(activations[-1])
        self.returns = []
        for place in reversed(layers):
            gathered = self.gather(self.cast(weights[place], "bf16"))
            product = self.multiply(activations[place], gradient, [WIDTH, WIDTH])
            reduced = self.cast(product, "f32")
            self.returns.append(self.collect("reduce-scatter", reduced, "avg"))
            gradient = self.multiply(gradient, gathered)
        for value in self.returns:
            self.buffers[self.values[value]["buffer"]][2] = False

    def add_value(self, shape, dtype, kind="tensor", producer=-1):
        buffer = -1
        if kind == "tensor":
            buffer = len(self.buffers)
            size = SIZES[dtype]
            for length in shape:
                size *= length
            self.buffers.append([size, producer, producer >= 0, []])
        described = {"type": kind, "shape": shape, "dtype": dtype}
        self.values.append({**described, "producer": producer, "buffer": buffer})
        return len(self.values) - 1

    def add_node(self, kind, op, operands):
        index = len(self.nodes)
        node = {"kind": kind, "op": op, "name": f"{op}_{index}"}
        node.update(operands=operands, results=[], cost_ns=0, expensive=False)
        node.update(stream=-1, start=-1, collective="", reduction="")
        node.update(bytes=0, key=-1)
        self.nodes.append(node)
        for value in operands:
            producer = self.values[value]["producer"]
            buffer = self.values[value]["buffer"]
            if producer >= 0:
                self.dependences.append([producer, index, "data"])
            if buffer >= 0:
                self.buffers[buffer][3].append(index)
        return index

    def add_compute(self, op, operands, shape, dtype, **more):
        index = self.add_node("compute", op, operands)
        self.nodes[index].update(more)
        result = self.add_value(shape, dtype, producer=index)
        self.nodes[index]["results"] = [result]
        return result

    def cast(self, value, dtype):
        shape = self.values[value]["shape"]
        name = "prims.convert_element_type"
        return self.add_compute(name, [value], shape, dtype, cost_ns=10_000)

    def scale(self, *operands):
        shape = self.values[operands[0]]["shape"]
        more = {"cost_ns": 9_000}
        return self.add_compute("aten.mul", [*operands], shape, "bf16", **more)

    def multiply(self, left, right, shape=None):
        shape = shape or self.values[left]["shape"]
        more = {"cost_ns": 700_000, "expensive": True}
        return self.add_compute("aten.mm", [left, right], shape, "bf16", **more)

    def gather(self, value):
        return self.collect("all-gather", value, "")

    def collect(self, kind, value, reduction):
        first, *shape = self.values[value]["shape"]
        first = first * RANKS if kind == "all-gather" else first // RANKS
        dtype = self.values[value]["dtype"]
        start = self.add_node("start", f"commsched.{kind}", [value])
        wait = self.add_node("wait", "commsched.wait", [])
        future = self.add_value([], "", kind="future", producer=start)
        result = self.add_value([first, *shape], dtype, producer=start)
        size = self.buffers[self.values[result]["buffer"]][0]
        large = max(size, self.buffers[self.values[value]["buffer"]][0])
        key = self.keys.setdefault((kind, dtype), len(self.keys))
        self.nodes[start].update(
            stream=0, collective=kind, reduction=reduction, bytes=large, key=key
        )
        self.nodes[start]["cost_ns"] = 20_000 + COMM_NS[kind] * large // 2**24
        self.nodes[start]["results"] = [future]
        self.nodes[wait].update(operands=[future], results=[result], start=start)
        self.values[result]["producer"] = wait
        self.dependences.append([start, wait, "data"])
        self.buffers[self.values[value]["buffer"]][3].append(wait)
        self.buffers[self.values[result]["buffer"]][3].append(wait)
        return result

    def write(self, path):
        names = ("nodes", "values", "buffers", "dependences", "returns")
        function = {name: getattr(self, name) for name in names}
        function.update(function="step", streams=[{"name": "@dp", "size": RANKS}])
        path.write_text(json.dumps({"program": "step", "functions": [function]}))
        return path


@contextlib.contextmanager
def peers():
    """With the programs of benchmarks/peers to import."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS / "peers"))
        yield


def run(*arguments):
    """Runs the program within this process; returns what it says is wrong."""
    with peers():
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


def answer(dump, *options):
    output = dump.with_suffix(".answer")
    assert run(dump, "-o", output, *options) is None
    return read_answer(output)


@pytest.fixture(scope="module")
def step():
    return Step()


@pytest.fixture(scope="module")
def dump(step, tmp_path_factory):
    return step.write(tmp_path_factory.mktemp("fx") / "step.json")


@pytest.fixture(scope="module")
def found(dump):
    return answer(dump)


@pytest.fixture
def simulate(step):
    """The simulator, and the step as it reads it."""
    import simulate

    fields = ("kind", "cost_ns", "stream", "expensive", "start")
    nodes = [[node[field] for field in fields] for node in step.nodes]
    named = {"dependences": step.dependences, "buffers": step.buffers}
    return simulate, {"nodes": nodes, **named}


def find_merged_places(step, found):
    """Node -> place, of merged ones as the README says: a start where the last
    member's is, a wait where the first member's is."""
    places = {node: place for place, node in enumerate(found["order"])}
    waits = {node["start"]: i for i, node in enumerate(step.nodes)}
    for bucket in found["buckets"]:
        start = max(places[member] for member in bucket)
        wait = min(places[waits[member]] for member in bucket)
        for member in bucket:
            places[member], places[waits[member]] = start, wait
    return places


def test_order_is_legal(step, found, simulate):
    simulator, problem = simulate
    simulator.check_legal(problem, found["order"])


def test_buckets_join_what_may_be_joined(step, found):
    members = [member for bucket in found["buckets"] for member in bucket]
    assert len(members) == len(set(members))
    kinds = set()
    for bucket in found["buckets"]:
        assert len(bucket) >= 2
        ((kind, _),) = {
            (step.nodes[member]["collective"], step.nodes[member]["key"])
            for member in bucket
        }
        kinds.add(kind)
    assert kinds == set(COMM_NS)


def test_merged_schedule_is_legal(step, found):
    places = find_merged_places(step, found)
    assert found["buckets"]
    for source, user, _ in step.dependences:
        assert places[source] < places[user]


def test_collectives_are_hidden(step, found, simulate):
    simulator, problem = simulate
    _, before = simulator.simulate_time(problem, range(len(step.nodes)))
    _, after = simulator.simulate_time(problem, found["order"])
    assert after < before / 2


def test_answer_does_not_depend_on_hashes(dump, found):
    output = dump.with_suffix(".hashed")
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    subprocess.run(
        [sys.executable, "fx_overlap.py", str(dump), "-o", str(output)],
        cwd=BENCHMARKS / "peers",
        env={**os.environ, "PYTHONHASHSEED": seed},
        check=True,
    )
    assert read_answer(output) == found


def test_collectives_are_merged_before_scheduling(step, dump, found):
    """By default. A bucket of what has been merged has all its members."""
    sizes = [len(bucket) for bucket in found["buckets"]]
    alone = answer(dump, "--no-pre-bucketing", "--memory-increase=0%")
    assert alone["order"] != found["order"]
    assert sum(sizes) > sum(map(len, alone["buckets"]))


def test_inductor_sees_the_step(step, dump, simulate):
    """Its tracker of memory, and its search for compute nodes, say what the
    dump says."""
    simulator, problem = simulate
    (function,) = json.loads(dump.read_text())["functions"]
    with peers():
        import fx_standin
        from torch._inductor.fx_passes import memory_estimator, overlap_scheduling

        with fx_standin.process_groups(function["streams"]) as groups:
            graph = fx_standin.StandIn(function, groups).graph
        graph.lint()
        tracker = memory_estimator.MemoryTracker(graph)
        compute = []
        for node in graph.nodes:
            tracker.schedule_node(node)
            if overlap_scheduling.is_compute_node(node):
                compute.append(node.meta[fx_standin.INDEX])
    peak = tracker.peak_memory
    assert peak == simulator.simulate_peak(problem, range(len(step.nodes)))
    assert compute == [i for i, node in enumerate(step.nodes) if node["expensive"]]


def test_costs_of_what_the_dump_has_not(step, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS / "peers"))
    import fx_costs

    class StandIn:
        nodes = step.nodes

        def get_bytes(self, value):
            return step.buffers[step.values[value]["buffer"]][0]

    costs = fx_costs.Costs(StandIn())
    gather = next(n for n in step.nodes if n["collective"] == "all-gather")
    itself = costs.price_collective(gather, gather["bytes"])
    assert itself == gather["cost_ns"] / 1e6
    for size, cost in [(0, 20_000), (2**22, 70_000), (2**24, 220_000)]:
        priced = costs.price_collective(gather, size)
        assert priced == pytest.approx(cost / 1e6, rel=1e-3)
    scatter = next(n for n in step.nodes if n["collective"] == "reduce-scatter")
    half = costs.price_collective(scatter, scatter["bytes"] / 2)
    assert half == scatter["cost_ns"] / 2e6  # All have one size.


@pytest.mark.parametrize(
    "change, options, message",
    [
        ({"collective": "permute"}, [], "is none of Inductor's collectives"),
        ({"key": 7}, [], "merged, whose keys differ"),
        ({}, ["--timeout=0.001"], "not done in 0.001 s"),
    ],
)
def test_errors(step, tmp_path, change, options, message):
    changed = Step()
    gathers = [n for n in changed.nodes if n["collective"] == "all-gather"]
    gathers[-3].update(change)
    path = changed.write(tmp_path / "step.json")
    found = run(path, "-o", tmp_path / "answer", *options)
    assert not (tmp_path / "answer").exists()
    assert re.match(f"step: .*{message}", found), found
