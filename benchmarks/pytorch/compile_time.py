#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare the time of CommSched in torch.compile with Inductor's own.

Compiles the forward and backward of a Llama whose parameters are sharded over
ranks that are not there, and prints for each graph the processor time of
CommSched (its programs included) and of Inductor without it. Kernels are
generated, not compiled, and nothing runs: the ratio is an upper bound.
"""

import argparse
import dataclasses
import pathlib
import resource
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))

import torch  # noqa: E402
from torch._functorch import config as functorch_config  # noqa: E402
from torch._inductor import compile_fx, config  # noqa: E402
from torch._inductor.output_code import CompiledFxGraph  # noqa: E402

import commsched.torch as cs  # noqa: E402
from commsched.torch.compiling import inductor  # noqa: E402
from commsched.torch.tracer import models  # noqa: E402
from commsched.torch.tracer.mesh import fake_mesh  # noqa: E402
from generated_code import without_compiler  # noqa: E402

PARTS = {
    "schedule": inductor.SchedulePass,
    "pin": inductor.PinOrder,
    "sort": inductor.RestoreOrder,
}


class Compiled(Exception):
    """All is compiled; nothing has to run."""


def seconds():
    """Returns the processor time of this process and of its children."""
    used = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        used += usage.ru_utime + usage.ru_stime
    return used


class Clock:
    """Adds up the time of functions, for each graph that is compiled."""

    def __init__(self):
        self.graphs = []

    def measure(self, owner, name, part):
        function = getattr(owner, name)

        def measured(*args, **kwargs):
            start = seconds()
            try:
                return function(*args, **kwargs)
            finally:
                self.graphs[-1][part] += seconds() - start

        setattr(owner, name, measured)

    def measure_graphs(self):
        compile_graph = compile_fx.fx_codegen_and_compile

        def measured(gm, *args, **kwargs):
            parts = dict.fromkeys([*PARTS, "total"], 0.0)
            parts["nodes"] = len(gm.graph.nodes)
            self.graphs.append(parts)
            start = seconds()
            try:
                return compile_graph(gm, *args, **kwargs)
            finally:
                parts["total"] += seconds() - start

        compile_fx.fx_codegen_and_compile = measured


def build(name, layers, sequence, mesh):
    """Returns the model with shards of memory that nothing is written to."""
    model_config = models.CONFIGS[name]
    if layers is not None:
        model_config = dataclasses.replace(model_config, num_layers=layers)
    with torch.device("meta"):
        model = models.build(model_config, sequence)
        cs.shard_parameters(model, mesh)
    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            for key, tensor in tensors.items():
                if tensor is not None:
                    here = torch.empty_like(tensor, device="cpu")
                    if isinstance(tensor, torch.nn.Parameter):
                        here = torch.nn.Parameter(here)
                    tensors[key] = here
    return model


def stop(*args, **kwargs):
    raise Compiled


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="llama3-8b", choices=models.CONFIGS)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--seq", type=int, default=8192)
    args = parser.parse_args()
    torch.set_num_threads(1)
    clock = Clock()
    for part, pass_class in PARTS.items():
        clock.measure(pass_class, "__call__", part)
    clock.measure_graphs()
    CompiledFxGraph.__call__ = stop
    settings = cs.inductor_options(strict=True)
    with (
        fake_mesh(args.ranks) as mesh,
        without_compiler(),
        config.patch(force_disable_caches=True),
        functorch_config.patch(force_non_lazy_backward_lowering=True),
    ):
        model = build(args.model, args.layers, args.seq, mesh)
        tokens = torch.zeros(1, args.seq, dtype=torch.long)
        try:
            torch.compile(model, options=settings)(tokens, tokens)
        except Compiled:
            pass
    print("| graph | nodes | schedule | pin | sort | Inductor | ratio |")
    print("| --- " * 7 + "|")
    for name, parts in zip(("forward", "backward"), clock.graphs):
        ours = sum(parts[part] for part in PARTS)
        theirs = parts["total"] - ours
        cells = [f"{parts[part]:.2f} s" for part in PARTS]
        print(
            f"| {name} | {parts['nodes']} | {' | '.join(cells)} "
            f"| {theirs:.1f} s | {ours / theirs:.1%} |"
        )


if __name__ == "__main__":
    main()
