# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train a small transformer as PyTorch does and as CommSched schedules it.

    torchrun --standalone --nproc-per-node 2 examples/pytorch/train.py

trains the same model several times, side by side, from the same weights on the
same batches: eager, compiled, and scheduled, with eager kernels and with
Inductor's. The parameters are sharded over the ranks. It compares losses and
gradients of every step, and prints step times and peak memory, measured and
predicted. `--delay-ms 2` makes every collective 2 ms longer (delayed.py); with
a GPU for every rank the model trains on these, with NCCL.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, Optional

import torch
import torch.distributed as dist
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.distributed.device_mesh import init_device_mesh

import commsched.torch as cs
import delayed
import models
from commsched.torch import measure
from commsched.torch.compiling.records import Record, records
from commsched.torch.measuring.operators import make_tensor


@dataclasses.dataclass(frozen=True)
class Mode:
    """One way to run the step.

    options:   of `torch.compile`; {} is Inductor, None runs eager.
    scheduled: whether CommSched schedules: `options["options"]` are its own.
    unscheduled: the mode that runs the same graphs as PyTorch orders them.
    exact:     the mode whose losses and gradients have equal bits.
    close:     the mode whose gradients differ by rounding alone.
    """

    options: Optional[dict[str, Any]]
    scheduled: bool = False
    unscheduled: Optional[str] = None
    exact: Optional[str] = None
    close: Optional[str] = None


def _commsched(inner: str, buckets: str) -> dict[str, Any]:
    return {
        "backend": "commsched",
        "options": {"inner": inner, "buckets": buckets},
    }


MODES = {
    "eager": Mode(None),
    "aot_eager": Mode({"backend": "aot_eager"}, exact="eager"),
    "aot_eager order": Mode(
        _commsched("eager", "off"), True, "aot_eager", exact="aot_eager"
    ),
    "aot_eager commsched": Mode(
        _commsched("eager", "auto"), True, "aot_eager", exact="aot_eager"
    ),
    "inductor": Mode({}, close="eager"),
    "inductor order": Mode(
        _commsched("inductor", "off"), True, "inductor", exact="inductor"
    ),
    "inductor commsched": Mode(
        _commsched("inductor", "auto"), True, "inductor", close="inductor"
    ),
}

def _nothing(gm: fx.GraphModule, inputs: Any) -> Callable[..., Any]:
    """Compiles a graph to nothing: its results are made up, once."""
    made: dict[fx.Node, Any] = {}
    inputs = gm.graph.find_nodes(op="placeholder")
    outputs = gm.graph.output_node().args[0]

    def run(*arguments: Any) -> list[Any]:
        known = dict(zip(inputs, arguments))
        for node in outputs:
            if isinstance(node, fx.Node) and node not in known:
                if node not in made:
                    made[node] = make_tensor(node.meta["val"])
                known[node] = made[node]
        return [known.get(node) for node in outputs]

    return make_boxed_func(run)


#: Runs no graph: what is left of a step is not in any.
NOTHING = Mode(
    {"backend": aot_autograd(fw_compiler=_nothing, bw_compiler=_nothing)}
)

#: Largest difference of two gradients that rounding explains, as a part of
#: the largest gradient: Inductor sums in another order than eager kernels,
#: and reads gathered weights in another layout if collectives are merged.
TOLERANCE = 1e-4


class Run:
    """A model that trains in one mode, and what was seen of it."""

    def __init__(self, name: str, mode: Mode, job: "Job"):
        self.name, self.mode, self.job = name, mode, job
        torch.manual_seed(0)
        self.model = job.build_model()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.step_function = self._compile()
        self.losses: list[float] = []
        self.gradients: list[torch.Tensor] = []
        self.times: list[float] = []
        self.graphs: list[Record] = []

    def _compile(self) -> Callable[..., torch.Tensor]:
        if self.mode.options is None:
            return self.model
        options = dict(self.mode.options)
        if self.mode.scheduled:
            options["options"] = {
                **options["options"],
                "memory_budget": self.job.arguments.memory_budget,
                "profile": self.job.profile,
                "strict": True,
            }
        # Each mode compiles the code of the model anew.
        return torch.compile(self.model, **options)

    def step(self, index: int) -> None:
        """Trains one step and keeps its loss, gradients and time."""
        batch = self.job.batch(index)
        known = len(records())
        dist.barrier()
        self.job.synchronize()
        start = time.perf_counter()
        loss = self.step_function(*batch)
        loss.backward()
        self.job.synchronize()
        self.times.append(time.perf_counter() - start)
        self.graphs += records()[known:]
        self.losses.append(loss.item())
        self.gradients.append(
            torch.cat(
                [p.grad.to_local().flatten() for p in self.model.parameters()]
            ).cpu()
        )
        self.optimizer.step()
        self.optimizer.zero_grad()

    def measure_peak(self) -> None:
        """Runs one more forward and backward for its peak memory."""
        batch = self.job.batch(0)
        self.peak = peak_memory(
            lambda: self.step_function(*batch).backward(), self.job.device
        )

    def median_ms(self) -> float:
        """The median over the steps of the time of the slowest rank."""
        warmup = self.job.arguments.warmup
        times = torch.tensor(self.times[warmup:], device=self.job.device)
        dist.all_reduce(times, dist.ReduceOp.MAX)
        return statistics.median(times.tolist()) * 1e3

    def compare(self, other: "Run") -> float:
        """The largest difference of two runs' gradients over all steps and
        ranks, as a part of the largest gradient; 0 means equal bits, of the
        losses too."""
        worst = 0.0
        for mine, theirs in zip(self.gradients, other.gradients):
            if not torch.equal(mine, theirs):
                difference = (mine - theirs).abs().max() / theirs.abs().max()
                worst = max(worst, float(difference))
        for mine, theirs in zip(self.losses, other.losses):
            if mine != theirs:
                worst = max(worst, abs(mine - theirs) / abs(theirs))
        result = torch.tensor([worst], device=self.job.device)
        dist.all_reduce(result, dist.ReduceOp.MAX)
        return result.item()


def choose_device() -> tuple[torch.device, str]:
    """This rank's device and the backend of its collectives: a GPU if the
    machine has one for each of its ranks."""
    if torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"]):
        return torch.device("cuda", int(os.environ["LOCAL_RANK"])), "nccl"
    return torch.device("cpu"), "gloo"


class Job:
    """What all runs share: the ranks, the device, the batches, the profile."""

    def __init__(self, arguments: argparse.Namespace):
        self.arguments = arguments
        self.profile: Optional[str] = arguments.profile
        self.device, backend = choose_device()
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        else:
            torch.set_num_threads(1)
        if arguments.delay_ms:
            self.device = torch.device("cpu")
            backend = delayed.register(arguments.delay_ms / 1e3)
        dist.init_process_group(backend)
        self.mesh = init_device_mesh(
            self.device.type, (dist.get_world_size(),)
        )

    def build_model(self) -> torch.nn.Module:
        """The model, sharded, with the weights that all runs start from."""
        given = self.arguments
        torch.manual_seed(0)
        model = models.build(
            given.model, given.layers, given.dim, given.sequence
        ).to(self.device)
        precision = cs.MixedPrecision(torch.float32, torch.float32)
        cs.shard_parameters(model, self.mesh, precision)
        return model

    def batch(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        """This rank's tokens and labels of a step: a sequence to learn."""
        generator = torch.Generator().manual_seed(
            index * dist.get_world_size() + dist.get_rank()
        )
        shape = (self.arguments.batch, 1)
        first = torch.randint(models.VOCABULARY, shape, generator=generator)
        tokens = first + 3 * torch.arange(self.arguments.sequence + 1)
        tokens = tokens.to(self.device) % models.VOCABULARY
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def is_priced(self) -> bool:
        """Whether CommSched finds the times of this machine by itself."""
        return dist.get_backend() == "gloo"

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def make_step(self, compile: Callable[..., Any]) -> Callable[[], None]:
        """A step of the model, for `measure.record_graphs`."""
        model = compile(self.build_model())
        return lambda: model(*self.batch(0)).backward()


def peak_memory(run: Callable[[], Any], device: torch.device) -> int:
    """The most bytes that `run` allocates at any one time, beyond what is
    allocated before it."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        return torch.cuda.max_memory_allocated() - before
    activity = torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(
        activities=[activity], profile_memory=True
    ) as profiled:
        run()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiled.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    changes = sorted(
        (event["ts"], event["args"]["Bytes"])
        for event in events
        if event.get("name") == "[memory]"
    )
    return max(itertools.accumulate(change for _, change in changes))


HEADER = (
    "mode", "step", "predicted", "peak memory", "predicted", "collectives",
    "loss", "gradients",
)


def report(job: Job, runs: dict[str, Run], rest: float) -> bool:
    """Prints what was seen, from rank 0, and writes it to `--output`; returns
    whether all runs agree.

    `rest` is what a step takes outside of its graphs, in ms.
    """
    rows = [observe(name, runs, rest) for name in runs]
    if dist.get_rank() == 0:
        print_table([list(HEADER), *map(format_row, rows)])
        if job.arguments.output:
            seen = {
                "ranks": dist.get_world_size(),
                "device": {"type": job.device.type},
                "memory_budget": job.arguments.memory_budget,
                "modes": rows,
            }
            with open(job.arguments.output, "w", encoding="utf-8") as file:
                json.dump(seen, file)
    return all(row.get("difference", 0) <= row["limit"] for row in rows)


def observe(name: str, runs: dict[str, Run], rest: float) -> dict[str, Any]:
    """What was seen of a mode, and what was predicted: times in ms, memory in
    bytes, the difference from another mode and the most that it may be."""
    run, predicted = runs[name], predict(name, runs)
    row = {
        "mode": name,
        "unscheduled": run.mode.unscheduled,
        "step_ms": run.median_ms(),
        "peak_bytes": run.peak,
        "loss": run.losses[-1],
        "limit": 0 if run.mode.exact else TOLERANCE,
    }
    if predicted:
        row["predicted_ms"] = predicted["step_time_ns"] / 1e6 + rest
        row["predicted_peak_bytes"] = predicted["peak_memory_bytes"]
        row["collectives"] = predicted["num_collectives"]
    other = run.mode.exact or run.mode.close
    if other in runs:
        row["other"], row["difference"] = other, run.compare(runs[other])
    return row


def format_row(row: dict[str, Any]) -> list[str]:
    """The cells of a mode's row of the table."""
    cells = [row["mode"]]
    for key in ("step_ms", "predicted_ms"):
        cells.append(f"{row[key]:,.1f} ms" if key in row else "-")
    cells.append(_mebibytes(row["peak_bytes"]))
    cells.append(_mebibytes(row.get("predicted_peak_bytes")))
    cells.append(str(row.get("collectives", "-")))
    cells.append(f"{row['loss']:.6f}")
    if "other" in row:
        text = f"{row['difference']:.1e} from {row['other']}"
        if row["difference"] == 0:
            text = f"equal to {row['other']}"
        elif row["difference"] > row["limit"]:
            text += f": more than {row['limit']:g}"
        cells.append(text)
    return cells


def predict(name: str, runs: dict[str, Run]) -> dict[str, int]:
    """What CommSched's simulation says of a mode's step: of the graphs that
    it scheduled, or of the same graphs as they came."""
    when, run = "after", runs[name]
    if not run.mode.scheduled:
        when = "before"
        for other in runs.values():
            if other.mode.unscheduled == name:
                run = other
    reports = [getattr(graph, when) for graph in run.graphs]
    if not all(reports) or not reports:
        return {}
    return {
        "step_time_ns": sum(r["step_time_ns"] for r in reports),
        "peak_memory_bytes": max(r["peak_memory_bytes"] for r in reports),
        "num_collectives": sum(r["num_collectives"] for r in reports),
    }


def _mebibytes(size: Optional[int]) -> str:
    return "-" if size is None else f"{size / 2**20:,.1f} MiB"


def print_table(rows: list[list[str]]) -> None:
    """Prints columns, the first and the last to the left."""
    width = len(rows[0])
    rows = [row + [""] * (width - len(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [
            cell.ljust(size) if i in (0, width - 1) else cell.rjust(size)
            for i, (cell, size) in enumerate(zip(row, widths))
        ]
        print("  ".join(cells).rstrip())


def measure_profile(job: Job) -> str:
    """Times this machine's collectives and the model's operators, and returns
    the profile's path, one for all ranks of a node."""
    path = [None]
    if int(os.environ["LOCAL_RANK"]) == 0:
        path = [os.path.join(tempfile.mkdtemp(), "profile.json")]
    dist.broadcast_object_list(path, 0)
    measure.measure(
        path[0],
        measure.record_graphs(job.make_step),
        sizes=measure.sizes_between(1024, 4 << 20),
        kinds=("all_gather", "reduce_scatter", "all_reduce"),
    )
    return path[0]


def parse(arguments: Optional[list[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--model", choices=("llama", "transformer"), default="llama")
    add("--layers", type=int, default=2)
    add("--dim", type=int, default=128, help="a multiple of 16")
    add("--sequence", type=int, default=256, help="tokens of a sequence")
    add("--batch", type=int, default=4, help="sequences of a rank")
    add("--steps", type=int, default=20)
    add("--warmup", type=int, default=3, help="first steps, not timed")
    add("--modes", default=",".join(MODES), help="of "
        + ", ".join(repr(mode) for mode in MODES))
    add("--memory-budget", default="5%")
    add("--delay-ms", type=float, default=0.0,
        help="how much longer every collective takes (without a GPU)")
    add("--profile", help="measured times (default: of the machine at hand)")
    add("--output", metavar="FILE", help="write the table's numbers, as JSON")
    given = parser.parse_args(arguments)
    given.modes = given.modes.split(",")
    for mode in given.modes:
        if mode not in MODES:
            parser.error(f"unknown mode '{mode}'")
    if given.steps <= given.warmup:
        parser.error("--steps must be more than --warmup")
    if "LOCAL_RANK" not in os.environ:
        parser.error("run under torchrun")
    return given


def main(arguments: Optional[list[str]] = None) -> int:
    job = Job(parse(arguments))
    if job.profile is None and not job.is_priced():
        job.profile = measure_profile(job)
    runs = {name: Run(name, MODES[name], job) for name in job.arguments.modes}
    for index in range(job.arguments.steps):
        for run in runs.values():
            run.step(index)
    for run in runs.values():
        run.measure_peak()
    rest = Run("nothing", NOTHING, job)
    for index in range(job.arguments.steps):
        rest.step(index)
    agree = report(job, runs, rest.median_ms())
    dist.barrier()
    dist.destroy_process_group()
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
