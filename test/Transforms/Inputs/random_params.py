# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random functions that grow, fill, read and free unsharded parameters.

Half of them keep to the rules. In the others now and then a parameter is used
at the wrong time or in a way that keeps its storage. What computes or waits
has a unique `commsched.name`.
"""

import random

TENSOR = "tensor<4xf32>"
MEMREF = "memref<4xf32>"
PROLOGUE = ("commsched.group @g size(2)\n"
            "func.func private @nothing()\n"
            f"func.func private @memory({MEMREF})\n")


class Param:
    def __init__(self, text):
        self.text = text
        self.state = "off"
        self.tensors = []  # What has been read, with views.


class Generator:
    """Writes one random function."""

    def __init__(self, name, seed):
        self.rng = random.Random(seed)
        self.name = name
        self.count = 0
        self.lines = []
        # How often something goes wrong.
        self.evil = self.rng.choice([0, 0, 0.03, 0.1])

    def module(self):
        rng = self.rng
        self.params = [Param(f"%p{i}") for i in range(rng.randint(1, 3))]
        self.tensors = [f"%t{i}" for i in range(rng.randint(1, 3))]
        self.returned = []
        self.pending = []  # Future, name of what is sent, its parameter.
        role = rng.choice(['{commsched.role = "unsharded_param"}', ""])
        # Without a role a parameter might be the same memory.
        memory = role and rng.random() < 0.4
        arguments = [f"{p.text}: {MEMREF} {role}" for p in self.params]
        arguments += [f"{t}: {TENSOR}" for t in self.tensors]
        if memory:
            arguments.append(f"%m: {MEMREF}")
            self.tensors.insert(0, self.read("%m"))
        self.memory = memory
        for _ in range(rng.randint(5, 60)):
            self.step()
        for param in self.params:
            if param.state != "off" and not self.errs():
                self.free(param)
        while self.pending:
            self.wait(self.pending[0])
        returned = self.returned + self.tensors[-1:]
        self.emit(f"return {', '.join(returned)} : "
                  + ", ".join([TENSOR] * len(returned)))
        body = "\n  ".join(["%c = arith.constant true",
                            "%i = arith.constant 0 : index",
                            "%v = arith.constant 1.0 : f32", *self.lines])
        results = ", ".join([TENSOR] * len(returned))
        return (f"{PROLOGUE}func.func @{self.name}({', '.join(arguments)}) -> "
                f"({results}) {{\n  {body}\n}}\n")

    def errs(self):
        return self.rng.random() < self.evil

    def fresh(self):
        self.count += 1
        return f"{self.name}_{self.count}"

    def emit(self, text):
        self.lines.append(text)

    def step(self):
        rng = self.rng
        param = rng.choice(self.params)
        if self.errs():
            rng.choice([self.late, self.misuse, self.resize_wrongly])(param)
            return
        actions = {
            "off": [(self.grow, 8)],
            "grown": [(self.fill, 12), (self.free, 1)],
            "filled": [(self.read_param, 6), (self.nest, 1), (self.fill, 1),
                       (self.free, 3)],
        }[param.state]
        actions += [(self.compute, 6), (self.write, 1), (self.start, 2),
                    (self.finish, 1), (self.unknown, 0.5)]
        rng.choices([a for a, _ in actions], [w for _, w in actions])[0](param)

    # What happens to a parameter.

    def end_contents(self, param):
        """No tensor of it is used any more."""
        if self.evil and self.rng.random() < 0.3:
            return
        for entry in [e for e in self.pending if e[2] is param]:
            self.wait(entry)
        param.tensors = []

    def resize(self, param, size):
        self.emit(f"commsched.resize_storage {param.text} bytes({size}) "
                  f": {MEMREF}")

    def grow(self, param):
        self.resize(param, 16)
        param.state = "grown"

    def free(self, param):
        self.end_contents(param)
        self.resize(param, 0)
        param.state = "off"

    def fill(self, param):
        self.end_contents(param)
        sources = self.tensors
        if self.memory and self.rng.random() < 0.3:
            sources = sources[:1]
        if self.errs():
            sources = self.read_tensors() or sources
        self.emit(f"commsched.fsdp_copy {self.rng.choice(sources)} into "
                  f"{param.text} : {TENSOR}, {MEMREF}")
        param.state = "filled"

    def read(self, memref):
        result = f"%{self.fresh()}"
        self.emit(f"{result} = bufferization.to_tensor {memref} : {MEMREF} to "
                  f"{TENSOR}")
        return result

    def read_param(self, param):
        param.tensors.append(self.read(param.text))

    def nest(self, param):
        self.emit("scf.if %c {")
        inner = self.read(param.text)
        if self.errs():
            self.resize(param, self.rng.choice([0, 16]))
        self.use([inner, self.rng.choice(self.tensors)])
        if self.rng.random() < 0.3:
            self.write(param)
        self.emit("}")

    # What uses tensors.

    def use(self, operands, attributes="", results=True):
        name = self.fresh()
        types = ", ".join([TENSOR] * len(operands))
        left, right = (f"%{name} = ", TENSOR) if results else ("", "()")
        self.emit(f'{left}commsched.compute "op"({", ".join(operands)}) '
                  f'{{{attributes}commsched.name = "{name}"}} : ({types}) '
                  f"-> {right}")
        return f"%{name}"

    def read_tensors(self):
        return [t for p in self.params for t in p.tensors]

    def usable(self):
        return self.tensors + self.read_tensors()

    def compute(self, _):
        read = self.read_tensors()
        operand = self.rng.choice(
            read if read and self.rng.random() < 0.6 else self.tensors)
        owner = next((p for p in self.params if operand in p.tensors), None)
        if self.rng.random() < 0.3:
            view = self.use([operand], "alias = 0 : i64, ")
            (owner or self).tensors.append(view)
            return
        others = self.rng.sample(self.usable(), 1)
        self.tensors.append(self.use([operand, *others]))

    def write(self, _):
        target = self.rng.choice(self.tensors)
        self.use([target, self.rng.choice(self.tensors)],
                 "mutates = array<i64: 0>, ", self.rng.random() < 0.5)

    def start(self, _):
        sent = self.rng.choice(self.usable())
        owner = next((p for p in self.params if sent in p.tensors), None)
        name = self.fresh()
        into = (self.rng.choice(self.tensors)
                if self.rng.random() < 0.4 else None)
        self.emit(f"%{name} = commsched.all_reduce {sent} on @g "
                  f"reduction(sum) {f'into {into} ' if into else ''}"
                  f'{{commsched.name = "{name}"}} : {TENSOR} '
                  f"{f'into {TENSOR} ' if into else ''}"
                  f"-> !commsched.future<{TENSOR}>")
        self.pending.append((name, sent, owner))

    def wait(self, entry):
        self.pending.remove(entry)
        name = self.fresh()
        self.emit(f'%{name} = commsched.wait %{entry[0]} {{commsched.name = '
                  f'"{name}"}} : !commsched.future<{TENSOR}>')
        self.tensors.append(f"%{name}")

    def finish(self, _):
        if self.pending:
            self.wait(self.rng.choice(self.pending))

    def unknown(self, _):
        self.emit("func.call @nothing() : () -> ()")
        if self.memory and self.rng.random() < 0.5:
            self.emit(f"memref.store %v, %m[%i] : {MEMREF}")

    # What is wrong.

    def late(self, param):
        if self.rng.random() < 0.5:
            self.fill(param)
        else:
            self.read_param(param)
            self.use(param.tensors[-1:])

    def resize_wrongly(self, param):
        self.resize(param, self.rng.choice([0, 16]))

    def misuse(self, param):
        text = param.text
        choice = self.rng.randrange(6)
        if choice == 0:
            self.emit(f"memref.store %v, {text}[%i] : {MEMREF}")
        elif choice == 1:
            self.emit(f"func.call @memory({text}) : ({MEMREF}) -> ()")
        elif choice == 2:
            self.emit(f"%{self.fresh()} = memref.load {text}[%i] : {MEMREF}")
        elif choice == 3:
            self.emit(f"%{self.fresh()} = memref.cast {text} : {MEMREF} to "
                      f"{MEMREF}")
        elif param.tensors:
            tensor = self.rng.choice(param.tensors)
            if choice == 4:
                self.returned.append(tensor)
            else:
                self.use([tensor], "mutates = array<i64: 0>, ")


def generate(count, seed):
    """The modules of `count` functions, the same for the same seed."""
    return [Generator(f"f{i}", seed * 100003 + i).module()
            for i in range(count)]
