# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small random joint steps, a forward and its backward, as MLIR text, of at
most 30 operations; and whole steps that call twice as large ones and an
optimizer.

Layers with parameters that are gathered and gradients that are scattered,
layers with whole parameters, branches that meet again, experts between two
exchanges, and tangles. Times and sizes are drawn, and every time is pinned:
some values are large and cheap to compute again, some small and expensive. The
only result of the forward is one that the backward does not use.
"""

import random

from step_text import (GROUP_SIZE, StepText, Value, get_collective, list_values,
                       write_groups)

UNIT = 64  # In elements of f32; every size is a multiple of it.
PROLOGUE = write_groups("shard", "expert")
# To run on four ranks, of which both groups are all.
FAST_HOST = """module attributes {dlti.target_system_spec =
    #dlti.target_system_spec<"GPU" = #dlti.target_device_spec<
        "commsched.host_latency_us" = 0.0 : f64,
        "commsched.host_gb_s" = 1000.0 : f64>>} {
commsched.group @shard size(4)
commsched.group @expert size(4)
"""
MOST_OPERATIONS = 30


class JointStep(StepText):
    """One function; the same for the same seed."""

    time_unit = 1  # In ns.

    def __init__(self, seed):
        self.seed = seed
        self.family = FAMILIES[seed % len(FAMILIES)]
        # Most draws are small enough; the others are drawn again.
        for attempt in range(100):
            self.rng = random.Random(f"{seed}/{attempt}")
            self.write()
            if self.is_wanted():
                return
        raise AssertionError(f"{self.name} never gets small")

    def write(self):
        rng = self.rng
        self.arguments, self.lines, self.returned = [], [], []
        self.entries = []  # What the backward does, in the forward's order.
        self.gradients = {}
        self.updates = []  # Parameters and the numbers of their gradients.
        # Values of the forward that only it may compute.
        self.kept_names = set()
        self.activation = UNIT * rng.randint(8, 32)
        self.weight = UNIT * GROUP_SIZE * rng.choice((1, 2, 4))
        self.comm_share = rng.choice((0.2, 0.5, 0.8, 1.2))
        self.uneven = rng.choice((0.1, 0.5, 0.9))
        value = self.argument(self.activation, "input")
        result = self.layers(value)
        self.num_forward_lines = len(self.lines) + 1
        self.returned = [self.compute("aten.sum", [result], UNIT, self.vary(10))]
        self.accumulate(result, self.argument(result.size, "tangent"))
        for run in reversed(self.entries):
            run()
        self.returned.append(self.gradients[value])

    def layers(self, value):
        return self.family(self, value)

    def is_wanted(self):
        return len(self.lines) <= MOST_OPERATIONS

    def text(self, name=None, saved=None):
        """The function. `saved`: the names of the values that a partition is
        to save, which otherwise is to be decided."""
        arguments = ", ".join(
            f'{v.name}: {v.type} {{commsched.name = "{v.name[1:]}", '
            f'commsched.role = "{role}"}}' for v, role in self.arguments
        )
        attributes = "commsched.num_forward_outputs = 1 : i64"
        if saved is not None:
            listed = ", ".join(f'"{value}"' for value in saved)
            attributes += f", commsched.saved_values = [{listed}]"
        return self.write_function(
            arguments, self.returned, self.lines, name,
            f"\n    attributes {{{attributes}}}",
        )

    # Operations.

    def argument(self, elements, role):
        value = Value(f"%a{len(self.arguments)}", elements)
        self.arguments.append((value, role))
        return value

    def compute(self, operator, inputs, elements, time, attributes=""):
        result = Value(f"%v{len(self.lines)}", elements)
        names, types = list_values(inputs)
        self.lines.append(
            f'{result.name} = commsched.compute "{operator}"'
            f"({names}) "
            f'{{{attributes}commsched.name = "{result.name[1:]}", '
            f"commsched.runtime_ns = {time * self.time_unit} : i64}} : "
            f"({types}) -> ({result.type})"
        )
        return result

    def run(self, kind, operand, time, group="shard"):
        """A collective and its wait."""
        elements, clause = get_collective(kind, operand.size)
        number = len(self.lines)
        result = Value(f"%v{number}", elements)
        self.lines += [
            f"%f{number} = commsched.{kind} {operand.name} on @{group} {clause} "
            f'{{commsched.name = "f{number}", '
            f"commsched.runtime_ns = {max(1, time) * self.time_unit} : i64}} : "
            f"{operand.type} -> !commsched.future<{result.type}>",
            f"{result.name} = commsched.wait %f{number} "
            f'{{commsched.name = "{result.name[1:]}"}} '
            f": !commsched.future<{result.type}>",
        ]
        return result

    # Operators with a backward. `pull` gets the gradient of the result, and
    # returns those of the operands.

    def record(self, result, operands, pull):
        def run():
            gradient = self.gradients.get(result)
            if gradient is not None:
                for value, part in zip(operands, pull(gradient), strict=True):
                    self.accumulate(value, part)

        self.entries.append(run)
        return result

    def accumulate(self, value, part):
        known = self.gradients.get(value)
        if known is not None:
            part = self.compute(
                "aten.add", [known, part], part.size, self.vary(8)
            )
        self.gradients[value] = part

    def product(self, value, is_sharded, elements=None):
        """With a parameter: gathered, or whole."""
        full = self.vary(self.weight) // (UNIT * GROUP_SIZE) + 1
        full *= UNIT * GROUP_SIZE
        shard = self.argument(full // GROUP_SIZE if is_sharded else full, "parameter")
        time, comm = self.vary(100), round(self.vary(100) * self.comm_share)
        weight = shard
        if is_sharded:
            weight = self.run("all_gather", shard, comm)
        elements = elements or self.activation
        result = self.compute("aten.mm", [value, weight], elements, time)

        def pull(gradient):
            own = self.compute("aten.mm", [gradient, value], full, time)
            if is_sharded:
                own = self.run("reduce_scatter", own, comm)
            self.updates.append((shard, len(self.returned)))
            self.returned.append(own)
            return [self.compute("aten.mm", [gradient, weight], value.size, time)]

        return self.record(result, [value], pull)

    def point(self, value, operator="aten.gelu"):
        """Cheap; its gradient asks for the operand."""
        result = self.compute(operator, [value], value.size, self.vary(12))
        return self.record(
            result, [value], lambda gradient: [
                self.compute(
                    f"{operator}_backward", [gradient, value], value.size,
                    self.vary(12),
                )
            ]
        )

    def attention(self, value):
        """Expensive; its gradient asks for the operand and the result."""
        time = self.vary(80)
        result = self.compute("aten.attention", [value], value.size, time)
        return self.record(
            result, [value], lambda gradient: [
                self.compute(
                    "aten.attention_backward", [gradient, value, result],
                    value.size, 2 * time,
                )
            ]
        )

    def dropout(self, value):
        """Random: its mask is saved."""
        elements = max(UNIT, value.size // 4 // UNIT * UNIT)
        mask = self.compute(
            "aten.bernoulli", [value], elements, self.vary(5), "random, "
        )
        self.kept_names.add(mask.name[1:])
        result = self.compute(
            "aten.mul", [value, mask], value.size, self.vary(8)
        )
        return self.record(
            result, [value], lambda gradient: [
                self.compute(
                    "aten.mul", [gradient, mask], value.size, self.vary(8)
                )
            ]
        )

    def multiply(self, one, other):
        """The gradient of each asks for the other."""
        result = self.compute("aten.mul", [one, other], one.size, self.vary(8))

        def pull(gradient):
            return [
                self.compute("aten.mul", [gradient, value], value.size,
                             self.vary(8))
                for value in (other, one)
            ]

        return self.record(result, [one, other], pull)

    def communicate(self, kind, value):
        """With other ranks, in the backward as well."""
        time = self.vary(60 * self.comm_share)
        result = self.run(kind, value, time, "expert")
        self.kept_names.add(result.name[1:])
        return self.record(
            result, [value],
            lambda gradient: [self.run(kind, gradient, time, "expert")],
        )


def sharded(step, value):
    """Parameters are gathered, and gradients scattered."""
    for _ in range(step.rng.randint(2, 3)):
        value = step.product(value, is_sharded=True)
        if step.rng.random() < 0.7:
            value = step.point(value)
    return value


def replicated(step, value):
    """Whole parameters: what remains is what to compute again."""
    for _ in range(step.rng.randint(2, 4)):
        value = step.product(value, is_sharded=False)
        value = step.point(value)
        if step.rng.random() < 0.3:
            value = step.point(value, "aten.silu")
    return value


def gated(step, value):
    """Attention, and two branches that are multiplied."""
    for _ in range(step.rng.randint(1, 2)):
        value = step.attention(step.point(value, "aten.silu"))
    wide = step.activation * step.rng.randint(1, 3)
    left = step.product(value, step.rng.random() < 0.5, wide)
    right = step.product(value, is_sharded=False, elements=wide)
    value = step.multiply(step.point(left), right)
    return step.dropout(value) if step.rng.random() < 0.5 else value


def experts(step, value):
    """Tokens travel to experts and back."""
    value = step.point(value)
    value = step.communicate("all_to_all", value)
    value = step.product(value, step.rng.random() < 0.5)
    value = step.point(value, "aten.silu")
    if step.rng.random() < 0.5:
        value = step.communicate("all_to_all", value)
    return step.dropout(value) if step.rng.random() < 0.3 else value


def tangled(step, value):
    """Nothing in particular."""
    values = [value]
    for _ in range(step.rng.randint(4, 8)):
        value = step.rng.choice(values[-3:])
        operator = step.rng.choice((
            step.point, step.attention, step.dropout,
            lambda v: step.multiply(v, step.rng.choice(values[-4:])),
            lambda v: step.product(v, is_sharded=True),
            lambda v: step.communicate("all_reduce", v),
        ))
        values.append(operator(value))
    return values[-1]


FAMILIES = (sharded, replicated, gated, experts, tangled)


class WholeStep(JointStep):
    """A step that calls a joint function, some of two families, and an
    optimizer, whose parameters and states the next repetition takes. It takes as
    long as launches do, so that merging pays."""

    time_unit = 1000

    def is_wanted(self):
        return self.updates and len(self.lines) <= 2 * MOST_OPERATIONS

    def layers(self, value):
        value = self.family(self, value)
        if self.rng.random() < 0.25:
            value = self.rng.choice(FAMILIES)(self, value)
        return value

    def write_optimizer(self):
        """Some clip by the norm of all gradients. Returns the function, and
        the types of its arguments and results."""
        names = [value.name[1:] for value, _ in self.updates]
        types = [value.type for value, _ in self.updates]
        ports = [f"%{kind}_{name}: {type}" for kind in "wmg"
                 for name, type in zip(names, types)]
        scale = Value("%scale", UNIT)
        lines, extra = [], ""
        gradients = ", ".join(f"%g_{name}" for name in names)
        if self.rng.random() < 0.5:
            lines += [
                f'%norm = commsched.compute "aten.norm"({gradients}) '
                f"{{commsched.runtime_ns = {self.vary(10) * self.time_unit} : i64}} : "
                f"({', '.join(types)}) -> ({scale.type})",
                "%total = commsched.all_reduce %norm on @shard reduction(sum) "
                f"{{commsched.runtime_ns = {self.vary(20) * self.time_unit} : i64}} : "
                f"{scale.type} -> !commsched.future<{scale.type}>",
                f"{scale.name} = commsched.wait %total : "
                f"!commsched.future<{scale.type}>"]
            extra = f", {scale.name}"
        for name, type in zip(names, types):
            lines.append(
                f"%n_{name}, %s_{name} = commsched.compute \"aten.adam\""
                f"(%w_{name}, %m_{name}, %g_{name}{extra}) "
                f"{{commsched.runtime_ns = {self.vary(15) * self.time_unit} : i64}} : "
                f"({', '.join([type] * 3 + [scale.type] * bool(extra))}) -> "
                f"({type}, {type})")
        results = [f"%{kind}_{name}" for kind in "ns" for name in names]
        body = "\n  ".join([*lines, f"return {', '.join(results)} : "
                            f"{', '.join(2 * types)}"])
        return (f"func.func private @{self.name}_optimizer"
                f"({', '.join(ports)}) -> "
                f"({', '.join(2 * types)}) {{\n  {body}\n}}\n")

    def write_step(self):
        """The step, its joint function and its optimizer."""
        numbers = {value: i for i, (value, _) in enumerate(self.updates)}
        count = len(numbers)
        ports, operands = [], [value.name for value, _ in self.arguments]
        for value, role in self.arguments:
            carried = (f", commsched.carried = {numbers[value]} : i64"
                       if value in numbers else "")
            ports.append(f'{value.name}: {value.type} '
                         f'{{commsched.role = "{role}"{carried}}}')
        ports += [f"%m_{value.name[1:]}: {value.type} "
                  f"{{commsched.carried = {count + i} : i64}}"
                  for value, i in numbers.items()]
        types = [value.type for value in numbers]
        joint_types = [value.type for value in self.returned]
        handed = [f"%joint#{i}" for i in range(len(joint_types))]
        updated = ([value.name for value in numbers]
                   + [f"%m_{value.name[1:]}" for value in numbers]
                   + [handed[number] for _, number in self.updates])
        # What is no gradient of a parameter: the loss, and the input's.
        rest = [0, len(joint_types) - 1]
        results = [f"%new#{i}" for i in range(2 * count)]
        lines = [
            f"%joint:{len(joint_types)} = call @{self.name}_joint"
            f"({', '.join(operands)}) : "
            f"({', '.join(v.type for v, _ in self.arguments)}) -> "
            f"({', '.join(joint_types)})",
            f"%new:{2 * count} = call @{self.name}_optimizer"
            f"({', '.join(updated)}) : "
            f"({', '.join(3 * types)}) -> ({', '.join(2 * types)})"]
        return self.write_function(
            ", ".join(ports),
            [Value(name, value.size) for name, value in
             zip(results, 2 * [*numbers])]
            + [Value(handed[i], self.returned[i].size) for i in rest],
            lines) + self.text(f"{self.name}_joint").replace(
                "func.func @", "func.func private @") + self.write_optimizer()


def generate(seeds):
    """A module with a function for each seed."""
    return PROLOGUE + "".join(JointStep(seed).text() for seed in seeds)
