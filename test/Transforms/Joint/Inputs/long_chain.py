# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a joint function whose forward is a chain of so many fusible
operations."""

import sys

T = "tensor<4xf32>"


def main():
    count = int(sys.argv[1])
    print(f"func.func @chain(%v0: {T} {{commsched.role = \"input\"}}, "
          f"%t: {T} {{commsched.role = \"tangent\"}}) -> ({T}, {T})\n"
          "    attributes {commsched.num_forward_outputs = 1 : i64} {")
    for index in range(1, count + 1):
        print(f'  %v{index} = commsched.compute "aten.sin"(%v{index - 1}) '
              f'{{commsched.name = "v{index}"}} : ({T}) -> {T}')
    print(f'  %g = commsched.compute "aten.mul"(%t, %v{count}) '
          f": ({T}, {T}) -> {T}\n"
          f"  return %v{count}, %g : {T}, {T}\n}}")


if __name__ == "__main__":
    main()
