# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the generators of small random steps share: values, drawn numbers, and
the text of a function."""

from dataclasses import dataclass

GROUP_SIZE = 4


def write_groups(*names):
    """Two groups of which one strides over the other, or one alone."""
    strides = ("", f" stride({GROUP_SIZE})")
    return "".join(
        f"commsched.group @{name} size({GROUP_SIZE}){stride}\n"
        for name, stride in zip(names, strides)
    )


@dataclass(frozen=True)
class Value:
    """A tensor of `size` elements, or rows of a `width`."""

    name: str
    size: int
    width: int = 0

    @property
    def type(self):
        shape = f"{self.size}x{self.width}" if self.width else self.size
        return f"tensor<{shape}xf32>"


def list_values(values):
    """Their names and their types."""
    return (", ".join(v.name for v in values), ", ".join(v.type for v in values))


def get_collective(kind, size):
    """The size of the result of a collective, and its clauses."""
    return {
        "all_gather": (size * GROUP_SIZE, "dim(0)"),
        "reduce_scatter": (size // GROUP_SIZE, "reduction(sum) dim(0)"),
        "all_reduce": (size, "reduction(sum)"),
        "all_to_all": (size, "split_dim(0) concat_dim(0)"),
    }[kind]


class StepText:
    """A function; the same for the same seed. What draws it sets `rng`,
    `family` and `uneven`."""

    #: By how much drawn numbers lie around their middle.
    uneven = 0.7

    @property
    def name(self):
        return f"{self.family.__name__}_{self.seed}"

    def vary(self, middle):
        """A number around `middle`."""
        factor = self.rng.uniform(1 - self.uneven, 1 + self.uneven)
        return max(1, round(middle * factor))

    #: Whether one result stands in parentheses, too.
    always_lists = True

    def write_function(self, arguments, returned, lines, name=None, attributes=""):
        names, types = list_values(returned)
        results = f"({types})" if self.always_lists else types
        head = (f"func.func @{name or self.name}({arguments}) -> {results}"
                f"{attributes} {{")
        return "\n  ".join([head, *lines, f"return {names} : {types}"]) + "\n}\n"
