# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Remembers what a forward pass did, and writes the backward pass."""


class Tape:
    def __init__(self, function):
        self.function = function
        self.entries = []
        self.gradients = {}

    def record(self, output, inputs, pull):
        """`pull` writes the gradients of `inputs`, given that of `output`; a
        gradient of None stands for zero."""
        attributes = self.function.attributes

        def run():
            gradient = self.gradients.get(output)
            if gradient is None:
                return
            with self.function.within(**attributes | {"partition": "backward"}):
                for value, part in zip(inputs, pull(gradient), strict=True):
                    if part is not None:
                        self.accumulate(value, part)

        self.entries.append(run)
        return output

    def mark(self, run):
        """Calls `run` when the backward pass comes here."""
        self.entries.append(run)

    def accumulate(self, value, part):
        """Also for parameters, which are known by name."""
        known = self.gradients.get(value)
        self.gradients[value] = part if known is None else self.add(known, part)

    def add(self, a, b):
        return self.function.sum(a, b)

    def backward(self, value, gradient):
        self.gradients[value] = gradient
        entries, self.entries = self.entries, []
        for entry in reversed(entries):
            entry()
