#!/usr/bin/env python3
"""Runs the scenarios of commsched-faults and checks how every rank ends.

Nothing may hang, crash, or leave a file behind; every rank that lives on must
say in words what is wrong, and where; and the flight record must show it.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from faults_expected import SCENARIOS

RANKS = 3
CULPRIT = 1
# What a busy machine may take beyond the deadlines.
SLACK_MS = 8000
# Signals that mean a defect: abort, bus error, bad instruction, segmentation.
CRASHES = re.compile(r"exited on signal (4|6|7|8|11)\b")


class Run:
    """One scenario on one backend, and what is wrong with it."""

    def __init__(self, arguments, name, expected, deadline_ms=None):
        self.arguments = arguments
        self.name = name
        self.expected = expected
        self.deadline_ms = deadline_ms or arguments.deadline_ms
        self.defects = []
        self.errors = []
        # Whether a longer deadline cannot explain the defects.
        self.final = False

    def check(self, condition, text):
        if not condition:
            self.defects.append(f"{self.name}: {text}")

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "output")
            output.mkdir()
            try:
                done = self.start(folder, output)
            except subprocess.TimeoutExpired:
                self.check(False, "hangs")
                self.final = True
                return
            self.check_end(done)
            for rank in range(RANKS):
                if not self.arguments.plain:
                    self.check_rank(rank, output)
            left = [path for path in pathlib.Path(folder).rglob("*")
                    if path.is_file() and path.parent != output]
            self.check(not left, f"leaves {left}")

    def start(self, folder, output):
        command = [self.arguments.program,
                   f"--backend={self.arguments.backend}",
                   f"--ranks={RANKS}", f"--scenario={self.name}",
                   f"--output={output}",
                   f"--deadline-ms={self.deadline_ms}"]
        environment = dict(os.environ, TMPDIR=folder)
        if self.arguments.launcher:
            # The launcher ends a job of which one process has ended badly:
            # unless that is what is tested, the others are to say what they
            # see.
            options = [] if self.arguments.plain else ["--enable-recovery"]
            command = (self.arguments.launcher.split() + options +
                       ["-n", str(RANKS)] + command)
            environment["OMPI_MCA_btl_vader_backing_directory"] = folder
        if self.arguments.standins:
            environment["LD_LIBRARY_PATH"] = self.arguments.standins
            environment["COMMSCHED_STANDIN"] = self.expected.standins
            environment["COMMSCHED_RENDEZVOUS"] = f"{folder}/ranks"
        limit = (4 * self.deadline_ms + 2 * SLACK_MS) / 1000
        # With a group of its own, so that nothing outlives a hang.
        process = subprocess.Popen(command, cwd=folder, env=environment,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def check_end(self, done):
        crashed = done.returncode < 0 or CRASHES.search(done.stdout + done.stderr)
        self.check(not crashed, f"crashes: {done.returncode} {done.stderr}")
        self.final = bool(crashed)
        # A launcher that keeps the others alive does not say how they ended.
        if self.arguments.launcher and not self.arguments.plain:
            return
        fails = bool(self.expected.errors)
        self.check(bool(done.returncode) == fails, f"exits with {done.returncode}")
        killed = "exited on signal 9" in done.stdout + done.stderr
        self.check(not fails or done.returncode == 1 or killed,
                   f"exits with {done.returncode}")
        said = "error: " in done.stderr or self.expected.vanishes
        self.check(not fails or said, f"says nothing: {done.stderr}")

    def check_rank(self, rank, output):
        path = output / f"rank-{rank}.json"
        if rank == CULPRIT and self.expected.vanishes:
            self.check(not path.exists(), f"rank {rank} lives on")
            return
        if not path.exists():
            self.check(False, f"rank {rank} does not come to its end")
            return
        result = json.loads(path.read_text())
        flight = output / f"flight-{rank}.json"
        patterns = self.expected.get_errors(rank)
        error = result["error"]
        self.errors.append(f"  rank {rank}: {error}")
        for pattern in patterns:
            self.check(re.search(pattern, error),
                       f"rank {rank} lacks '{pattern}': {error}")
        if not patterns:
            self.check(not error, f"rank {rank} has an error: {error}")
            self.check(not flight.exists(), f"rank {rank} writes a record")
        self.check(bool(result["left"]) == bool(error),
                   f"rank {rank}: finalize gives {result['left']}")
        self.check("\n" not in error and not error[:1].isupper(),
                   f"rank {rank}: not in style: {error}")
        limit = 3 * self.deadline_ms + SLACK_MS
        taken = result["act_ms"] + result["leave_ms"]
        self.check(taken <= limit, f"rank {rank} takes {taken} ms")
        if self.expected.pending and rank in self.expected.pending_on:
            self.check_flight_record(rank, flight, error)

    def check_flight_record(self, rank, path, error):
        if not path.exists():
            self.check(False, f"rank {rank} writes no flight record")
            return
        record = json.loads(path.read_text())
        self.check((record["rank"], record["error"]) == (rank, error),
                   f"record of rank {record['rank']}: {record['error']}")
        for key in ("version", "entries", "pg_config", "pg_status"):
            self.check(key in record, f"flight record without '{key}'")
        for entry in record["entries"]:
            missing = ENTRY_KEYS - entry.keys()
            self.check(not missing, f"entry without {sorted(missing)}")
        pending = self.expected.pending
        states = [entry["state"] for entry in record["entries"]
                  if entry["frames"][0]["name"] == pending]
        self.check("scheduled" in states or "started" in states,
                   f"rank {rank}: {pending} is {states} in the flight record")


# The names that PyTorch's analysers look for in every entry.
ENTRY_KEYS = {
    "record_id", "pg_id", "process_group", "collective_seq_id", "p2p_seq_id",
    "op_id", "profiling_name", "is_p2p", "input_sizes", "input_dtypes",
    "output_sizes", "output_dtypes", "time_created_ns",
    "time_discovered_started_ns", "time_discovered_completed_ns",
    "state", "retired", "timeout_ms", "frames",
}


def run_again(run):
    """A machine that stands still for a deadline makes ranks late that should
    be in time. A defect stays with four times the deadline and nothing
    beside it; a crash or a hang is one at once."""
    if not run.defects or run.final:
        return run
    print("again, with a longer deadline:", *run.defects, sep="\n  ")
    again = Run(run.arguments, run.name, run.expected, 4 * run.deadline_ms)
    again.run()
    return again


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--launcher", help="such as 'mpirun --oversubscribe'")
    parser.add_argument("--standins", help="folder of libraries that stand for CUDA's")
    parser.add_argument("--plain", action="store_true",
                        help="let the launcher end the other ranks")
    parser.add_argument("--deadline-ms", type=int, default=600)
    parser.add_argument("--only", help="run scenarios whose names match this")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--verbose", action="store_true",
                        help="print what every rank says")
    arguments = parser.parse_args()

    runs = [Run(arguments, name, expected)
            for name, expected in SCENARIOS.items()
            if arguments.backend in expected.backends and
            re.search(arguments.only or "", name)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(Run.run, runs))
    runs = [run_again(run) for run in runs]
    defects = [defect for run in runs for defect in run.defects]
    if arguments.verbose:
        for run in runs:
            print("\n".join([run.name] + run.errors))
    for defect in defects:
        print(defect)
    print(f"{arguments.backend}: {len(runs)} scenarios, {len(defects)} "
          "defects")
    return 1 if defects or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
