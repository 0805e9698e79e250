# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a chain of operations with marks for commsched-compile-regions."""

import argparse

# By operation: the name of its region, or None.
REGIONS = {
    "all": lambda index: "a",
    "layers": lambda index: f"l{index // 100}" if index % 100 < 90 else None,
    "alternate": lambda index: "a" if index % 2 else None,
    "turns": lambda index: "ab"[index % 2],
}


def mark(region, pipeline):
    if region is None:
        return ""
    return (f' {{commsched.compile_with = {{pipeline = "{pipeline}", '
            f'region = "{region}"}}}}')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--marks", choices=REGIONS, default="all")
    parser.add_argument("--operations", type=int, default=10000)
    parser.add_argument("--pipeline", default="canonicalize,cse")
    options = parser.parse_args()
    tensor = "tensor<4xf32>"
    print(f"func.func @chain(%v0: {tensor}) -> {tensor} {{")
    for index in range(options.operations):
        text = mark(REGIONS[options.marks](index), options.pipeline)
        print(f"  %v{index + 1} = math.exp %v{index}{text} : {tensor}")
    print(f"  return %v{options.operations} : {tensor}\n}}")


if __name__ == "__main__":
    main()
