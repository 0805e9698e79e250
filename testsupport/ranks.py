# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a function or a script as several ranks of a gloo job.

:func:`run_ranks` starts one process for each rank, as `torchrun` does: the
job's store is a TCPStore that the starting process serves, on a port that the
system chooses. It always returns: ranks that do not end in time, or that
outlive a rank that failed, write the stacks of their threads to stderr and
are killed.

A function is found by its file and name, so it has to be at the top level of
its file, and is called as `function(rank, *args)` with the process group
initialized. What it returns is pickled. Its ranks are forks of one process
that has imported `ranks_start`, which takes longer than most functions do. A
script is run by a Python of its own, from its start to its end, unless its ranks
are to be such forks, too.
"""

from __future__ import annotations

import datetime
import faulthandler
import fcntl
import functools
import hashlib
import importlib.util
import inspect
import multiprocessing
import multiprocessing.forkserver
import os
import pickle
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence, Union

#: Seconds that the other ranks have to end after one failed.
GRACE = 5.0
#: Seconds that a rank has to write the stacks of its threads.
TRACE = 1.0

#: What is the same on all ranks; some of it is read as PyTorch is imported.
_EVERYWHERE = {
    "OMP_NUM_THREADS": "1",
    "PYTHONFAULTHANDLER": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}
Environment = Mapping[str, str]


@dataclass
class Outcome:
    """What became of one rank. `value` is what the function returned;
    `returncode` is negative for a signal; `killed` means by this module,
    since the rank did not end by itself."""

    rank: int
    returncode: int
    killed: bool
    value: Any
    stdout: str
    stderr: str

    @property
    def end(self) -> str:
        """How the rank ended, in words."""
        if self.killed:
            return "did not end, killed"
        if self.returncode < 0:
            return signal.Signals(-self.returncode).name
        return f"exit status {self.returncode}"


class RanksFailed(AssertionError):
    """Some rank failed; the message has every rank's end and stderr."""

    def __init__(self, outcomes: Sequence[Outcome]):
        super().__init__(
            "\n".join(
                f"--- rank {o.rank}: {o.end}\n{o.stdout}{o.stderr}"
                for o in outcomes
            )
        )
        self.outcomes = list(outcomes)


def run_ranks(
    worker: Union[Callable, str, Path],
    world_size: int = 2,
    timeout: float = 60.0,
    env: Union[Environment, Sequence[Environment], None] = None,
    args: Sequence[Any] = (),
    check: bool = True,
    forked: bool = False,
) -> list:
    """Runs `worker` as `world_size` ranks and returns their results by rank.

    `worker` is a function (see the module) or the path of a script, which
    gets `args` as its command line and initializes its process group from
    the environment, in a fork if `forked`. `timeout` is in seconds and covers
    the start of Python too. `env` is added to the environment; a sequence has
    one for each rank. Inductor's cache is a new, empty directory unless `env`
    names one.

    Returns what the function returned on each rank (None for scripts), or
    an :class:`Outcome` for each if `check` is False. Raises RanksFailed if
    `check` is True and a rank fails or does not end in time.
    """
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        outcomes = _run(
            worker, world_size, timeout, env, args, Path(folder), forked
        )
    if not check:
        return outcomes
    if any(o.returncode != 0 or o.killed for o in outcomes):
        raise RanksFailed(outcomes)
    return [o.value for o in outcomes]


def _run(worker, world_size, timeout, env, args, folder: Path, forked: bool) -> list:
    from torch.distributed import TCPStore

    store = TCPStore(
        "localhost",
        0,
        is_master=True,
        wait_for_workers=False,
        timeout=datetime.timedelta(seconds=timeout),
    )
    _write_call(worker, args, folder, timeout)
    start = _Fork if forked or callable(worker) else _start
    processes = []
    try:
        for rank in range(world_size):
            extra = env[rank] if isinstance(env, (list, tuple)) else env
            variables = _environment(rank, world_size, store.port, folder)
            variables.update(extra or {})
            processes.append(start(variables, folder, rank))
        killed = _wait(processes, time.monotonic() + timeout)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    return [
        _outcome(rank, process, rank in killed, folder)
        for rank, process in enumerate(processes)
    ]


def _write_call(worker, args, folder: Path, timeout: float) -> None:
    call = {"args": tuple(args), "timeout": timeout, "name": None}
    if callable(worker):
        call["file"] = inspect.getfile(worker)
        call["name"] = worker.__qualname__
    else:
        call["file"] = str(worker)
    (folder / "call").write_bytes(pickle.dumps(call))


def _python_path() -> str:
    return os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])


def _environment(rank: int, size: int, port: int, folder: Path) -> dict:
    found = dict(os.environ)
    found.setdefault("GLOO_SOCKET_IFNAME", "lo")
    found.update(
        _EVERYWHERE,
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(size),
        MASTER_ADDR="localhost",
        MASTER_PORT=str(port),
        TORCHELASTIC_USE_AGENT_STORE="True",
        PYTHONPATH=_python_path(),
        TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"),
    )
    return found


class _Fork:
    """A rank that begins with PyTorch imported; as a Popen."""

    def __init__(self, variables: Environment, folder: Path, rank: int):
        self._process = _server().Process(
            target=_begin, args=(dict(variables), folder, rank)
        )
        self._process.start()
        self.kill, self.wait = self._process.kill, self._process.join

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    poll = returncode.fget

    def send_signal(self, number: int) -> None:
        os.kill(self._process.pid, number)


@functools.cache
def _server() -> multiprocessing.context.BaseContext:
    """Starts the process that the ranks are forks of."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ranks_start"])
    before = dict(os.environ)
    os.environ.update(_EVERYWHERE, PYTHONPATH=_python_path())
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return context


def _begin(variables: Environment, folder: Path, rank: int) -> None:
    """Makes a fork what a process with these variables would be, and runs
    the function in it."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        with open(folder / f"{name}.{rank}", "wb") as file:
            os.dup2(file.fileno(), descriptor)
    os.environ.clear()
    os.environ.update(variables)
    sys.path[:0] = variables["PYTHONPATH"].split(os.pathsep)
    faulthandler.enable()
    _share_runs(folder)
    _main(folder)


def _share_runs(folder: Path) -> None:
    """Makes the ranks of a job, which share a machine here, run commsched-opt once
    for equal graphs. That it gives each the same is checked without ranks."""
    from commsched.torch.compiling import runs

    run = runs._once

    def run_once(what, text, options, *passes, **named):
        runs.check_program()
        key = hashlib.sha256(f"{what} {options.fingerprint()} {text}".encode())
        with open(folder / key.hexdigest(), "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            if not (data := file.read()):
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    made = run(what, text, options, *passes, **named)
                data = pickle.dumps((made, [warning.message for warning in said]))
                file.write(data)
        made, said = pickle.loads(data)
        for message in said:
            warnings.warn(message, stacklevel=2)
        return made

    runs._once = run_once


def _start(variables, folder: Path, rank: int) -> subprocess.Popen:
    command = [sys.executable, __file__, str(folder)]
    with open(folder / f"stdout.{rank}", "wb") as out:
        with open(folder / f"stderr.{rank}", "wb") as err:
            return subprocess.Popen(
                command,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )


def _wait(processes: Sequence[subprocess.Popen], deadline: float) -> set:
    """Waits until all processes ended or the deadline has passed, kills
    what is left, and returns the ranks that were killed."""
    failed = False
    while any(process.poll() is None for process in processes):
        if not failed and any(process.returncode for process in processes):
            failed = True
            deadline = min(deadline, time.monotonic() + GRACE)
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    left = {i for i, process in enumerate(processes) if process.poll() is None}
    for rank in left:
        processes[rank].send_signal(signal.SIGUSR1)
    if left:
        time.sleep(TRACE)
    return left


def _outcome(rank, process, killed, folder: Path) -> Outcome:
    result = folder / f"result.{rank}"
    return Outcome(
        rank,
        process.returncode,
        killed,
        pickle.loads(result.read_bytes()) if result.exists() else None,
        (folder / f"stdout.{rank}").read_text(errors="replace"),
        (folder / f"stderr.{rank}").read_text(errors="replace"),
    )


def _load(path: str, name: str) -> Callable:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(Path(path).parent))
    spec.loader.exec_module(module)
    return getattr(module, name)


def _call(rank: int, call: Mapping) -> Any:
    """Runs the function between the start and the end of a job."""
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", timeout=datetime.timedelta(seconds=call["timeout"])
    )
    value = _load(call["file"], call["name"])(rank, *call["args"])
    if distributed.is_initialized():
        distributed.barrier()
        distributed.destroy_process_group()
    return value


def _main(folder: Path) -> None:
    """Runs the function or the script in this process, as one rank."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    call = pickle.loads((folder / "call").read_bytes())
    # Ends this process if the one that started it is killed.
    faulthandler.dump_traceback_later(call["timeout"] + 2 * GRACE, exit=True)
    if call["name"] is None:
        sys.argv = [call["file"], *map(str, call["args"])]
        runpy.run_path(call["file"], run_name="__main__")
        return
    rank = int(os.environ["RANK"])
    try:
        value = _call(rank, call)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        # Destructors of a process group may wait for the other ranks.
        os._exit(1)
    (folder / f"result.{rank}").write_bytes(pickle.dumps(value))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
