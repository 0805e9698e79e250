# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes transformers whose layers are scanned, under sharded data parallelism.

The parameters of all layers are stacked in one tensor for each kind. A layer
slices its shards, gathers them, and in the backward pass, which computes the
layer once more from its input, reduce-scatters the gradients into stacked ones.
The same operations are written as loops over the layers or unrolled, in program
order (`write`), or in the order of XLA's CollectivePipeliner (`write_by_rule`).
"""

from collections.abc import Callable
from typing import NamedTuple


class Sizes(NamedTuple):
    """Of a decoder-only transformer and of its training."""

    layers: int
    hidden: int = 4096
    key_value: int = 1024
    feed_forward: int = 14336
    tokens: int = 8192
    ranks: int = 8
    ranks_per_node: int = 8

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters of a layer."""
        h, k, f = self.hidden, self.key_value, self.feed_forward
        return {
            "attention_norm": (h,),
            "query": (h, h),
            "key": (h, k),
            "value": (h, k),
            "output": (h, h),
            "norm": (h,),
            "gate": (h, f),
            "up": (h, f),
            "down": (f, h),
        }


class Value(NamedTuple):
    name: str
    shape: tuple[int, ...]
    dtype: str = "bf16"

    @property
    def type(self) -> str:
        return f"tensor<{'x'.join(map(str, self.shape))}x{self.dtype}>"


# A parameter to the gathered value, and a gradient of one to its place.
Weights = Callable[[str], Value]
Gradients = Callable[[str, Value], None]


class ScannedModel:
    """The forward and the backward pass of the layers, as one function."""

    def __init__(self, sizes: Sizes, layers_per_iteration: int = 1):
        self.sizes = sizes
        self.group = layers_per_iteration
        self.iterations = sizes.layers // layers_per_iteration
        self.lines: list[str] = []
        self.count = 0
        self.shapes = {
            f"{name}_{member}": shape
            for member in range(layers_per_iteration)
            for name, shape in sizes.parameters().items()
        }
        # The stacked gradients and inputs, as they are now.
        self.stacks: dict[str, Value] = {}

    # Operations.

    def new_name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def compute(self, kind: str, inputs: list[Value], shape, flops=0.0, dtype="bf16"):
        result = Value(self.new_name(), tuple(shape), dtype)
        attributes = f" {{flops = {flops:.6e} : f64}}" if flops else ""
        self.lines.append(
            f'{result.name} = commsched.compute "{kind}"'
            f"({', '.join(value.name for value in inputs)}){attributes} : "
            f"({', '.join(value.type for value in inputs)}) -> {result.type}"
        )
        return result

    def matmul(self, a: Value, b: Value, shape, inner: int) -> Value:
        return self.compute("mm", [a, b], shape, 2.0 * shape[0] * shape[1] * inner)

    def start(self, clause: str, value: Value, result: Value) -> str:
        name = self.new_name()
        self.lines.append(
            f"{name} = commsched.{clause.format(value.name)} : {value.type} -> "
            f"!commsched.future<{result.type}>"
        )
        return name

    def wait(self, future: str, result: Value) -> Value:
        self.lines.append(
            f"{result.name} = commsched.wait {future} : "
            f"!commsched.future<{result.type}>"
        )
        return result

    def place(self, index: str, stack: Value) -> str:
        shape = stack.shape[1:]
        sizes = ", ".join(map(str, (1, *shape)))
        ones = ", ".join("1" for _ in stack.shape)
        zeros = "".join(", 0" for _ in shape)
        return f"[{index}{zeros}] [{sizes}] [{ones}]"

    def slice(self, stack: Value, index: str) -> Value:
        result = Value(self.new_name(), stack.shape[1:], stack.dtype)
        self.lines.append(
            f"{result.name} = tensor.extract_slice {stack.name}"
            f"{self.place(index, stack)} : {stack.type} to {result.type}"
        )
        return result

    def insert(self, value: Value, name: str, index: str):
        stack = self.stacks[name]
        result = stack._replace(name=self.new_name())
        self.lines.append(
            f"{result.name} = tensor.insert_slice {value.name} into {stack.name}"
            f"{self.place(index, stack)} : {value.type} into {result.type}"
        )
        self.stacks[name] = result

    # Parameters and gradients.

    def shard(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (shape[0] // self.sizes.ranks, *shape[1:])

    def stacked(self, name: str, prefix: str = "") -> Value:
        shape = (self.iterations, *self.shard(self.shapes[name]))
        return Value(f"%{prefix}{name}", shape, "f32")

    def start_gather(self, name: str, index: str) -> tuple[str, Value]:
        shard = self.slice(self.stacked(name), index)
        half = self.compute("convert", [shard], shard.shape)
        result = Value(self.new_name(), self.shapes[name])
        return self.start("all_gather {} on @dp dim(0)", half, result), result

    def start_scatter(self, name: str, gradient: Value) -> tuple[str, Value]:
        wide = self.compute("convert", [gradient], gradient.shape, dtype="f32")
        result = Value(self.new_name(), self.shard(self.shapes[name]), "f32")
        clause = "reduce_scatter {} on @dp reduction(avg) dim(0)"
        return self.start(clause, wide, result), result

    def gather_here(self, index: str) -> Weights:
        """Gathers a parameter where it is used for the first time."""
        known: dict[str, Value] = {}

        def gather(name: str) -> Value:
            if name not in known:
                known[name] = self.wait(*self.start_gather(name, index))
            return known[name]

        return gather

    def scatter_here(self, index: str) -> Gradients:
        """Reduces a gradient as soon as it is there."""

        def scatter(name: str, gradient: Value):
            shard = self.wait(*self.start_scatter(name, gradient))
            self.insert(shard, f"d_{name}", index)

        return scatter

    # A layer.

    def layer(self, x: Value, weights: Weights, member: int) -> dict[str, Value]:
        """All values of its forward pass but the output."""
        s, rows = self.sizes, (self.sizes.tokens, self.sizes.hidden)
        wide, narrow = (s.tokens, s.feed_forward), (s.tokens, s.key_value)

        def weight(name: str) -> Value:
            return weights(f"{name}_{member}")

        v = {"x": x}
        v["n1"] = self.compute("norm", [x, weight("attention_norm")], rows)
        v["q"] = self.matmul(v["n1"], weight("query"), rows, s.hidden)
        v["k"] = self.matmul(v["n1"], weight("key"), narrow, s.hidden)
        v["v"] = self.matmul(v["n1"], weight("value"), narrow, s.hidden)
        flops = 2.0 * s.tokens * s.tokens * s.hidden
        v["a"] = self.compute("attention", [v["q"], v["k"], v["v"]], rows, flops)
        v["o"] = self.matmul(v["a"], weight("output"), rows, s.hidden)
        v["r"] = self.compute("add", [x, v["o"]], rows)
        v["n2"] = self.compute("norm", [v["r"], weight("norm")], rows)
        v["g"] = self.matmul(v["n2"], weight("gate"), wide, s.hidden)
        v["u"] = self.matmul(v["n2"], weight("up"), wide, s.hidden)
        v["h"] = self.compute("silu_mul", [v["g"], v["u"]], wide)
        return v

    def output(self, v: dict[str, Value], weights: Weights, member: int) -> Value:
        down = weights(f"down_{member}")
        d = self.matmul(v["h"], down, v["x"].shape, self.sizes.feed_forward)
        return self.compute("add", [v["r"], d], v["x"].shape)

    def forward(self, x: Value, weights: Weights, index: str) -> Value:
        self.insert(x, "saved", index)
        for member in range(self.group):
            x = self.output(self.layer(x, weights, member), weights, member)
        return x

    def linear_backward(
        self, name: str, dy: Value, x: Value, weights: Weights, done: Gradients
    ) -> Value:
        rows, outer = dy.shape
        inner = x.shape[1]
        dx = self.matmul(dy, weights(name), (rows, inner), outer)
        done(name, self.matmul(x, dy, (inner, outer), rows))
        return dx

    def norm_backward(
        self, name: str, dy: Value, x: Value, weights: Weights, done: Gradients
    ) -> Value:
        dx = self.compute("norm_backward", [dy, x, weights(name)], x.shape)
        done(name, self.compute("norm_sum", [dy, x], self.shapes[name]))
        return dx

    def layer_backward(
        self, dx: Value, v: dict[str, Value], weights: Weights, done: Gradients, at: int
    ) -> Value:
        def linear(name: str, dy: Value, x: Value) -> Value:
            return self.linear_backward(f"{name}_{at}", dy, x, weights, done)

        rows = dx.shape
        dh = linear("down", dx, v["h"])
        dg = self.compute("silu_backward", [dh, v["g"], v["u"]], dh.shape)
        du = self.compute("mul_backward", [dh, v["g"]], dh.shape)
        dn = self.compute(
            "add", [linear("gate", dg, v["n2"]), linear("up", du, v["n2"])], rows
        )
        dn = self.norm_backward(f"norm_{at}", dn, v["r"], weights, done)
        dr = self.compute("add", [dx, dn], rows)
        da = linear("output", dr, v["a"])
        flops = 5.0 * self.sizes.tokens * self.sizes.tokens * self.sizes.hidden
        inputs = [da, v["q"], v["k"], v["v"]]
        dq = self.compute("attention_backward", inputs, rows, flops)
        dk = self.compute("key_backward", [dq, v["k"]], v["k"].shape)
        dv = self.compute("value_backward", [dq, v["v"]], v["v"].shape)
        parts = [
            linear("query", dq, v["n1"]),
            linear("key", dk, v["n1"]),
            linear("value", dv, v["n1"]),
        ]
        dn = self.compute("add", parts, rows)
        dn = self.norm_backward(f"attention_norm_{at}", dn, v["x"], weights, done)
        return self.compute("add", [dr, dn], rows)

    def backward(
        self, dx: Value, weights: Weights, done: Gradients, index: str
    ) -> Value:
        """Computes the layers of an iteration again, and their gradients."""
        x = self.slice(self.stacks["saved"], index)
        computed = []
        for member in range(self.group):
            v = self.layer(x, weights, member)
            computed.append(v)
            if member + 1 < self.group:
                x = self.output(v, weights, member)
        for member in reversed(range(self.group)):
            dx = self.layer_backward(dx, computed[member], weights, done, member)
        return dx

    # Programs.

    def begin(self) -> Value:
        s = self.sizes
        rows = (s.tokens, s.hidden)
        arguments = [
            f"{self.stacked(name).name}: {self.stacked(name).type} "
            '{commsched.role = "parameter"}'
            for name in self.shapes
        ]
        stacks = {f"d_{name}": self.stacked(name, "d_") for name in self.shapes}
        stacks["saved"] = Value("%saved", (self.iterations, *rows))
        arguments += [
            f"{stack.name}: {stack.type} {{commsched.freeable}}"
            for stack in stacks.values()
        ]
        self.stacks = stacks
        x = Value("%x", rows)
        self.lines = [
            f"commsched.group @dp size({s.ranks}) ranks_per_node({s.ranks_per_node})",
            f"func.func @step({', '.join(arguments)}, {x.name}: {x.type} "
            f'{{commsched.role = "input"}}) -> ({self.result_types()}) {{',
        ]
        for number in range(self.iterations + 1):
            self.lines.append(f"%c{number} = arith.constant {number} : index")
        return x

    def results(self) -> list[Value]:
        return [self.stacks[f"d_{name}"] for name in self.shapes]

    def result_types(self) -> str:
        return ", ".join(stack.type for stack in self.results())

    def end(self) -> str:
        names = ", ".join(stack.name for stack in self.results())
        self.lines += [f"return {names} : {self.result_types()}", "}"]
        return "\n".join(self.lines) + "\n"

    def loss(self, y: Value) -> Value:
        return self.compute("loss_backward", [y], y.shape)

    def loop(self, x: Value, stacks: list[str], body: Callable[[Value], Value]):
        """A loop that carries `x` and the stacks of these names."""
        carried = [x] + [self.stacks[name] for name in stacks]
        inside = [value._replace(name=self.new_name()) for value in carried]
        outside = [value._replace(name=self.new_name()) for value in carried]
        types = ", ".join(value.type for value in carried)
        pairs = ", ".join(
            f"{argument.name} = {value.name}"
            for argument, value in zip(inside, carried, strict=True)
        )
        self.lines.append(
            f"{', '.join(value.name for value in outside)} = scf.for %i = %c0 to "
            f"%c{self.iterations} step %c1 iter_args({pairs}) -> ({types}) {{"
        )
        self.stacks |= dict(zip(stacks, inside[1:], strict=True))
        yielded = [body(inside[0])] + [self.stacks[name] for name in stacks]
        names = ", ".join(value.name for value in yielded)
        self.lines += [f"scf.yield {names} : {types}", "}"]
        self.stacks |= dict(zip(stacks, outside[1:], strict=True))
        return outside[0]

    def write(self, unrolled: bool) -> str:
        """The program in the order in which a tracer sees it."""

        def run_forward(x: Value, index: str) -> Value:
            return self.forward(x, self.gather_here(index), index)

        def run_backward(dx: Value, index: str) -> Value:
            done = self.scatter_here(index)
            return self.backward(dx, self.gather_here(index), done, index)

        def run_loop_backward(dx: Value) -> Value:
            index = self.new_name()
            last = f"%c{self.iterations - 1}"
            self.lines.append(f"{index} = arith.subi {last}, %i : index")
            return run_backward(dx, index)

        x = self.begin()
        if unrolled:
            for index in range(self.iterations):
                x = run_forward(x, f"%c{index}")
            dx = self.loss(x)
            for index in reversed(range(self.iterations)):
                dx = run_backward(dx, f"%c{index}")
        else:
            x = self.loop(x, ["saved"], lambda x: run_forward(x, "%i"))
            gradients = [f"d_{name}" for name in self.shapes]
            self.loop(self.loss(x), gradients, run_loop_backward)
        return self.end()

    def write_by_rule(self) -> str:
        """The unrolled program as XLA's CollectivePipeliner orders it: each
        iteration gathers the parameters of the next and reduces the gradients
        of the one before it, beside its own computation."""
        x = self.begin()
        weights = self.gather_by_rule("%c0")
        for index in range(self.iterations):
            following = self.start_gathers(index + 1, self.iterations)
            x = self.forward(x, weights.__getitem__, f"%c{index}")
            weights = {n: self.wait(*pair) for n, pair in following.items()}
        dx = self.loss(x)
        weights = self.gather_by_rule(f"%c{self.iterations - 1}")
        before: dict[str, Value] = {}
        for index in reversed(range(self.iterations)):
            following = self.start_gathers(index - 1, self.iterations)
            reducing = {n: self.start_scatter(n, g) for n, g in before.items()}
            gradients: dict[str, Value] = {}
            dx = self.backward(
                dx, weights.__getitem__, gradients.__setitem__, f"%c{index}"
            )
            weights = {n: self.wait(*pair) for n, pair in following.items()}
            self.end_scatters(reducing, index + 1)
            before = gradients
        reducing = {n: self.start_scatter(n, g) for n, g in before.items()}
        self.end_scatters(reducing, 0)
        return self.end()

    def gather_by_rule(self, index: str) -> dict[str, Value]:
        gather = self.gather_here(index)
        return {name: gather(name) for name in self.shapes}

    def start_gathers(self, index: int, end: int) -> dict[str, tuple[str, Value]]:
        if not 0 <= index < end:
            return {}
        return {name: self.start_gather(name, f"%c{index}") for name in self.shapes}

    def end_scatters(self, reducing: dict[str, tuple[str, Value]], index: int):
        for name, pair in reducing.items():
            self.insert(self.wait(*pair), f"d_{name}", f"%c{index}")
