# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.profile measures how much collectives slow computation down."""

import json
import random

import pytest

from commsched.profile import tax
from commsched.profile.__main__ import main
from commsched.profile.activities import Activity
from commsched.profile.matching import InFlight
from commsched.profile.predictions import predict
from test_profile_traces import complete, write

ELEMENTS = 4096
_GATHER = f"""\
  %s{{0}} = commsched.all_gather %s on @dp dim(0)
      {{{{commsched.name = "gather_{{0}}"}}}}
      : tensor<{ELEMENTS}xf32> -> !commsched.future<tensor<{2 * ELEMENTS}xf32>>
"""
_WAIT = f"""\
  %g{{0}} = commsched.wait %s{{0}}
      : !commsched.future<tensor<{2 * ELEMENTS}xf32>>
"""
# Name of the operator, shapes of its operands, time alone in microseconds.
OPERATORS = {
    "mm": ("aten.mm", ((32, 64), (64, 64)), 40.0),
    "add": ("aten.add", ((32, 64), (32, 64)), 10.0)}


def layers(count, hidden, alone, gather_us):
    """A gather in each of `count` layers, with operators before and behind its
    wait."""
    step = []
    for layer in range(count):
        step.append(("start", layer, gather_us))
        step += [("compute", name) for name in hidden]
        step.append(("wait", layer))
        step += [("compute", name) for name in alone]
    return step


def program(step):
    """The step as MLIR."""
    lines, count = [], 0
    for what, key, *_ in step:
        if what == "start":
            lines.append(_GATHER.format(key))
        elif what == "wait":
            lines.append(_WAIT.format(key))
        else:
            operator, shapes, _ = OPERATORS[key]
            second = "%w" if key == "mm" else "%x"
            types = ", ".join(f"tensor<{a}x{b}xf32>" for a, b in shapes)
            lines.append(
                f'  %c{count} = commsched.compute "{operator}"(%x, {second}) '
                f'{{commsched.name = "{key}_{count}"}}\n'
                f"      : ({types}) -> tensor<32x64xf32>\n")
            count += 1
    return (
        "commsched.group @dp size(2)\n"
        "func.func @step(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, "
        f"%s: tensor<{ELEMENTS}xf32>) {{\n{''.join(lines)}  return\n}}\n")


class Run:
    """Steps that run with a tax. Times are in microseconds; each work differs
    from the mean by up to `noise`, and one in 40 is `outlier` times as long."""

    def __init__(self, step, tax, noise=0.03, outlier=1.0, slower=1.0, seed=1):
        self.step, self.tax, self.slower = step, tax, slower
        self.noise, self.outlier = noise, outlier
        self.random = random.Random(seed)

    def times(self, begin):
        """(name, begin, end) of the computations, collectives and waits."""
        now = stream = begin
        busy, times = {}, []
        for what, key, *cost in self.step:
            if what == "start":
                stream = max(now, stream) + cost[0]
                busy[key] = stream - cost[0], stream
                times.append(("gather", key, *busy[key]))
            elif what == "wait":
                end = max(now, busy[key][1])
                times.append(("wait", key, now, end))
                now = end
            else:
                end = self._end(now, self._work(key), busy.values())
                times.append(("compute", key, now, end))
                now = end
        return times

    def length(self):
        """How long the step takes, with its last wait."""
        return max(end for *_, end in self.times(0))

    def _work(self, key):
        work = OPERATORS[key][2] * self.slower
        work *= 1 + self.noise * (2 * self.random.random() - 1)
        return work * (self.outlier if self.random.random() < 1 / 40 else 1)

    def _end(self, now, work, spans):
        """When a computation ends that begins now."""
        for begin, end in sorted(spans):
            if end <= now:
                continue
            alone = max(0, begin - now)
            if work <= alone:
                break
            work, now = work - alone, now + alone
            beside = (end - now) / (1 + self.tax)
            if work <= beside:
                return now + work * (1 + self.tax)
            work, now = work - beside, end
        return now + work

    def kineto(self, steps):
        """The events of a trace with kernels. The add has two of them, with a
        gap between them that is no part of its time."""
        events, count = [], 0
        for number in range(steps):
            mark = 100_000 * number
            events.append(complete(f"ProfilerStep#{number}",
                                   "user_annotation", mark, 90_000))
            for what, key, begin, end in self.times(mark + 10):
                if what == "wait":
                    continue
                count += 1
                args = {"External id": count}
                launch = complete("cudaLaunchKernel", "cuda_runtime",
                                  mark + 1, 1, correlation=count)
                kernel = {**args, "stream": 7, "correlation": count}
                if what == "gather":
                    events += [launch, complete(
                        "record_param_comms", "cpu_op", mark + 1, 1, 9,
                        **args, **{
                            "Collective name": "_allgather_base",
                            "In msg nelems": ELEMENTS, "dtype": "Float",
                            "Group size": 2, "Process Group Name": "0"}),
                        complete("ncclDevKernel_AllGather_RING_LL", "kernel",
                                 begin, end - begin, 20, **kernel)]
                    continue
                name, shapes, _ = OPERATORS[key]
                middle = (begin + end) / 2 if key == "add" else end
                events += [launch, complete(
                    name.replace(".", "::"), "cpu_op", mark + 2 + count / 100,
                    0.001, **args, **{
                        "Input Dims": [list(shape) for shape in shapes],
                        "Input type": ["float"] * 2}),
                    *(complete("kernel", "kernel", a, b - a, 7, **kernel)
                      for a, b in ((begin, middle), (middle, end)) if a < b)]
        return events

    def timeline(self, steps):
        """The events of a timeline of commsched-run, of one rank."""
        events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0,
                   "args": {"name": "rank 0 measured"}}]
        last = 0
        for _ in range(steps):
            for what, key, begin, end in self.times(last):
                last = max(last, end)
                name, category = {
                    "gather": (f"gather_{key}", "all_gather"),
                    "wait": (f"wait for gather_{key}", "wait"),
                    "compute": (OPERATORS.get(key, [""])[0], "compute"),
                }[what]
                thread = 2 if what == "gather" else 1
                events.append(complete(name, category, begin, end - begin, thread))
        return events


TAX = 0.25
# Most of the computation is beside a gather, part of it half.
MIXED = layers(8, ["mm", "add", "mm", "add", "mm"], ["mm", "add"], 120.0)


class Profiled:
    """The cost file and the report of the traces of a step."""

    def __init__(self, folder, capsys, step, *traces):
        self.module = folder / "step.mlir"
        self.module.write_text(program(step))
        paths = [write(folder / f"{rank}.json", events, distributedInfo={"rank": rank})
                 for rank, events in enumerate(traces)]
        self.path = folder / "costs.json"
        command = [*paths, "--program", str(self.module)]
        assert main([*command, "-o", str(self.path), "--format=json"]) == 0
        self.report = json.loads(capsys.readouterr().out)
        assert main(command) == 0
        self.text = capsys.readouterr().out
        self.costs = json.loads(self.path.read_text())

    def predicted_without(self, member):
        """The step that is predicted without a member of the cost file."""
        path = self.path.with_name("less.json")
        path.write_text(json.dumps(
            {k: v for k, v in self.costs.items() if k != member}))
        return predict([self.module.read_bytes()], str(path), False).step_ns

    def predicted(self, step):
        """The time that is predicted for another schedule of the step."""
        module = program(step).encode()
        return predict([module], str(self.path), schedules=False).step_ns

    def check_tax(self, tolerance=0.01):
        value = self.costs["implementations"]["nccl"]["tax"]
        assert value == pytest.approx(TAX, abs=tolerance)
        assert value == round(value, 3)
        found = self.report["tax"]
        assert found["tax"] == value and found["operators"] == 2
        assert (f"tax {value} from {found['computations']} computations of 2 "
                "operators\n") in self.text

    def check_times(self):
        """The times of the operations are those alone."""
        for row in self.costs["operations"]:
            name = row.get("name", "").partition("_")[0]
            if name in OPERATORS:
                alone = 1000 * OPERATORS[name][2]
                assert row["time_ns"] == pytest.approx(alone, rel=0.03), row

    def check_step(self):
        step = self.report["step"]
        assert step["predicted_ns"] == pytest.approx(step["measured_ns"], rel=0.02)

    def check_none(self):
        assert "implementations" not in self.costs
        assert "tax" not in self.report and "tax" not in self.text
        self.check_step()


@pytest.mark.parametrize("form", ["kineto", "timeline"])
def test_known_tax(tmp_path, capsys, form):
    run = Run(MIXED, TAX)
    profiled = Profiled(tmp_path, capsys, MIXED, getattr(run, form)(5))
    profiled.check_tax()
    profiled.check_times()
    profiled.check_step()
    # The tax is part of the step, and not of the times.
    step = profiled.report["step"]
    assert profiled.predicted_without("implementations") \
        < 0.92 * step["measured_ns"]


def test_other_schedule(tmp_path, capsys, monkeypatch):
    """What was measured with one schedule predicts others, with waits
    elsewhere. Times that include the slowdown do not."""
    def profile(folder):
        folder.mkdir()
        return Profiled(folder, capsys, MIXED, Run(MIXED, TAX).kineto(5))

    work = profile(tmp_path / "work")
    monkeypatch.setattr(tax, "LEAST_OF_ALL", 10**6)
    as_measured = profile(tmp_path / "as_measured")
    assert "implementations" not in as_measured.costs
    order = ["mm", "add", "mm", "add", "mm", "mm", "add"]
    for hidden in (0, 2):
        step = layers(8, order[:hidden], order[hidden:], 120.0)
        truth = 1000 * Run(step, TAX, noise=0.0).length()
        assert work.predicted(step) == pytest.approx(truth, rel=0.005)
        assert as_measured.predicted(step) > 1.04 * truth


@pytest.mark.parametrize("seed", range(4))
def test_outliers(tmp_path, capsys, seed):
    """Computations that take eight times as long, for whatever reason."""
    run = Run(MIXED, TAX, noise=0.05, outlier=8.0, seed=seed)
    profiled = Profiled(tmp_path, capsys, MIXED, run.kineto(16))
    profiled.check_tax(tolerance=0.02)


def test_two_ranks(tmp_path, capsys):
    """The second rank is slower."""
    runs = [Run(MIXED, TAX, slower=slower, seed=slower) for slower in (1.0, 1.2)]
    profiled = Profiled(tmp_path, capsys, MIXED, *(run.kineto(4) for run in runs))
    profiled.check_tax()
    assert profiled.report["ranks"] == 2


@pytest.mark.parametrize("step", [
    layers(8, [], ["mm", "add", "mm"], 120.0),
    layers(8, ["mm", "add", "mm"], [], 150.0),
    # A computation that ran alone is not enough.
    [*layers(8, ["mm", "add", "mm"], [], 150.0), ("compute", "mm")],
], ids=["no overlap", "all overlap", "one alone"])
def test_no_evidence(tmp_path, capsys, step):
    Profiled(tmp_path, capsys, step, Run(step, TAX).kineto(2)).check_none()


def test_no_tax(tmp_path, capsys):
    run = Run(MIXED, 0.0, noise=0.0)
    Profiled(tmp_path, capsys, MIXED, run.kineto(5)).check_none()
    # Computation that is faster beside collectives has none either.
    run = Run(MIXED, -0.1, noise=0.0)
    profiled = Profiled(tmp_path, capsys, MIXED, run.kineto(5))
    assert "implementations" not in profiled.costs


def test_other_implementations(tmp_path, capsys):
    """A tax of another implementation is not that of NCCL's kernels."""
    step = layers(8, ["mm", "add", "mm"], ["mm", "add"], 120.0)
    module = tmp_path / "named.mlir"
    module.write_text("""\
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
    second = {method = "nccl"}}>>} {
""" + program(step).replace(
        '"gather_0"', '"gather_0", commsched.implementation = "second"') + "}")
    trace = write(tmp_path / "t.json", Run(step, TAX).kineto(5))
    output = tmp_path / "costs.json"
    assert main([trace, "--program", str(module), "-o", str(output)]) == 0
    assert "tax" not in capsys.readouterr().out
    costs = json.loads(output.read_text())
    assert "implementations" not in costs
    assert sorted(row.get("implementation", "nccl")
                  for row in costs["rows"]) == ["nccl", "second"]


def test_overlap():
    """Only the kernels of a computation count, and collectives once."""
    def activity(begin, end, kind="", kernels=()):
        return Activity("a", begin, end, end - begin, kind=kind, kernels=kernels)

    in_flight = InFlight([
        activity(10, 20, "all_gather"), activity(15, 30, "all_reduce"),
        activity(40, 50, "all_gather"), activity(60, 90, "offload"),
        activity(60, 70)])
    assert [in_flight.overlap(activity(begin, end)) for begin, end in (
        (0, 10), (0, 11), (12, 18), (25, 45), (0, 100))] == [0, 1, 6, 10, 30]
    assert in_flight.overlap(activity(0, 45, kernels=((0, 12), (35, 45)))) == 2 + 5
