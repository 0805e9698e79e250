#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write one training step of a sharded transformer as commsched IR.

The step is what a tracer sees before anything is optimized. Each parameter is
sharded over `--dp` ranks, gathered right before its use, in the forward and
again in the backward pass, and each gradient is reduce-scattered and waited for
as soon as it is there; with `--replicas` of the sharded model it is then
all-reduced over them. The backward pass comes from a tape of the forward pass.
Operators are opaque `commsched.compute` operations with their arithmetic.

With `--joint` the step is a joint graph, as a tracer sees it before
partitioning: each parameter is gathered once, the loss is a result, and its
gradient an argument.
"""

import argparse
import contextlib
import math
import sys
from typing import Callable, NamedTuple, TextIO


class Model(NamedTuple):
    """Sizes of a decoder-only transformer; `experts` is 0 for a dense one."""

    layers: int
    hidden: int
    key_value: int
    feed_forward: int
    vocabulary: int
    experts: int = 0


MODELS = {
    "8b": Model(32, 4096, 1024, 14336, 128256),
    "70b": Model(80, 8192, 1024, 28672, 128256),
    "405b": Model(126, 16384, 1024, 53248, 128256),
    "moe-8x7b": Model(32, 4096, 1024, 14336, 32000, experts=8),
}

# What --pin computes times with: a roofline for operators, latency and
# bandwidth for collectives, within a node and between nodes.
ELEMENT_BYTES = {"bf16": 2, "f32": 4, "i64": 8}
FLOPS_PER_NS = 600e3
MEMORY_BYTES_PER_NS = 2500.0
LAUNCH_NS = 3000
NODE_LINK = (15000, 350.0)
NETWORK_LINK = (35000, 45.0)


class Value(NamedTuple):
    name: str
    shape: tuple
    dtype: str

    @property
    def type(self) -> str:
        return f"tensor<{'x'.join(map(str, self.shape))}x{self.dtype}>"

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * ELEMENT_BYTES[self.dtype]


class Parameter(NamedTuple):
    """`shard` is what this rank holds of a tensor of shape `full`."""

    shard: Value
    full: tuple


def ranks_in_node(group: str, options: argparse.Namespace) -> int:
    """How many ranks of a group share a node. Replicas are a whole sharded
    model apart; the others are neighbors."""
    places = options.ranks_per_node
    if group != "tp":
        places = max(1, places // options.tp)
    if group == "replicas":
        places = max(1, places // options.dp)
    return min(getattr(options, group), places)


def split_alike(operands: int) -> str:
    """The rule of an operator of which each element is computed by itself."""
    return f"{', '.join(['m n'] * operands)} -> m n"


class Step:
    """Emits operations in program order and keeps the tape of the forward."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.lines: list[str] = []
        self.arguments: list[str] = []
        self.results: list[Value] = []
        self.count = 0
        self.operations = 0
        self.path = "model"
        self.tape: list[tuple[str, Value, Callable[[Value], None]]] = []
        self.gradients: dict[str, Value] = {}
        self.gathered: dict[str, Value] = {}

    # Building blocks of the program.

    @contextlib.contextmanager
    def module(self, path: str):
        outer, self.path = self.path, path
        yield
        self.path = outer

    def argument(self, name: str, shape: tuple, dtype: str, role: str) -> Value:
        value = Value(f"%{name}", shape, dtype)
        self.arguments.append(
            f'{value.name}: {value.type} {{commsched.role = "{role}"}}'
        )
        return value

    def parameter(self, name: str, *shape: int) -> Parameter:
        if shape[0] % self.options.dp:
            raise ValueError(
                f"{self.options.dp} ranks do not divide dimension 0 of "
                f"parameter '{name}', which is {shape[0]}"
            )
        shard = (shape[0] // self.options.dp, *shape[1:])
        return Parameter(self.argument(name, shard, "f32", "parameter"), shape)

    def emit(self, text: str, name: str, ns: float, types: str, **attributes):
        entries = {
            "commsched.module": f'"{self.path}"',
            "commsched.name": f'"{name}"',
            **attributes,
        }
        if self.options.pin and ns:
            entries["commsched.runtime_ns"] = f"{int(ns)} : i64"
        joined = ", ".join(f"{key} = {entries[key]}" for key in sorted(entries))
        self.lines.append(f"  {text} {{{joined}}} : {types}\n")
        self.operations += 1

    def compute(
        self,
        kind: str,
        inputs: list[Value],
        shape: tuple,
        dtype="bf16",
        flops=0.0,
        split="",
    ) -> Value:
        """`split` says along which dimensions the operator divides."""
        self.count += 1
        result = Value(f"%{self.count}", tuple(shape), dtype)
        moved = result.bytes + sum(value.bytes for value in inputs)
        ns = LAUNCH_NS + max(flops / FLOPS_PER_NS, moved / MEMORY_BYTES_PER_NS)
        attributes = {"flops": f"{flops:.3e} : f64"} if flops else {}
        if split and self.options.tp > 1:
            attributes["split"] = f'"{split}"'
        names = ", ".join(value.name for value in inputs)
        types = ", ".join(value.type for value in inputs)
        self.emit(
            f'{result.name} = commsched.compute "{kind}"({names})',
            f"{kind.split('.')[-1]}_{self.count}",
            ns,
            f"({types}) -> {result.type}",
            **attributes,
        )
        return result

    def matmul(
        self, lhs: Value, rhs: Value, shape: tuple, inner: int, split: str
    ) -> Value:
        flops = 2.0 * shape[0] * shape[1] * inner
        return self.compute("aten.mm", [lhs, rhs], shape, flops=flops, split=split)

    def collective(
        self, kind: str, operand: Value, group: str, clauses: str, shape: tuple
    ) -> Value:
        """A start, and its wait right behind it."""
        self.count += 1
        result = Value(f"%{self.count}", tuple(shape), operand.dtype)
        future = f"!commsched.future<{result.type}>"
        ranks = getattr(self.options, group)
        inside = ranks == ranks_in_node(group, self.options)
        latency, bandwidth = NODE_LINK if inside else NETWORK_LINK
        sent = max(operand.bytes, result.bytes) * (ranks - 1) / ranks
        sent *= 2 if kind == "all_reduce" else 1
        self.emit(
            f"%start_{self.count} = commsched.{kind} {operand.name} "
            f"on @{group} {clauses}",
            f"{kind}_{self.count}",
            latency + sent / bandwidth,
            f"{operand.type} -> {future}",
        )
        self.emit(
            f"{result.name} = commsched.wait %start_{self.count}",
            f"wait_{self.count}",
            0,
            future,
        )
        return result

    # Parameters and gradients.

    def gather(self, parameter: Parameter) -> Value:
        known = self.gathered.get(parameter.shard.name)
        if known:
            return known
        shard = self.compute(
            "prims.convert_element_type", [parameter.shard], parameter.shard.shape
        )
        full = self.collective("all_gather", shard, "dp", "dim(0)", parameter.full)
        if self.options.joint:
            self.gathered[parameter.shard.name] = full
        return full

    def scatter(self, gradient: Value, parameter: Parameter):
        wide = self.compute(
            "prims.convert_element_type", [gradient], gradient.shape, "f32"
        )
        shape = parameter.shard.shape
        shard = self.collective(
            "reduce_scatter", wide, "dp", "reduction(avg) dim(0)", shape
        )
        if self.options.replicas > 1:
            shard = self.collective(
                "all_reduce", shard, "replicas", "reduction(avg)", shape
            )
        self.results.append(shard)

    def record(self, output: Value, backward: Callable[[Value], None]) -> Value:
        self.tape.append((self.path, output, backward))
        return output

    def accumulate(self, value: Value, gradient: Value):
        other = self.gradients.get(value.name)
        if other:
            gradient = self.compute(
                "aten.add", [other, gradient], value.shape, split=split_alike(2)
            )
        self.gradients[value.name] = gradient

    def run_backward(self):
        for path, output, backward in reversed(self.tape):
            with self.module(path):
                backward(self.gradients.pop(output.name))

    # Layers: each emits its forward and records its backward.

    def pointwise(self, kind: str, inputs: list[Value], shape: tuple) -> Value:
        def backward(gradient: Value):
            for value in inputs:
                self.accumulate(
                    value,
                    self.compute(
                        f"{kind}_backward",
                        [gradient, *inputs],
                        value.shape,
                        split=split_alike(len(inputs) + 1),
                    ),
                )

        split = split_alike(len(inputs))
        return self.record(self.compute(kind, inputs, shape, split=split), backward)

    def add(self, lhs: Value, rhs: Value) -> Value:
        def backward(gradient: Value):
            self.accumulate(lhs, gradient)
            self.accumulate(rhs, gradient)

        total = self.compute("aten.add", [lhs, rhs], lhs.shape, split=split_alike(2))
        return self.record(total, backward)

    def norm(self, value: Value, weight: Parameter) -> Value:
        def backward(gradient: Value):
            scale = self.gather(weight)
            kind = "aten.rms_norm_backward"
            inner = self.compute(
                kind, [gradient, value, scale], value.shape, split="m _, m _, _ -> m _"
            )
            self.scatter(
                self.compute(
                    "aten.sum", [gradient, value], weight.full, split="m n, m n -> n"
                ),
                weight,
            )
            self.accumulate(value, inner)

        inputs = [value, self.gather(weight)]
        return self.record(
            self.compute("aten.rms_norm", inputs, value.shape, split="m _, _ -> m _"),
            backward,
        )

    def linear(self, value: Value, weight: Parameter) -> Value:
        rows, (inner, outer) = value.shape[0], weight.full

        def backward(gradient: Value):
            full = self.gather(weight)
            self.accumulate(
                value,
                self.matmul(gradient, full, (rows, inner), outer, "m n, k n -> m k"),
            )
            self.scatter(
                self.matmul(value, gradient, (inner, outer), rows, "m k, m n -> k n"),
                weight,
            )

        product = self.matmul(
            value, self.gather(weight), (rows, outer), inner, "m k, k n -> m n"
        )
        return self.record(product, backward)

    def attention(self, query: Value, key: Value, value: Value) -> Value:
        # Two products with the causal half of the scores.
        flops = 2.0 * query.elements * self.options.seq
        inputs = [query, key, value]

        def backward(gradient: Value):
            scores = self.compute(
                "aten.attention_backward",
                [gradient, *inputs],
                query.shape,
                flops=2.5 * flops,
            )
            self.accumulate(query, scores)
            for operand in (key, value):
                self.accumulate(
                    operand,
                    self.compute("aten.slice", [scores], operand.shape),
                )

        output = self.compute("aten.attention", inputs, query.shape, flops=flops)
        return self.record(output, backward)

    def whole_rows(self, value: Value) -> Value:
        """The rows of all ranks of the tensor parallelism."""
        return self.change_rows(value, self.gather_rows, self.reduce_rows)

    def sum_rows(self, value: Value) -> Value:
        """This rank's rows of the sum over the tensor parallelism, or all."""
        return self.change_rows(value, self.reduce_rows, self.gather_rows)

    def change_rows(self, value: Value, change: Callable, undo: Callable) -> Value:
        if self.options.tp == 1:
            return value
        return self.record(
            change(value), lambda gradient: self.accumulate(value, undo(gradient))
        )

    def gather_rows(self, value: Value) -> Value:
        if self.options.tp_whole_rows:
            return value
        shape = (value.shape[0] * self.options.tp, value.shape[1])
        return self.collective("all_gather", value, "tp", "dim(0)", shape)

    def reduce_rows(self, value: Value) -> Value:
        if self.options.tp_whole_rows:
            return self.collective(
                "all_reduce", value, "tp", "reduction(sum)", value.shape
            )
        shape = (value.shape[0] // self.options.tp, value.shape[1])
        clauses = "reduction(sum) dim(0)"
        return self.collective("reduce_scatter", value, "tp", clauses, shape)

    def exchange(self, value: Value) -> Value:
        """Sends rows to the ranks of their experts; its own inverse."""
        clauses = "split_dim(0) concat_dim(0)"

        def send(rows: Value) -> Value:
            return self.collective("all_to_all", rows, "ep", clauses, rows.shape)

        return self.record(
            send(value), lambda gradient: self.accumulate(value, send(gradient))
        )


def emit_layer(step: Step, model: Model, index: int, weights: dict, hidden: Value):
    rows, width = hidden.shape
    with step.module(f"layers.{index}.attention"):
        normed = step.whole_rows(step.norm(hidden, weights["attention_norm"]))
        query, key, value = (
            step.linear(normed, weights[name]) for name in ("wq", "wk", "wv")
        )
        query = step.pointwise("aten.rope", [query], query.shape)
        key = step.pointwise("aten.rope", [key], key.shape)
        mixed = step.linear(step.attention(query, key, value), weights["wo"])
        hidden = step.add(hidden, step.sum_rows(mixed))
    with step.module(f"layers.{index}.feed_forward"):
        normed = step.whole_rows(step.norm(hidden, weights["ffn_norm"]))
        routed = normed
        if model.experts:
            # Every token goes to two experts.
            shape = (2 * rows, width)
            routed = step.exchange(
                step.pointwise("aten.index_select", [normed], shape)
            )
        gate, up = (step.linear(routed, weights[name]) for name in ("w1", "w3"))
        product = step.pointwise("aten.silu_mul", [gate, up], gate.shape)
        output = step.linear(product, weights["w2"])
        if model.experts:
            output = step.pointwise(
                "aten.index_add", [step.exchange(output)], (rows, width)
            )
        return step.add(hidden, step.sum_rows(output))


def layer_parameters(step: Step, model: Model, index: int) -> dict:
    tp, width = step.options.tp, model.hidden
    heads, key_value, inner = (
        size // tp for size in (width, model.key_value, model.feed_forward)
    )
    shapes = {
        "attention_norm": (width,),
        "wq": (width, heads),
        "wk": (width, key_value),
        "wv": (width, key_value),
        "wo": (heads, width),
        "ffn_norm": (width,),
        "w1": (width, inner),
        "w3": (width, inner),
        "w2": (inner, width),
    }
    return {
        name: step.parameter(f"layers_{index}_{name}", *shape)
        for name, shape in shapes.items()
    }


def emit_step(model: Model, layers: int, options: argparse.Namespace) -> Step:
    """The program. ValueError: the ranks do not divide a parameter."""
    step = Step(options)
    if options.tp > 1 and (model.experts or model.key_value % options.tp):
        what = "experts" if model.experts else f"keys of width {model.key_value}"
        raise ValueError(
            f"tensor parallelism over {options.tp} ranks does not divide {what}"
        )
    rows, width = options.batch * options.seq, model.hidden
    tokens = step.argument("tokens", (rows,), "i64", "input")
    # Padded, as the shards of all ranks have one size.
    ranks = options.dp * options.tp
    vocabulary = -(-model.vocabulary // ranks) * options.dp
    embedding = step.parameter("embedding", vocabulary, width)
    weights = [layer_parameters(step, model, index) for index in range(layers)]
    norm = step.parameter("norm", width)
    head = step.parameter("head", width, model.vocabulary // options.tp)

    with step.module("embedding"):
        table = step.gather(embedding)
        embedded = step.compute("aten.embedding", [table, tokens], (rows, width))
        hidden = step.sum_rows(embedded)
    for index in range(layers):
        hidden = emit_layer(step, model, index, weights[index], hidden)
    with step.module("head"):
        logits = step.linear(step.whole_rows(step.norm(hidden, norm)), head)
        inputs = [logits, tokens]
        if options.joint:
            step.results.append(
                step.compute("aten.cross_entropy", inputs, (1,), "f32")
            )
            inputs.append(step.argument("tangent", (1,), "f32", "tangent"))
        step.gradients[logits.name] = step.compute(
            "aten.cross_entropy_backward", inputs, logits.shape
        )
    step.run_backward()
    with step.module("embedding"):
        gradient = step.compute(
            "aten.embedding_backward",
            [step.gradients.pop(embedded.name), tokens],
            embedding.full,
        )
        step.scatter(gradient, embedding)
    return step


def write_step(model: Model, layers: int, options: argparse.Namespace, out: TextIO):
    """Writes the model with so many layers; returns the operations."""
    step = emit_step(model, layers, options)
    groups = ["dp"] + (["ep"] if model.experts else [])
    groups += ["tp"] if options.tp > 1 else []
    if options.replicas > 1:
        groups.append("replicas")
    for group in groups:
        steps = {"dp": options.tp, "replicas": options.dp * options.tp}.get(group, 1)
        stride = f" stride({steps})" if steps > 1 else ""
        out.write(
            f"commsched.group @{group} size({getattr(options, group)}) "
            f"ranks_per_node({ranks_in_node(group, options)}){stride}\n"
        )
    types = ", ".join(value.type for value in step.results)
    values = ", ".join(value.name for value in step.results)
    arguments = ",\n    ".join(step.arguments)
    outputs = " attributes {commsched.num_forward_outputs = 1 : i64}"
    attributes = outputs if options.joint else ""
    out.write(
        f"func.func @step(\n    {arguments})\n    -> ({types}){attributes} {{\n"
    )
    out.writelines(step.lines)
    out.write(f"  return {values} : {types}\n}}\n")
    return step.operations


def layers_for(name: str, operations: int, options: argparse.Namespace) -> int:
    """How many layers make a step of at least so many operations."""
    one, two = (
        emit_step(MODELS[name], layers, options).operations for layers in (1, 2)
    )
    return max(1, -((one - operations) // (two - one)) + 1)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def make_parser(description: str) -> argparse.ArgumentParser:
    """A parser of the options that shape a step, whatever its model."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--dp", type=positive, default=64, help="ranks that share each parameter")
    add(
        "--replicas",
        type=positive,
        default=1,
        help="of the sharded model, which all-reduce its gradients",
    )
    add(
        "--tp",
        type=positive,
        default=1,
        help="ranks that share the products of a layer; the program then says "
        "how operators divide",
    )
    add(
        "--tp-whole-rows",
        action="store_true",
        help="of the tensor parallelism: every rank has all rows between the "
        "products, which are all-reduced",
    )
    add("--ep", type=positive, default=8, help="ranks that share the experts")
    add("--ranks-per-node", type=positive, default=8)
    add("--batch", type=positive, default=1)
    add("--seq", type=positive, default=8192, help="tokens of a sequence")
    add("--pin", action="store_true", help="state the time of every operation")
    add("--joint", action="store_true", help="one function, to be partitioned")
    return parser


def main() -> int:
    parser = make_parser(__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS, default="8b")
    parser.add_argument(
        "--layers", type=positive, help="instead of the model's own number"
    )
    options = parser.parse_args()
    layers = options.layers or MODELS[options.model].layers
    try:
        write_step(MODELS[options.model], layers, options, sys.stdout)
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
