#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts training steps that Inductor compiled from a profile of them.

Compiles forward and backward of transformer blocks for the CPU, records steps
with torch.profiler, and makes a profile of the trace and of the graphs that
Inductor lowered. Prints Markdown: how many operations were matched, how many of
them in how many fused kernels of a step, what the profile predicts, and by how
much the profiled steps and steps without the profiler differ from that.
"""
import argparse
import copy
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, schedule

from commsched.torch import GraphSpec, import_graphs


class Block(torch.nn.Module):
    """A decoder layer: attention of eight heads, and a gated MLP."""

    def __init__(self, width):
        super().__init__()
        self.norms = torch.nn.ModuleList(
            [torch.nn.RMSNorm(width) for _ in range(2)])
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.up = torch.nn.Linear(width, 8 * width, bias=False)
        self.down = torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        rows, width = x.shape
        q, k, v = (self.qkv(self.norms[0](x)).view(rows, 3, 8, width // 8)
                   .permute(1, 2, 0, 3))
        scores = torch.softmax(q @ k.transpose(1, 2) * (width // 8) ** -0.5, -1)
        x = x + self.out((scores @ v).transpose(0, 1).reshape(rows, width))
        gate, value = self.up(self.norms[1](x)).chunk(2, dim=1)
        return x + self.down(functional.silu(gate) * value)


def compile_step(layers, width, rows):
    """A function that runs forward and backward, and the list of their graphs,
    which is filled when it runs."""
    graphs = []

    def keep(graph):
        graphs.append(torch.fx.GraphModule(
            graph.owning_module, copy.deepcopy(graph)))

    torch._dynamo.reset()
    model = torch.nn.Sequential(*[Block(width) for _ in range(layers)])
    compiled = torch.compile(
        lambda x: model(x).square().mean(), options={
            "post_grad_custom_post_pass": keep, "fx_graph_cache": False,
            "cpp.enable_kernel_profile": True})
    x = torch.randn(rows, width)

    def step():
        model.zero_grad(set_to_none=True)
        compiled(x).backward()

    return step, graphs


def record(step, steps, path):
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True,
        schedule=schedule(wait=0, warmup=1, active=steps, repeat=1),
    ) as recorded:
        for _ in range(steps + 1):
            step()
            recorded.step()
    recorded.export_chrome_trace(str(path))


def time_steps(step, steps):
    """The median in ns."""
    times = []
    for _ in range(steps):
        begin = time.perf_counter_ns()
        step()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times)


def measure(args, layers, folder):
    """The report of commsched.profile, and the time of a later step."""
    step, graphs = compile_step(layers, args.width, args.rows)
    for _ in range(3):
        step()
    trace, program = folder / "step.json.gz", folder / "step.mlir"
    record(step, args.steps, trace)
    forward, backward = graphs
    program.write_text(str(import_graphs([
        GraphSpec("forward", forward, "forward"),
        GraphSpec("backward", backward, "backward", forward=forward)])))
    result = subprocess.run(
        [sys.executable, "-m", "commsched.profile", trace, "--program", program,
         "--format=json"], text=True, capture_output=True,
        env=dict(os.environ, COMMSCHED_OPT=str(args.opt.resolve())))
    if result.returncode:
        sys.exit(f"error: {result.stderr}")
    return json.loads(result.stdout), time_steps(step, args.steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layers", type=int, nargs="*", default=[1, 4, 8])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--opt", type=pathlib.Path,
                        default="build/bin/commsched-opt")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| layers | operations | in fused kernels | kernels | profile (ms) "
          "| profiled steps | later steps |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for layers in args.layers:
        with tempfile.TemporaryDirectory() as folder:
            report, later = measure(args, layers, pathlib.Path(folder))
        fused, times = report["fused"], report["step"]
        predicted = times["predicted_ns"]
        differences = " | ".join(
            f"{100 * (time - predicted) / predicted:+.1f} %"
            for time in (times["measured_ns"], later))
        print(f"| {layers} | {report['matched']['operations']} "
              f"| {fused['operations']} | {fused['kernels'] // args.steps} "
              f"| {predicted / 1e6:.1f} | {differences} |", flush=True)


if __name__ == "__main__":
    main()
