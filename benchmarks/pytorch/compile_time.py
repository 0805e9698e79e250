#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the time of CommSched in torch.compile, part by part.

    COMMSCHED_OPT=build/bin/commsched-opt PYTHONPATH=python \\
        python benchmarks/pytorch/compile_time.py

Compiles a Llama under `fully_shard`, adopted, for one of many ranks that are not
there, with the backend `commsched`, and schedules its whole step as one graph.
Prints the seconds of processor time of each part of CommSched, its programs
included, and of all else that torch.compile does. Kernels are generated, not
compiled, and nothing runs: the ratio is an upper bound.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import resource
import sys
import warnings
from pathlib import Path

import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "testsupport"), str(ROOT / "examples" / "models")]

from decoder_sizes import CONFIGS  # noqa: E402
from generated_code import without_compiler  # noqa: E402
from torch_step import StepOptions, trace_step  # noqa: E402
from torch._functorch import config as functorch_config  # noqa: E402
from torch._inductor import compile_fx  # noqa: E402
from torch._inductor import config as inductor_config  # noqa: E402
from torch._inductor.output_code import CompiledFxGraph  # noqa: E402
from torch_llama import Llama  # noqa: E402

import commsched.torch as cs  # noqa: E402
from commsched import ir, opt  # noqa: E402
from commsched.torch.compiling import inductor, schedule  # noqa: E402
from commsched.torch.compiling.graph_pass import GraphPass  # noqa: E402
from commsched.torch.rewriting import rewriter  # noqa: E402
from commsched.torch.rewriting.rewriter import Rewriter  # noqa: E402
from commsched.torch.tracer.mesh import fake_mesh  # noqa: E402

#: The functions that take the time of each part, but for other parts in them.
PARTS = {
    "import": [(schedule, "import_graphs")],
    "text": [(schedule, "_identify"), (ir.Module, "__str__")],
    "program": [(opt, "_call")],
    "answer": [(opt, "from_json"), (opt, "_both_reports"), (schedule, "make_plan")],
    "put back": [(Rewriter, "run")],
    "verify": [(rewriter, "verify")],
    "agree": [(schedule, "agree"), (schedule, "seal")],
    "rest": [(inductor.SchedulePass, "__call__"), (GraphPass, "__call__")],
    "keep order": [(inductor.PinOrder, "__call__"), (inductor.RestoreOrder, "__call__")],
}
COLUMNS = ("graph", "nodes", *PARTS, "CommSched", "else", "ratio")


class Compiled(Exception):
    """All is compiled; nothing has to run."""


def seconds() -> float:
    """Returns the processor time of this process and of its children."""
    used = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        used += usage.ru_utime + usage.ru_stime
    return used


class Clock:
    """The time of each part, by the graph that is worked on."""

    def __init__(self):
        self.graphs: list[dict[str, float]] = []
        self._inside: list[float] = []

    def begin(self, nodes: int) -> None:
        self.graphs.append({**dict.fromkeys(PARTS, 0.0), "nodes": nodes})

    def watch(self) -> None:
        """Measures the functions of all parts from now on."""
        for part, functions in PARTS.items():
            for owner, name in functions:
                setattr(owner, name, self._measured(part, getattr(owner, name)))

    def _measured(self, part, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            self._inside.append(0.0)
            start = seconds()
            try:
                return function(*args, **kwargs)
            finally:
                took = seconds() - start
                inside = self._inside.pop()
                if self.graphs:
                    self.graphs[-1][part] += took - inside
                if self._inside:
                    self._inside[-1] += took

        return call


def watch_graphs(clock: Clock) -> None:
    """Begins with each graph that Inductor compiles."""
    compile_graph = compile_fx.fx_codegen_and_compile

    def measured(gm, *args, **kwargs):
        clock.begin(len(gm.graph.nodes))
        return compile_graph(gm, *args, **kwargs)

    compile_fx.fx_codegen_and_compile = measured


def stop(*args, **kwargs):
    raise Compiled


def build(config, sequence: int, mesh) -> torch.nn.Module:
    """Returns the model with shards of memory that nothing is written to."""
    with torch.device("meta"):
        model = Llama(config, sequence)
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return cs.adopt(model.to_empty(device="cpu"))


def compile_model(config, sequence: int, mesh, **how) -> float:
    """Returns the seconds of compiling forward and backward."""
    torch._dynamo.reset()
    model = torch.compile(build(config, sequence, mesh), **how)
    tokens = torch.zeros(1, sequence, dtype=torch.long)
    start = seconds()
    with contextlib.suppress(Compiled):
        model(tokens, tokens)
    return seconds() - start


def schedule_step(args, config, clock: Clock) -> None:
    """Schedules the step as one graph, which no compiler is measured with."""
    step = trace_step(
        StepOptions(
            model=args.model, shards=args.ranks, layers=args.layers,
            sequence=args.sequence, joint=True,
        )
    )
    (graph,) = step.graphs.values()
    with fake_mesh({"dp": args.ranks}) as mesh:
        name_group(graph.graph, mesh.get_group().group_name)
        clock.begin(len(graph.graph.nodes))
        cs.schedule_pass(target=args.target, strict=True)(graph)


def name_group(graph: torch.fx.Graph, name: str) -> None:
    """Undoes what the tracer calls the process group."""
    for node in graph.nodes:
        if getattr(node.target, "namespace", "") == "_c10d_functional":
            node.args = tuple(name if arg == "dp" else arg for arg in node.args)


def row(name: str, parts: dict[str, float], compiling: float | None = None) -> str:
    ours = sum(parts[part] for part in PARTS)
    cells = [name, str(parts["nodes"]), *(f"{parts[part]:.2f}" for part in PARTS)]
    cells.append(f"{ours:.2f}")
    if compiling is None:
        cells += ["", ""]
    else:
        rest = compiling - ours
        cells += [f"{rest:.1f}", f"{ours / rest:.1%}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="llama3-8b", choices=CONFIGS)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--seq", dest="sequence", type=int, default=8192)
    parser.add_argument("--target", default="h100")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", "dynamo_pgo force disabled")
    torch.set_num_threads(1)
    config = CONFIGS[args.model].with_layers(args.layers)
    clock = Clock()
    clock.watch()
    schedule_step(args, config, clock)
    watch_graphs(clock)
    CompiledFxGraph.__call__ = stop
    ours = {
        "backend": "commsched", "options": {"target": args.target, "strict": True}
    }
    with (
        fake_mesh({"dp": args.ranks}) as mesh,
        without_compiler(),
        inductor_config.patch(force_disable_caches=True),
        functorch_config.patch(force_non_lazy_backward_lowering=True),
    ):
        # What is imported and made on the way is nobody's time.
        compile_model(config.with_layers(1), args.sequence, mesh, **ours)
        del clock.graphs[1:]
        compiling = compile_model(config, args.sequence, mesh, **ours)
    print(f"| {' | '.join(COLUMNS)} |")
    print("| --- | " + "--: | " * (len(COLUMNS) - 1))
    step, *graphs = clock.graphs
    print(row("step", step))
    for name, parts in zip(("forward", "backward"), graphs):
        print(row(name, parts))
    total = {key: sum(graph[key] for graph in graphs) for key in step}
    print(row("both", total, compiling))


if __name__ == "__main__":
    main()
