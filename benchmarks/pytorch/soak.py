# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a short training step on two gloo ranks again and again.

    COMMSCHED_OPT=build/bin/commsched-opt python benchmarks/pytorch/soak.py \\
        --runs 600 --inner eager none --keep failures

Each run is two new processes that train a small model under `fully_shard` for
some steps, compiled with CommSched, compare the gradients with those of one
process bit by bit, and end as an interpreter ends. They are forks of one process
that has imported PyTorch and has not used it, which takes longer than the steps
do. `--busy` processes compete with them. Of every run in which a rank failed,
`--keep` gets how each rank ended and all that it wrote, stacks included; one line
for each run goes to stdout, and the counts at the end. With several ways to
compile, as above, each run has the next one in turn; `none` is without CommSched.

`--end abrupt` ends each rank as soon as it is done, without waiting for the
other, and `--end exit` without destroying its process group; `--store rank`
lets rank 0 serve the job's store, so that it is gone when rank 0 is. All are
what a script does that does not care.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python")]

RANKS = 2
#: Seconds that the other rank has to end after one failed, and that a rank has
#: to write the stacks of its threads.
GRACE, TRACE = 10.0, 1.0


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

    os.environ.update(OMP_NUM_THREADS="1", TORCHINDUCTOR_COMPILE_THREADS="1")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    import soak_rank  # noqa: F401

    spin = "while True: sum(range(100000))"
    busy = [
        subprocess.Popen([sys.executable, "-c", spin])
        for _ in range(options.busy)
    ]
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


def _once(run: int, inner: str, options: argparse.Namespace) -> bool:
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(_free_port())
    apart = options.store == "apart"
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = str(apart)
    store = _fork(_serve, folder / "store") if apart else None
    train = functools.partial(_train, inner, options.end)
    ranks = [
        _fork(functools.partial(train, rank), folder / f"rank{rank}")
        for rank in range(RANKS)
    ]
    ends = _wait(ranks, started + options.timeout)
    if store is not None:
        os.kill(store, signal.SIGKILL)
        os.waitpid(store, 0)
    seconds, load = time.monotonic() - started, os.getloadavg()[0]
    print(
        f"run {run}, {inner}: {', '.join(ends)}; {seconds:.1f} s, load {load:.1f}",
        flush=True,
    )
    passed = all(end == "exit status 0" for end in ends)
    if not passed:
        (folder / "ends").write_text("\n".join(ends) + "\n")
        name = f"{time.strftime('%H%M%S')}-run{run}-{inner}"
        shutil.copytree(folder, options.keep / name)
    shutil.rmtree(folder)
    return passed


def _fork(task: Callable[[], None], file: Path) -> int:
    """Starts a process that does `task` and then ends as this interpreter does;
    what it writes goes to `file`."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    with open(file, "wb") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    task()
    sys.exit(0)


def _serve() -> None:
    from torch.distributed import TCPStore

    port = int(os.environ["MASTER_PORT"])
    kept = TCPStore("localhost", port, None, True, wait_for_workers=False)
    while kept:
        signal.pause()


def _train(inner: str, end: str, rank: int) -> None:
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS)
    )
    import soak_rank

    soak_rank.main(inner, end)


def _wait(processes: list[int], deadline: float) -> list[str]:
    """Waits until all have ended, kills what is left, and returns how each
    ended, in words."""
    ends: dict[int, str] = {}

    def look(process: int) -> None:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            name = signal.Signals(-code).name if code < 0 else ""
            ends[process] = name or f"exit status {code}"

    failed = False
    while len(ends) < len(processes) and time.monotonic() < deadline:
        for process in set(processes) - ends.keys():
            look(process)
        if not failed and set(ends.values()) - {"exit status 0"}:
            failed = True
            deadline = min(deadline, time.monotonic() + GRACE)
        time.sleep(0.02)
    for process in set(processes) - ends.keys():
        os.kill(process, signal.SIGUSR1)
        time.sleep(TRACE)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        ends[process] = "did not end, killed"
    return [ends[process] for process in processes]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
