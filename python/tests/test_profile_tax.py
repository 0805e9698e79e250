# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.profile measures how much collectives slow computation down."""

import json

import pytest

pytest.importorskip("ijson")

from commsched.profile import tax  # noqa: E402
from commsched.profile.__main__ import main  # noqa: E402
from commsched.profile.activities import Activity  # noqa: E402
from commsched.profile.inflight import InFlight  # noqa: E402
from commsched.profile.predictions import predict  # noqa: E402
from taxed_steps import OPERATORS, Run, layers, program  # noqa: E402
from test_profile_traces import write  # noqa: E402

TAX = 0.25
# Most of the computation is beside a gather, part of it half.
MIXED = layers(8, ["mm", "add", "mm", "add", "mm"], ["mm", "add"], 120.0)


class Profiled:
    """The cost file and the report of the traces of a step."""

    def __init__(self, folder, capsys, step, *traces):
        self.module = folder / "step.mlir"
        self.module.write_text(program(step))
        paths = [write(folder / f"{rank}.json", events,
                       distributedInfo={"rank": rank})
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
        assert step["predicted_ns"] == pytest.approx(
            step["measured_ns"], rel=0.02)

    def check_none(self):
        assert "implementations" not in self.costs
        assert "tax" not in self.report and "tax" not in self.text
        self.check_step()


def test_known_tax(tmp_path, capsys):
    run = Run(MIXED, TAX)
    profiled = Profiled(tmp_path, capsys, MIXED, run.kineto(5))
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
    runs = [Run(MIXED, TAX, slower=slower, seed=slower)
            for slower in (1.0, 1.2)]
    profiled = Profiled(tmp_path, capsys, MIXED,
                        *(run.kineto(4) for run in runs))
    profiled.check_tax()
    assert profiled.report["ranks"] == 2


def test_timeline(tmp_path, capsys):
    profiled = Profiled(tmp_path, capsys, MIXED, Run(MIXED, TAX).timeline(5))
    profiled.check_tax()
    profiled.check_times()
    profiled.check_step()


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
        return Activity("a", begin, end, end - begin, kind=kind,
                        kernels=kernels)

    in_flight = InFlight([
        activity(10, 20, "all_gather"), activity(15, 30, "all_reduce"),
        activity(40, 50, "all_gather"), activity(60, 90, "offload"),
        activity(60, 70)])
    assert [in_flight.overlap(activity(begin, end)) for begin, end in (
        (0, 10), (0, 11), (12, 18), (25, 45), (0, 100))] == [0, 1, 6, 10, 30]
    assert in_flight.overlap(
        activity(0, 45, kernels=((0, 12), (35, 45)))) == 2 + 5
