# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a short training step on two gloo ranks again and again.

    python benchmarks/pytorch/soak.py --runs 300 --busy 2 --keep failures

Each run is two new processes that train a small sharded model eagerly and
compiled with CommSched, and compare the gradients bit by bit. `--busy`
processes compete with them. Of every run in which a rank failed, `--keep`
gets how each rank ended and all that it wrote, stacks included; one line for
each run goes to stdout, and the counts at the end. With several ways to
compile, as in `--inner none eager`, each run has the next one in turn; `none`
is without CommSched.

`--end abrupt` ends each rank as soon as it is done, without waiting for the
other, and `--end exit` without destroying its process group; `--store rank`
lets rank 0 serve the job's store, so that it is gone when rank 0 is. All are
what a script does that does not care.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import socket
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "testsupport")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--busy", type=int, default=0, help="processes")
    parser.add_argument("--timeout", type=float, default=180, help="seconds")
    parser.add_argument("--keep", type=Path, default=Path("soak-failures"))
    parser.add_argument("--end", choices=("together", "abrupt", "exit"))
    parser.add_argument("--store", choices=("apart", "rank"))
    ways = ("eager", "inductor", "none")
    parser.add_argument("--inner", nargs="+", choices=ways)
    parser.set_defaults(end="together", store="apart", inner=["eager"])
    options = parser.parse_args()
    busy = [
        multiprocessing.Process(target=_spin, daemon=True)
        for _ in range(options.busy)
    ]
    for process in busy:
        process.start()
    counts, failed = collections.Counter(), collections.Counter()
    for run in range(options.runs):
        inner = options.inner[run % len(options.inner)]
        counts[inner] += 1
        failed[inner] += not _once(run, inner, options)
    for process in busy:
        process.kill()
    for inner, count in counts.items():
        print(f"{inner}: {count} runs, {failed[inner]} failed", flush=True)
    return 1 if failed.total() else 0


def _spin() -> None:
    while os.getppid() != 1:
        sum(range(100000))


def _once(run: int, inner: str, options: argparse.Namespace) -> bool:
    from ranks import run_ranks

    env = {}
    if options.store == "rank":
        env["TORCHELASTIC_USE_AGENT_STORE"] = "False"
        env["MASTER_PORT"] = str(_free_port())
    started = time.monotonic()
    outcomes = run_ranks(
        Path(__file__).with_name("soak_rank.py"),
        timeout=options.timeout,
        env=env,
        args=(inner, options.end),
        check=False,
    )
    seconds = time.monotonic() - started
    passed = all(o.returncode == 0 and not o.killed for o in outcomes)
    ends = ", ".join(o.end for o in outcomes)
    load = os.getloadavg()[0]
    print(f"run {run}, {inner}: {ends}; {seconds:.1f} s, load {load:.1f}")
    sys.stdout.flush()
    if not passed:
        options.keep.mkdir(parents=True, exist_ok=True)
        kept = [vars(outcome) | {"end": outcome.end} for outcome in outcomes]
        name = f"{time.strftime('%H%M%S')}-run{run}.json"
        (options.keep / name).write_text(json.dumps(kept, indent=1))
    return passed


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
