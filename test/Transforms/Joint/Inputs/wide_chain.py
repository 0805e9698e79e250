# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a joint function whose forward is a chain of so many products that the
backward needs, with so many small operations behind it."""

import sys

WIDE, SMALL = "tensor<1024x4096xbf16>", "tensor<4xbf16>"


def compute(result, name, operands, types, type_, ns):
    print(f'  %{result} = commsched.compute "{name}"({operands}) '
          f'{{commsched.name = "{result}", commsched.runtime_ns = {ns} : i64}}'
          f" : ({types}) -> {type_}")


def main():
    count, small = map(int, sys.argv[1:])
    print(f"func.func @chain(%v0: {WIDE} {{commsched.role = \"input\"}}, "
          f"%g0: {WIDE} {{commsched.role = \"tangent\"}}) -> ({SMALL}, {WIDE})\n"
          "    attributes {commsched.num_forward_outputs = 1 : i64} {")
    for index in range(1, count + 1):
        compute(f"v{index}", "aten.mm", f"%v{index - 1}", WIDE, WIDE, 900000)
    compute("s0", "aten.sum", f"%v{count}", WIDE, SMALL, 1000)
    for index in range(1, small + 1):
        compute(f"s{index}", "aten.mm", f"%s{index - 1}", SMALL, SMALL, 1000)
    for index in range(1, count + 1):
        compute(f"g{index}", "aten.mm", f"%g{index - 1}, %v{count + 1 - index}",
                f"{WIDE}, {WIDE}", WIDE, 900000)
    print(f"  return %s{small}, %g{count} : {SMALL}, {WIDE}\n}}")


if __name__ == "__main__":
    main()
