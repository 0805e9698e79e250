#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a sharded step for one device and compares it with its prediction.

The parameters of a language model are sharded over ranks that are not there, so
that one device compiles and runs what each of eight would: collectives allocate
their results and do nothing else. For every graph, the order of starts, waits and
external calls in Inductor's code is compared with that of CommSched's schedule.
For every way to run the step, as PyTorch orders it and as CommSched does, with
eager kernels and with Inductor's, the time and the peak memory are measured and
predicted, from times of the operators that are measured before. The exit status
is 1 if a graph's code has not the order of the schedule.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, Optional

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "testsupport"),
                str(ROOT / "examples" / "pytorch")]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch._inductor import config  # noqa: E402
from torch._inductor.graph import GraphLowering  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

import commsched.torch as cs  # noqa: E402
from commsched.torch import measure  # noqa: E402
from commsched.torch.compiling import inductor  # noqa: E402
from commsched.torch.compiling.records import records  # noqa: E402
from generated_code import (  # noqa: E402
    EXTERNAL,
    events_of_code,
    events_of_graph,
    without_compiler,
)
from language_model import Model  # noqa: E402
from train import peak_memory  # noqa: E402

RANKS = 8
BUDGET_PERCENT = 5
PRECISIONS = {
    "f32": cs.MixedPrecision(torch.float32, torch.float32),
    "bf16": cs.MixedPrecision(torch.bfloat16, torch.float32),
}


@contextlib.contextmanager
def observed():
    """Collects what is scheduled, and the code that Inductor writes for it."""
    scheduled: list[tuple[str, list[str]]] = []
    codes: list[str] = []
    optimize, save = inductor.optimize_graph, GraphLowering.save_output_code

    def record(gm, kind, *args, **keywords):
        done = optimize(gm, kind, *args, **keywords)
        scheduled.append((kind, events_of_graph(gm.graph)))
        return done

    inductor.optimize_graph = record
    GraphLowering.save_output_code = staticmethod(codes.append)
    try:
        yield scheduled, codes
    finally:
        inductor.optimize_graph = optimize
        GraphLowering.save_output_code = save


def events_in(code: str) -> list[str]:
    """The events of the code that the graph has, too."""
    # A product with a bias is an operator of Inductor's own on a GPU.
    events = [e.replace("call bias_addmm", "call addmm")
              for e in events_of_code(code)]
    return [e for e in events
            if not e.startswith("call ") or e[5:] in EXTERNAL]


def is_collective(event: str) -> bool:
    return not event.startswith("call ")


class Step:
    """A sharded model, its input, and how to compile it."""

    def __init__(self, options: argparse.Namespace, precision: str):
        self.device = torch.device(options.device)
        torch.manual_seed(0)
        self.model = Model(options.layers, options.width, 512).to(self.device)
        mesh = init_device_mesh(options.device, (RANKS,))
        cs.shard_parameters(self.model, mesh, PRECISIONS[precision])
        self.tokens = torch.zeros(options.batch, options.sequence,
                                  dtype=torch.long, device=self.device)

    def compiled(self, **how: Any) -> Callable[[], None]:
        """Compiles forward and backward anew; returns what runs them."""
        torch._dynamo.reset()
        step = torch.compile(self.model, **how)
        return lambda: step(self.tokens).backward()

    def time_ms(self, run: Callable[[], None], repeats: int) -> float:
        times = []
        for _ in range(repeats + 1):
            self.synchronize()
            start = time.perf_counter()
            run()
            self.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
        return statistics.median(times[1:])

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def compare_order(step: Step, name: str, buckets: str) -> list[dict[str, Any]]:
    """Compiles the step with Inductor; one row for each graph."""
    # The compiler of C++ takes long, and is not what is looked at.
    quick = (without_compiler() if step.device.type == "cpu"
             else contextlib.nullcontext())
    with observed() as (scheduled, codes), quick:
        step.compiled(options=cs.inductor_options(
            buckets=buckets, strict=True))()
    if len(scheduled) != len(codes):
        raise SystemExit(f"error: {len(scheduled)} graphs were scheduled, but "
                         f"Inductor wrote the code of {len(codes)}")
    rows = []
    for (kind, planned), code in zip(scheduled, codes):
        found = events_in(code)
        collectives = list(filter(is_collective, planned))
        rows.append({
            "graph": f"{kind}, {name}, buckets {buckets}",
            "collectives": sum(
                not e.startswith("wait") for e in collectives),
            "events": len(planned),
            "collectives_in_order":
                list(filter(is_collective, found)) == collectives,
            "all_in_order": found == planned,
        })
        print(f"{rows[-1]['graph']}: {len(planned)} starts, waits and calls, "
              + ("in order" if found == planned else "NOT in order"))
    return rows


def time_calls(step: Step) -> list[dict[str, Any]]:
    """Rows of collectives whose ranks are not there: what their call takes."""
    ops, group = torch.ops._c10d_functional, dist.group.WORLD.group_name
    rows = []
    for size in (1024, 64 << 20):
        full = torch.ones(size // 4, device=step.device)
        part = full[:len(full) // RANKS]
        for kind, start in {
            "all_gather":
                lambda: ops.all_gather_into_tensor(part, RANKS, group),
            "reduce_scatter":
                lambda: ops.reduce_scatter_tensor(full, "sum", RANKS, group),
            "all_reduce": lambda: ops.all_reduce(full, "sum", group),
        }.items():
            time_ms = step.time_ms(lambda: ops.wait_tensor(start()), 3)
            rows.append({"collective": kind, "ranks": RANKS, "nodes": 1,
                         "bytes": size, "time_ns": max(1, round(time_ms * 1e6))})
    return rows


def write_costs(step: Step, path: str) -> None:
    """Measures the operators of the step, and the calls of collectives."""
    graphs = measure.record_graphs(
        lambda compile: lambda: compile(step.model)(step.tokens).backward())
    measure.write_profile(
        path,
        time_calls(step),
        measure.measure_operators(graphs, step.device, 3, print),
        measure.measure_target(step.device, 1),
        name="absent ranks", source="scripts/gpu/compiled.py",
        device=step.device.type)


def run_modes(step: Step, name: str, folder: str,
              inners: list[str]) -> list[dict[str, Any]]:
    """Measures the step as PyTorch orders it and as CommSched does."""
    profile = str(pathlib.Path(folder) / "profile.json")
    write_costs(step, profile)
    rows = []
    for inner in inners:
        plain = "aot_eager" if inner == "eager" else inner
        ways = {
            plain: {"backend": plain},
            f"{plain}, CommSched": {"backend": "commsched", "options": {
                "inner": inner, "memory_budget": f"{BUDGET_PERCENT}%",
                "profile": profile, "strict": True}},
        }
        reports: dict[str, list[dict]] = {}
        for mode, how in ways.items():
            known = len(records())
            run = step.compiled(**how)
            run()
            seen = records()[known:]
            reports[plain] = [record.before for record in seen]
            reports[mode] = [record.after or record.before for record in seen]
            rows.append({"mode": f"{mode}, {name}", "by": mode,
                         "unscheduled":
                             None if mode == plain else f"{plain}, {name}",
                         "step_ms": step.time_ms(run, 5),
                         "peak_bytes": peak_memory(run, step.device)})
        for row in rows[-len(ways):]:
            found = [r for r in reports[row.pop("by")] if r]
            row.update(
                predicted_ms=sum(r["step_time_ns"] for r in found) / 1e6,
                predicted_peak_bytes=max(
                    r["peak_memory_bytes"] for r in found),
                collectives=sum(r["num_collectives"] for r in found))
            print(f"{row['mode']}: {row['step_ms']:.2f} ms, predicted "
                  f"{row['predicted_ms']:.2f}; {row['peak_bytes']:,} bytes, "
                  f"predicted {row['predicted_peak_bytes']:,}")
    return rows


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--json", type=pathlib.Path, required=True)
    add("--device", default="cuda", choices=("cuda", "cpu"))
    add("--layers", type=int, default=4)
    add("--width", type=int, default=1024)
    add("--sequence", type=int, default=1024)
    add("--batch", type=int, default=8)
    add("--precision", nargs="*", choices=PRECISIONS, default=list(PRECISIONS))
    add("--buckets", nargs="*", choices=("off", "auto"),
        default=["off", "auto"])
    add("--inner", nargs="*", choices=("eager", "inductor"),
        default=["eager", "inductor"])
    options = parser.parse_args(arguments)
    if options.device == "cpu":
        torch.set_num_threads(1)
    # Code from a cache was not scheduled now.
    config.force_disable_caches = True
    dist.init_process_group("fake", store=FakeStore(), rank=0,
                            world_size=RANKS)
    data = {"device": {"type": options.device}, "order": [], "modes": [],
            "memory_budget": f"{BUDGET_PERCENT}%", "ranks": RANKS}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.precision:
            step = Step(options, name)
            for buckets in options.buckets:
                data["order"] += compare_order(step, name, buckets)
            if options.inner:
                data["modes"] += run_modes(step, name, folder, options.inner)
            # What is there so far is kept if the rest does not run.
            options.json.write_text(json.dumps(data))
    dist.destroy_process_group()
    return 0 if all(row["all_in_order"] for row in data["order"]) else 1


if __name__ == "__main__":
    sys.exit(main())
