# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules traced steps of JAX and writes tables of what that changes, and of
what it takes beside XLA's compilation.

    COMMSCHED_OPT=build/bin/commsched-opt PYTHONPATH=python \
      python benchmarks/jax/steps.py [--xla] [--steps NAME;...]

With --xla every step is also compiled by XLA for H100 GPUs, with its
latency-hiding scheduler. That needs the package jax-cuda12-pjrt of JAX's own
version and `ptxas` on PATH, but no GPU.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

# The package is there for its compiler: no CUDA libraries are needed.
os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jax.sharding import AxisType, Mesh  # noqa: E402

sys.path.append(str(Path(__file__).parents[2] / "examples" / "models"))

import commsched.jax  # noqa: E402
import jax_llama as llama  # noqa: E402
import jax_step as step  # noqa: E402

STEPS = {
    "8b, 64 devices": step.StepOptions(),
    "8b, 64 devices, scan": step.StepOptions(scan=True),
    "8b, 64 devices, 4 layers": step.StepOptions(layers=4),
    "70b, 64 devices": step.StepOptions(model="llama3-70b"),
}

BUDGETS = ("0%", "5%")

#: What XLA has to know of a GPU that is not there.
H100 = """
gpu_device_info {
  cuda_compute_capability { major: 9 minor: 0 }
  threads_per_block_limit: 1024 threads_per_warp: 32
  shared_memory_per_block: 49152 shared_memory_per_core: 233472
  shared_memory_per_block_optin: 232448
  threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800
  clock_rate_ghz: 1.98 device_memory_size: 84942979072
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""


def gpu_mesh(devices: int) -> Mesh:
    """A mesh of H100s, eight on each host, that need not be there."""
    topology = topologies.get_topology_desc(
        platform="cuda",
        topology_name="",
        target_config=H100,
        topology=f"1x{max(devices // 8, 1)}x{min(devices, 8)}",
    )
    return Mesh(
        np.array(topology.devices),
        (llama.AXIS,),
        axis_types=(AxisType.Auto,),
    )


def lower(options: step.StepOptions, xla: bool) -> Any:
    if not xla:
        return step.lower_step(options)
    mesh = gpu_mesh(options.devices)
    traced = step.make_step(options, mesh).trace(
        *step.abstract_arguments(options, mesh)
    )
    return traced.lower()


def row(name: str, when: str, report: dict) -> str:
    """A row of the first table, of one function."""
    time_ms = lambda key: f"{report[key] / 1e6:,.1f}"  # noqa: E731
    return (
        f"| {name} | {when} | {time_ms('step_time_ns')} "
        f"| {time_ms('compute_time_ns')} | {time_ms('exposed_comm_ns')} "
        f"| {time_ms('tight_lower_bound_ns')} "
        f"| {report['peak_memory_bytes'] / 2**30:.2f} "
        f"| {report['num_collectives']:,} |"
    )


def print_rows(name: str, reports: dict[str, Any]) -> None:
    """Prints the rows of a step, for each function that communicates."""
    for function in reports[BUDGETS[0]].before:
        label = name
        if len(reports[BUDGETS[0]].before) > 1:
            label += f", `@{function}`"
        print(row(label, "before", reports[BUDGETS[0]].before[function]))
        for budget, report in reports.items():
            print(row(label, f"after, {budget}", report.after[function]))
    sys.stdout.flush()


def compile_seconds(lowered: Any) -> float:
    start = time.perf_counter()
    lowered.compile({"xla_gpu_enable_latency_hiding_scheduler": True})
    return time.perf_counter() - start


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xla", action="store_true")
    parser.add_argument("--steps", default=";".join(STEPS))
    given = parser.parse_args(arguments)
    print(
        "| step | | step, ms | computation, ms | exposed, ms | bound, ms "
        "| peak, GiB | collectives |\n|---|---|---:|---:|---:|---:|---:|---:|"
    )
    times = []
    for name in given.steps.split(";"):
        lowered = lower(STEPS[name], given.xla)
        operations = lowered.as_text().count(" = ")
        reports = {
            budget: commsched.jax.schedule(
                lowered, memory_budget=budget
            ).report
            for budget in BUDGETS
        }
        print_rows(name, reports)
        taken = reports[BUDGETS[-1]].seconds
        cells = [name, f"{operations:,}", f"{taken:.2f}"]
        if given.xla:
            seconds = compile_seconds(lowered)
            cells += [f"{seconds:.1f}", f"{taken / seconds:.3f}"]
        times.append("| " + " | ".join(cells) + " |")
    titles = ["step", "operations", "CommSched, s"]
    if given.xla:
        titles += ["XLA:GPU, s", "ratio"]
    print("\n| " + " | ".join(titles) + " |")
    print("|---|" + "---:|" * (len(titles) - 1))
    print("\n".join(times))
    return 0


if __name__ == "__main__":
    sys.exit(main())
