#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what a GPU takes for the operations of a step.

    measure.py WHAT --json FILE [--device cuda]

device      what PyTorch says of the device
products    products of matrices of Llama 3.1 8B, forward and backward, and
            large square ones of each element type
attention   causal attention, forward and backward
copies      copies within the memory of the device, and the smallest operator
transfers   copies to and from pinned memory of the host, alone and both ways
tax         how much longer a product takes beside a copy, a transfer and, under
            a launcher of ranks, a collective

`--device cpu --small` runs all of it on a processor, to test this program.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, Optional

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from beside import measure_tax
from commsched.torch.importer.types import ELEMENT_TYPES, raw_value
from commsched.torch.measuring.operators import measure_operators
from commsched.torch.measuring.profile import signature

Data = dict[str, Any]

#: Weights of Llama 3.1 8B: results and inputs of a linear layer.
WEIGHTS = {
    "query, output": (4096, 4096),
    "key, value": (1024, 4096),
    "gate, up": (14336, 4096),
    "down": (4096, 14336),
    "vocabulary": (128256, 4096),
}
TOKENS = (1024, 2048, 4096, 8192, 16384)
#: Square products that show the peak rate of an element type.
PEAKS = {
    torch.float64: 4096,
    torch.float32: 8192,
    torch.float16: 8192,
    torch.bfloat16: 8192,
}
HEADS, HEAD = 32, 128
SEQUENCES = (1024, 2048, 4096, 8192)


def elapsed(
    run: Callable[[], Any], device: torch.device, calls: int, repeats: int
) -> int:
    """The median time of a call of `run` in nanoseconds, of `calls` back to
    back."""
    times = []
    for index in range(repeats + 1):
        if device.type == "cpu":
            start = time.perf_counter_ns()
            for _ in range(calls):
                run()
            times.append((time.perf_counter_ns() - start) / calls)
            continue
        begin, end = (
            torch.Event(device=device, enable_timing=True) for _ in "12")
        begin.record()
        for _ in range(calls):
            run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e6 / calls)
    return max(1, round(statistics.median(times[1:])))  # The first warms up.


def trace(function: Callable[..., Any], make_inputs: Callable[[], Iterable]
          ) -> fx.GraphModule:
    """The operators of `function`, without running them."""
    with FakeTensorMode():
        return make_fx(function)(*make_inputs())


def time_operators(
    function: Callable[..., Any],
    make_inputs: Callable[[], Iterable],
    device: torch.device,
    repeats: int,
) -> tuple[list[Data], list[Data]]:
    """The times of the operators of `function`, and of its products of two
    matrices, both as rows of a cost table."""
    graph = trace(function, make_inputs)
    entries = measure_operators([graph], device, repeats, print)
    times = {entry["operator"]: entry["time_ns"] for entry in entries}
    products = []
    for node in graph.graph.nodes:
        time_ns = times.get(signature(node))
        if node.target is not torch.ops.aten.mm.default or time_ns is None:
            continue
        left, right = (raw_value(argument) for argument in node.args)
        products.append({
            "m": left.shape[0], "n": right.shape[1], "k": left.shape[1],
            "batch": 1, "type": ELEMENT_TYPES[left.dtype],
            "time_ns": time_ns,
        })
    views = ("aten.t.default(", "aten.detach.default(")
    return [e for e in entries if not e["operator"].startswith(views)], products


def measure_products(device: torch.device, small: bool) -> Data:
    """Products of linear layers and of their gradients."""

    def layer(x, weight, gradient):
        return (x @ weight.t(), gradient @ weight, gradient.t() @ x)

    def square(x, y):
        return x @ y

    weights = {"small": (48, 32)} if small else WEIGHTS
    data: Data = {"operators": [], "products": []}

    def add(function, shapes, dtype):
        operators, products = time_operators(
            function,
            lambda: [torch.empty(s, dtype=dtype, device=device)
                     for s in shapes],
            device, 1 if small else 5)
        data["operators"] += operators
        data["products"] += products

    for tokens in (16, 64) if small else TOKENS:
        for n, k in weights.values():
            add(layer, [(tokens, k), (n, k), (tokens, n)], torch.bfloat16)
    for dtype, size in PEAKS.items():
        size = 64 if small else size
        add(square, [(size, size)] * 2, dtype)
    return data


def measure_attention(device: torch.device, small: bool) -> Data:
    """Causal attention of one sequence, forward and backward."""

    def step(query, key, value, gradient):
        result = F.scaled_dot_product_attention(
            query, key, value, is_causal=True)
        return torch.autograd.grad(result, (query, key, value), gradient)

    data: Data = {"operators": [], "attention": []}
    for tokens in (32,) if small else SEQUENCES:
        heads = 2 if small else HEADS
        shape = (1, heads, tokens, HEAD)

        def inputs():
            return [torch.empty(shape, dtype=torch.bfloat16, device=device,
                                requires_grad=True) for _ in range(4)]

        operators, _ = time_operators(step, inputs, device,
                                      1 if small else 5)
        data["operators"] += operators
        for entry in operators:
            name = entry["operator"].partition("(")[0]
            if "attention" not in name:
                continue
            # Half of the scores are masked; the backward has five products
            # where the forward has two.
            factor = 5 if "backward" in name else 2
            data["attention"].append({
                "operator": name, "heads": heads, "tokens": tokens,
                "head": HEAD, "type": "bf16", "time_ns": entry["time_ns"],
                "flops": factor * heads * tokens**2 * HEAD})
    return data


def sizes(small: bool, largest: int) -> list[int]:
    """Bytes, from 64 KiB by powers of 4."""
    found, size = [], 1 << 16
    while size <= (1 << 18 if small else largest):
        found.append(size)
        size *= 4
    return found


def measure_copies(device: torch.device, small: bool) -> Data:
    """Copies within the device."""
    copies = []
    for size in sizes(small, 1 << 30):
        source = torch.ones(size, dtype=torch.uint8, device=device)
        target = torch.empty_like(source)
        copies.append({"bytes": size, "time_ns": elapsed(
            lambda: target.copy_(source), device, 10, 1 if small else 9)})
    tiny = torch.ones(16, device=device)
    launch = elapsed(lambda: torch.neg(tiny), device, 100, 9)
    return {"copies": copies, "smallest_operator_ns": launch}


def measure_transfers(device: torch.device, small: bool) -> Data:
    """Copies to the host (offload) and from it (reload)."""
    accelerated = device.type != "cpu"
    rows, both = [], []
    for size in sizes(small, 1 << 28):
        host, back = (
            torch.ones(size, dtype=torch.uint8, pin_memory=accelerated)
            for _ in "12")
        down, up = (torch.ones(size, dtype=torch.uint8, device=device)
                    for _ in "12")
        calls, repeats = (2, 1) if small else (5, 9)

        def offload():
            host.copy_(down, non_blocking=True)

        def reload():
            up.copy_(back, non_blocking=True)

        for kind, run in (("offload", offload), ("reload", reload)):
            rows.append({"collective": kind, "ranks": 1, "nodes": 1,
                         "bytes": size,
                         "time_ns": elapsed(run, device, calls, repeats)})
        if not accelerated:
            continue
        side = torch.cuda.Stream(device)

        def both_ways():
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                offload()
            reload()
            torch.cuda.current_stream().wait_stream(side)

        both.append({"bytes": size, "time_ns": elapsed(
            both_ways, device, calls, repeats)})
    return {"rows": rows, "both_ways": both}


def describe_device(device: torch.device) -> Data:
    """What the cost table says of the device beside its times."""
    if device.type != "cuda":
        return {"type": device.type}
    found = torch.cuda.get_device_properties(device)
    return {
        "type": device.type,
        "name": found.name,
        "multiprocessors": found.multi_processor_count,
        "compute_capability": 10 * found.major + found.minor,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
        "cuda": torch.version.cuda,
    }


MEASURES = {
    "device": lambda device, small: {},
    "products": measure_products,
    "attention": measure_attention,
    "copies": measure_copies,
    "transfers": measure_transfers,
    "tax": measure_tax,
}


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=MEASURES)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--small", action="store_true",
                        help="tiny sizes, to test this program")
    options = parser.parse_args(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        print(f"error: PyTorch {torch.__version__} of {sys.executable} sees no "
              "GPU (torch.cuda.is_available() is False): let PYTHON name one "
              "that was built for CUDA", file=sys.stderr)
        return 2
    device = torch.device(options.device)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    data = MEASURES[options.what](device, options.small)
    if int(os.environ.get("RANK", "0")) == 0:
        data["device"] = describe_device(device)
        options.json.write_text(json.dumps(data))
    return 0


if __name__ == "__main__":
    sys.exit(main())
