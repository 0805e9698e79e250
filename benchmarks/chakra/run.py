#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare simulated step times with those of ASTRA-sim.

Builds ASTRA-sim from a checkout of its sources (docs/results/chakra.md), exports
steps as Chakra execution traces, and simulates each twice: with the times of the
trace ("replay-only"), and with collectives simulated on ASTRA-sim's own network.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "testsupport/chakra"))

import traces  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MAKE_STEP = ROOT / "testsupport" / "steps" / "make_step.py"
# (title, options of make_step.py, axes of the ranks)
STEPS = [
    ("FSDP, 4 ranks, 2 layers of 8B", "--layers 2 --dp 4", [4]),
    ("FSDP, 8 ranks, 32 layers of 8B", "--layers 32 --dp 8", [8]),
    ("FSDP, 64 ranks, 4 layers of 8B", "--layers 4 --dp 64", [64]),
    ("FSDP and tensor parallelism, 2 x 4 ranks, 4 layers of 8B",
     "--layers 4 --dp 4 --tp 2", [2, 4]),
    ("FSDP and replicas, 4 x 2 ranks, 4 layers of 8B",
     "--layers 4 --dp 4 --replicas 2", [4, 2]),
]
ORDERS = {
    "program": (),
    "scheduled": ("--commsched-pipeline=memory-budget=20%",),
}
RUNTIME = re.compile(r"commsched\.runtime_ns = (\d+) : i64")
COLLECTIVE = re.compile(
    r"commsched\.(all_gather|reduce_scatter|all_reduce|all_to_all)\b")
FINISHED = re.compile(r"sys\[(\d+)\] finished, (\d+) cycles")
EVENT = re.compile(r"(issue|callback),sys->id=0, tick=(\d+), node->id=(\d+),")


def run(*command, **more):
    return subprocess.run(
        [str(part) for part in command], check=True, text=True,
        stdout=subprocess.PIPE, **more).stdout


def build(source, folder):
    run("cmake", "-S", HERE / "astra-sim", "-B", folder, "-G", "Ninja",
        f"-DASTRA_SIM_SOURCE={source}")
    run("cmake", "--build", folder)
    return folder / "astra-sim"


class AstraSim:
    """Ring networks of 50 GB/s and 500 ns along each axis."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        (folder / "memory.json").write_text(
            '{"memory-type": "NO_MEMORY_EXPANSION"}')

    def simulate(self, trace, axes, is_replay):
        """The time of the step, and by node that of each collective."""
        count = len(axes)
        ring = ["ring"] * count
        (self.folder / "system.json").write_text(json.dumps({
            "scheduling-policy": "FIFO", "endpoint-delay": 10,
            "active-chunks-per-dimension": 1, "preferred-dataset-splits": 1,
            "all-reduce-implementation": ring,
            "all-gather-implementation": ring,
            "reduce-scatter-implementation": ring,
            "all-to-all-implementation": ring,
            "collective-optimization": "localBWAware", "local-mem-bw": 1600,
            "boost-mode": 0, "trace-enabled": 1,
            "replay-only": int(is_replay)}))
        (self.folder / "network.yml").write_text(
            f"topology: {['Ring'] * count}\nnpus_count: {axes}\n"
            f"bandwidth: {[50.0] * count}\nlatency: {[500.0] * count}\n"
            .replace("'", ""))
        for log in self.folder.glob("log/*"):
            log.unlink()
        run(self.program, f"--workload-configuration={trace}",
            "--system-configuration=system.json",
            "--remote-memory-configuration=memory.json",
            "--network-configuration=network.yml", cwd=self.folder)
        # The first file is the newest.
        logs = sorted(self.folder.glob("log/log*.log"),
                      key=lambda path: path.stat().st_mtime_ns)
        text = "".join(path.read_text() for path in logs)
        ends = {int(ns) for _, ns in FINISHED.findall(text)}
        if len(ends) != 1:
            sys.exit(f"error: ASTRA-sim did not finish, or not alike on all "
                     f"ranks: {sorted(ends)}")
        times = {}
        for kind, tick, node in EVENT.findall(text):
            sign = 1 if kind == "callback" else -1
            times[int(node)] = times.get(int(node), 0) + sign * int(tick)
        return ends.pop(), times


def round_to_micros(text):
    """Whole microseconds, as in a trace."""
    def round_one(match):
        ns = int(match.group(1))
        micros = max(1, (ns + 500) // 1000) if ns else 0
        return f"commsched.runtime_ns = {micros * 1000} : i64"
    return RUNTIME.sub(round_one, text)


def pin_collectives(text, times_ns):
    """With the time of each collective, in the order of the program."""
    lines, times_ns = text.splitlines(), iter(times_ns)
    for index, line in enumerate(lines):
        if COLLECTIVE.search(line):
            lines[index] = RUNTIME.sub(
                f"commsched.runtime_ns = {next(times_ns)} : i64", line)
    return "\n".join(lines) + "\n"


class Comparison:
    def __init__(self, opt, astra_sim, folder):
        self.opt, self.astra_sim, self.folder = opt, astra_sim, folder

    def export(self, text):
        """What commsched-report says, and the traces."""
        report = run(self.opt, "--commsched-report=format=json",
                     f"--commsched-export-chakra={self.folder / 'traces'}",
                     "-o", "/dev/null", input=text)
        return json.loads(report), self.folder / "traces" / "step"

    def compare(self, text, axes, is_replay):
        """Operations, collectives, and three step times: ours, ours with one
        collective at a time, ASTRA-sim's."""
        report, trace = self.export(text)
        found, times = self.astra_sim.simulate(trace, axes, is_replay)
        if not is_replay:
            nodes = traces.read_nodes(f"{trace}.0.et")
            text = pin_collectives(
                text, [times[node.id] for node in nodes if node.comm_type])
            report, trace = self.export(text)
        nodes = traces.read_nodes(f"{trace}.0.et")
        one = traces.simulate(nodes, one_collective=True)
        return (report["num_ops"], report["num_collectives"],
                report["step_time_ns"], one, found)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--astra-sim", required=True, type=pathlib.Path,
                        help="checkout of its sources, with its submodules")
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build" / "astra-sim",
                        help="folder to build it in")
    parser.add_argument("--opt", default=ROOT / "build/bin/commsched-opt",
                        type=pathlib.Path)
    options = parser.parse_args()
    program = build(options.astra_sim.resolve(), options.build.resolve())
    is_equal = True
    for is_replay in (True, False):
        print("| step | order | operations | collectives | CommSched, ns | "
              "one collective at a time, ns | ASTRA-sim, ns | difference |")
        print("|---|---|--:|--:|--:|--:|--:|--:|")
        for title, flags, axes in STEPS:
            plain = run(sys.executable, MAKE_STEP, "--model", "8b", "--pin",
                        *flags.split())
            for order, passes in ORDERS.items():
                with tempfile.TemporaryDirectory() as name:
                    folder = pathlib.Path(name)
                    text = round_to_micros(run(
                        options.opt, *passes, "--commsched-estimate-runtime",
                        input=plain))
                    numbers = Comparison(
                        options.opt, AstraSim(program, folder), folder
                    ).compare(text, axes, is_replay)
                *counts, ours, one, theirs = numbers
                is_equal &= one == theirs
                print(f"| {title} | {order} | {counts[0]} | {counts[1]} | "
                      f"{ours:,} | {one:,} | {theirs:,} | "
                      f"{(theirs - ours) / ours:+.2%} |", flush=True)
        print()
    return 0 if is_equal else "error: one collective at a time differs"


if __name__ == "__main__":
    sys.exit(main())
