# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a module of StableHLO in the generic form, as jaxlib prints it: layers
on eight devices that gather two weights, compute, and scatter two gradients."""

import argparse

GROUPS = (
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
    "replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, "
    "use_global_device_ids"
)
DOT = (
    "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
    "rhs_contracting_dimensions = [0]>, precision_config = "
    "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]"
)
SHARD = "tensor<64x512xf32>"
FULL = "tensor<512x512xf32>"
ROWS = "tensor<16x512xf32>"
ELEMENTWISE = ("tanh", "negate", "exponential", "sine", "cosine", "logistic")


class Writer:
    def __init__(self):
        self.lines = []
        self.values = 0

    def operation(self, name, operands, types, result, properties=""):
        """Adds an operation with one result and returns its name."""
        value = f"%{self.values}"
        self.values += 1
        properties = f" <{{{properties}}}>" if properties else ""
        self.lines.append(
            f'      {value} = "stablehlo.{name}"({", ".join(operands)})'
            f'{properties} : ({", ".join(types)}) -> {result}'
        )
        return value

    def scatter(self, operand):
        value = f"%{self.values}"
        self.values += 1
        self.lines += [
            f'      {value} = "stablehlo.reduce_scatter"({operand}) '
            f"<{{{GROUPS}, scatter_dimension = 0 : i64}}> ({{",
            "      ^bb0(%first: tensor<f32>, %second: tensor<f32>):",
            '        %sum = "stablehlo.add"(%first, %second) : '
            "(tensor<f32>, tensor<f32>) -> tensor<f32>",
            '        "stablehlo.return"(%sum) : (tensor<f32>) -> ()',
            f"      }}) : ({FULL}) -> {SHARD}",
        ]
        return value

    def layer(self, x, shard, elementwise):
        """A layer of 8 + `elementwise` operations, and 4 in reducers."""
        gather = f"all_gather_dim = 0 : i64, {GROUPS}"
        for _ in range(2):
            full = self.operation(
                "all_gather", [shard], [SHARD], FULL, gather
            )
            x = self.operation(
                "dot_general", [x, full], [ROWS, FULL], ROWS, DOT
            )
            for index in range(elementwise // 2):
                name = ELEMENTWISE[index % len(ELEMENTWISE)]
                x = self.operation(name, [x], [ROWS], ROWS)
        for _ in range(2):
            gradient = self.operation(
                "dot_general",
                [x, x],
                [ROWS, ROWS],
                FULL,
                DOT.replace("[1]", "[0]"),
            )
            shard = self.scatter(gradient)
        return x, shard


def module(operations, elementwise=32):
    """The text of a module of about `operations` operations."""
    writer = Writer()
    x, shard = "%x", "%w"
    # Each of the two reducers of a layer has two operations.
    for _ in range(-(-operations // (elementwise + 12))):
        x, shard = writer.layer(x, shard, elementwise)
    sharding = "#sdy.sharding_per_value<[{}]>"
    split, whole = '<@mesh, [{"dp"}, {}]>', "<@mesh, [{}, {}]>"
    return "\n".join(
        [
            '"builtin.module"() <{sym_name = "step"}> ({',
            '  "sdy.mesh"() <{mesh = #sdy.mesh<["dp"=8]>, '
            'sym_name = "mesh"}> : () -> ()',
            '  "func.func"() <{function_type = '
            f"({FULL}, {ROWS}) -> ({FULL}, {ROWS}), "
            'sym_name = "main", sym_visibility = "public"}> ({',
            f"  ^bb0(%weight: {FULL}, %input: {ROWS}):",
            '    %results:2 = "sdy.manual_computation"(%weight, %input) <{'
            f"in_shardings = {sharding.format(f'{split}, {whole}')}, "
            'manual_axes = #sdy<manual_axes{"dp"}>, '
            f"out_shardings = {sharding.format(f'{split}, {whole}')}}}> ({{",
            f"    ^bb0(%w: {SHARD}, %x: {ROWS}):",
            *writer.lines,
            f'      "sdy.return"({shard}, {x}) : ({SHARD}, {ROWS}) -> ()',
            f"    }}) : ({FULL}, {ROWS}) -> ({FULL}, {ROWS})",
            '    "func.return"(%results#0, %results#1) : '
            f"({FULL}, {ROWS}) -> ()",
            "  }) : () -> ()",
            "}) : () -> ()",
            "",
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=100000)
    parser.add_argument(
        "--elementwise",
        type=int,
        default=32,
        help="element-wise operations of a layer (default: 32)",
    )
    options = parser.parse_args()
    print(module(options.operations, options.elementwise), end="")


if __name__ == "__main__":
    main()
