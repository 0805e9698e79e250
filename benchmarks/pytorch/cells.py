# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains cases in ways on gloo ranks, and says what became of them.

Run by matrix.py as ``python cells.py FILE RANKS [CASE WAY]...`` with the
PyTorch that is to be seen; writes one line of JSON to FILE as it begins a
cell, and one as it ends it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import torch
import torch._functorch.config
import torch._inductor.config

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1] / "testsupport"))

import adopted_parallelisms  # noqa: E402, F401
import parallelisms  # noqa: E402
from generated_code import (  # noqa: E402
    EXTERNAL,
    events_of_code,
    events_of_graph,
    moved_events,
    recorded_calls,
)
from ranks import run_ranks  # noqa: E402
from table import INDUCTOR_WAYS  # noqa: E402

STEPS = 2
parallelisms.LAYERS = 1
#: Seconds for one case in one way.
CELL_TIMEOUT = 420


def compiler_of(way: str) -> Callable:
    """Returns what compiles a function in `way`. With Inductor's kernels only
    the order is changed, so that results can be compared bit for bit, but for the
    default, which merges collectives, too."""
    import commsched.torch as cs
    from commsched.torch.compiling.backend import commsched as backend

    options = {
        "backend, eager": {"inner": "eager"},
        "backend, inductor": {"inner": "inductor", "buckets": "off"},
        "partitioner": {"inner": "eager", "partition": "min-cut"},
        "default": None,
    }
    if way == "plain inductor":
        return torch.compile
    if way == "plain eager kernels":
        return lambda f: torch.compile(f, backend="aot_eager")
    if way == "inductor_options":
        given = cs.inductor_options(buckets="off")
        return lambda f: torch.compile(f, options=given)
    if way == "graph pass":
        return lambda f: torch.compile(f, backend=_passes(cs.schedule_pass()))
    given = options[way]
    return lambda f: torch.compile(f, backend=backend, options=given)


def _passes(schedule: Callable) -> Callable:
    """A backend that runs `schedule` over each graph of AOT autograd and then
    the graph, as frameworks with passes of their own do."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    def compile_graph(gm, inputs):
        return make_boxed_func(schedule(gm, inputs).forward)

    return aot_autograd(fw_compiler=compile_graph, bw_compiler=compile_graph)


# -- training -----------------------------------------------------------------


def train(name: str, compiler: Optional[Callable]) -> list[torch.Tensor]:
    """Returns the loss and all gradients of each step."""
    torch._dynamo.reset()
    step = parallelisms.CASES[name]()
    results = []
    with step.context(compiler):
        function = step.function
        if compiler is not None:
            function = step.compile(compiler)
        for number in range(STEPS):
            torch.manual_seed(number)
            results += run_backwards(step, function)
            with torch.no_grad():
                for parameter in step.parameters:
                    if parameter.grad is not None:
                        results.append(_local(parameter.grad).clone())
                        _local(parameter).sub_(
                            _local(parameter.grad), alpha=0.1
                        )
                        parameter.grad = None
    return results


def run_backwards(step: parallelisms.Step, function: Callable) -> list[torch.Tensor]:
    """Returns the loss of each micro-batch."""
    losses = []
    for number, context in enumerate(step.backwards):
        inputs = step.inputs
        if number:
            inputs = [batch.roll(number, 1) for batch in inputs]
        with context():
            loss = function(*inputs)
            loss.backward()
        losses.append(loss.detach().clone())
    return losses


def _local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def difference(a: Sequence, b: Sequence) -> float:
    """Returns the largest absolute difference; 0 means that every bit is
    equal."""
    if len(a) != len(b):
        return float("inf")
    largest = 0.0
    for x, y in zip(a, b):
        if not torch.equal(x, y):
            largest = max(largest, float((x - y).abs().max()), 5e-324)
    return largest


# -- what was done to each graph ---------------------------------------------


class Seen:
    """Graphs that came to the scheduler: how far each got, its order as it
    was scheduled, and what is run: Inductor's code, or the calls of graphs of
    eager kernels."""

    def __init__(self):
        self.stages = dict.fromkeys(("imported", "scheduled", "put back"), 0)
        # As Inductor's code has the events of a graph, and as they are called.
        self.graphs: list[tuple[list[str], list[str]]] = []
        self.codes: list[str] = []
        self.calls: list[tuple] = []

    def order(self) -> Optional[str]:
        """Returns why an order was not kept, or None."""
        codes = [c for c in self.codes if "_c10d_functional" in c]
        if codes and len(codes) != len(self.graphs):
            return (
                f"{len(codes)} pieces of code for {len(self.graphs)} graphs"
            )
        for index, (events, called) in enumerate(self.graphs):
            if codes:
                run = _external(events_of_code(codes[index]))
                moved = sum(a != b for a, b in zip(run, events))
                moved += abs(len(run) - len(events))
            else:
                moved = moved_events(called, self.calls)
            if moved:
                return f"{moved} of {len(events)} events moved"
        return None


def _external(events: Sequence[str]) -> list[str]:
    """Leaves out calls that are kernels of other machines, such as a sort."""
    calls = {f"call {name}" for name in EXTERNAL}
    return [
        event
        for event in events
        if event in calls or not event.startswith("call ")
    ]


@contextlib.contextmanager
def watched() -> Iterator[Seen]:
    """Sees what the scheduler does, and the code that Inductor generates."""
    from commsched.torch.compiling import backend, graph_pass, inductor
    from commsched.torch.compiling import schedule
    from torch._inductor.graph import GraphLowering

    seen = Seen()
    with contextlib.ExitStack() as stack:

        def replace(owner: Any, name: str, new: Callable) -> None:
            old = getattr(owner, name)
            setattr(owner, name, new(old))
            stack.callback(setattr, owner, name, old)

        def counted(stage: str) -> Callable:
            def wrap(old):
                def call(*args, **kwargs):
                    result = old(*args, **kwargs)
                    seen.stages[stage] += 1
                    return result

                return call

            return wrap

        def scheduled(old):
            def call(gm, *args, **kwargs):
                done = old(gm, *args, **kwargs)
                if done:
                    seen.graphs.append(
                        (
                            events_of_graph(gm.graph),
                            events_of_graph(gm.graph, inside=True),
                        )
                    )
                return done

            return call

        replace(schedule, "import_graphs", counted("imported"))
        replace(schedule, "schedule_text", counted("scheduled"))
        replace(schedule, "fit_plan", counted("put back"))
        for module in (backend, graph_pass, inductor):
            replace(module, "optimize_graph", scheduled)
        replace(
            GraphLowering,
            "save_output_code",
            lambda _: staticmethod(seen.codes.append),
        )
        seen.calls = stack.enter_context(recorded_calls())
        yield seen


def cell(name: str, way: str, references: Callable) -> dict:
    """Trains `name` in `way`; returns what the table says of it."""
    from commsched.torch.compiling import records

    records.reset()
    with watched() as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore", records.CommSchedWarning)
        results = train(name, compiler_of(way))
    found = [
        record
        for record in records.records()
        # A joint graph is only divided.
        if record.reason != "no collectives" and record.kind != "joint"
    ]
    data = {
        "graphs": len(found),
        "stages": seen.stages,
        "reasons": sorted({r.reason for r in found if r.reason}),
        "order": seen.order() if seen.graphs else None,
    }
    plain = "plain inductor" if way in INDUCTOR_WAYS else "eager"
    data["difference"] = difference(results, references(plain))
    if data["difference"] and plain == "eager":
        # AOT autograd's kernels need not be those of eager execution.
        aot = references("plain eager kernels")
        data["without us"] = difference(aot, references("eager"))
        data["difference"] = difference(results, aot)
    return data


def worker(rank: int, cells: Sequence[Sequence[str]], file: str) -> None:
    """Runs `cells`, pairs of a case and a way, and writes what became of
    each. The first that fails ends the process: ranks would not be in step."""
    known: dict[tuple, list] = {}
    torch._functorch.config.enable_autograd_cache = False
    torch._inductor.config.fx_graph_cache = False

    def write(line: dict) -> None:
        with open(file, "a") as out:
            out.write(json.dumps(line) + "\n")

    for name, way in cells:
        faulthandler.dump_traceback_later(CELL_TIMEOUT, exit=True)

        def references(plain: str, name=name) -> list:
            if (name, plain) not in known:
                compiler = None if plain == "eager" else compiler_of(plain)
                known[name, plain] = train(name, compiler)
            return known[name, plain]

        if rank == 0:
            write({"case": name, "way": way})
        try:
            data = cell(name, way, references)
        except Exception as error:
            text = " ".join(str(error).split())
            data = {"error": f"{type(error).__name__}: {text}"[:400]}
            write({"case": name, "way": way, **data})
            raise
        everyone = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(everyone, data)
        if rank == 0:
            worst = max(everyone, key=lambda seen: seen["difference"])
            write({"case": name, "way": way, **worst})


def main() -> None:
    file, count, *cells = sys.argv[1:]
    cells = list(zip(cells[::2], cells[1::2]))
    # Kernels that were compiled before are found again; graphs are not.
    key = "TORCHINDUCTOR_CACHE_DIR"
    kept = {key: os.environ[key]} if key in os.environ else None
    timeout = CELL_TIMEOUT * (len(cells) + 1)
    outcomes = run_ranks(
        worker, int(count), timeout, kept, (cells, file), check=False
    )
    for outcome in outcomes:
        if outcome.returncode or outcome.killed:
            lines = outcome.stderr.strip().splitlines()
            print(f"rank {outcome.rank}: {outcome.end}: {''.join(lines[-1:])}")
            sys.exit(1)


if __name__ == "__main__":
    main()
