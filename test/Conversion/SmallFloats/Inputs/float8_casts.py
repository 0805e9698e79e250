# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares conversions that ran with what they are by definition.

`write TYPE DIR` writes a program and its inputs: all 8-bit numbers, all 16-bit
numbers, and numbers of 32 and 64 bits at, next to and far from every place
where the rounding changes. `compare TYPE DIR` compares its results.
"""

import argparse
import pathlib

import numpy as np

import float8


def rounding_places(name, kind):
    values = float8.magnitudes(name)
    middles = (values[1:] + values[:-1]) / 2
    places = np.concatenate([values, middles]).astype(kind)
    beside = [np.nextafter(places, kind(side)) for side in (-np.inf, np.inf)]
    limits = np.finfo(kind)
    special = np.array([np.inf, np.nan, limits.max, limits.tiny,
                        limits.smallest_subnormal, 1e9, 1e-30], kind)
    # Above the middle by less than f32 sees: rounding twice goes wrong.
    hair = (places.astype(np.float64) * (1 + 2.0**-40)).astype(kind)
    random = np.random.default_rng(0).normal(scale=30, size=1000).astype(kind)
    numbers = np.concatenate([places, *beside, special, hair, random])
    return np.concatenate([numbers, -numbers])


def inputs(name):
    patterns = np.arange(1 << 16, dtype=np.uint16)
    return {"bf16": patterns, "f16": patterns.view(np.float16),
            "f32": rounding_places(name, np.float32),
            "f64": rounding_places(name, np.float64)}


def program(name):
    sizes = {kind: len(values) for kind, values in inputs(name).items()}
    arguments = [f"%{k}: tensor<{n}x{k}>" for k, n in sizes.items()]
    lines, results, types = [], [], []
    for kind, size in sizes.items():
        lines.append(f"  %narrow_{kind} = arith.truncf %{kind} : "
                     f"tensor<{size}x{kind}> to tensor<{size}x{name}>")
        lines.append(f"  %wide_{kind} = arith.extf %all : tensor<256x{name}> "
                     f"to tensor<256x{kind}>")
        results += [f"%narrow_{kind}", f"%wide_{kind}"]
        types += [f"tensor<{size}x{name}>", f"tensor<256x{kind}>"]
    return (f"func.func @main(%all: tensor<256x{name}>, "
            f"{', '.join(arguments)}) -> ({', '.join(types)}) {{\n"
            + "\n".join(lines) + f"\n  return {', '.join(results)} : "
            f"{', '.join(types)}\n}}\n")


def write(name, directory):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "program.mlir").write_text(program(name))
    np.save(directory / "arg0.npy", np.arange(256, dtype=np.uint8))
    for index, values in enumerate(inputs(name).values()):
        np.save(directory / f"arg{index + 1}.npy", values)


@np.errstate(invalid="ignore")  # signalling NaN among all 16-bit numbers
def expected_patterns(name, kind, values):
    return float8.encode(name, numbers_of(kind, values))


def numbers_of(kind, values):
    return float8.bfloat16_numbers(values) if kind == "bf16" else values


def compare(name, directory):
    total = 0
    for index, (kind, values) in enumerate(inputs(name).items()):
        def load(result):
            return np.load(directory / f"rank0/result{result}.npy")
        narrow, wide = load(2 * index), load(2 * index + 1)
        np.testing.assert_array_equal(
            narrow, expected_patterns(name, kind, values),
            strict=True, err_msg=f"{kind} to {name}")
        expected = float8.decode(name, np.arange(256))
        actual = numbers_of(kind, wide)
        np.testing.assert_array_equal(actual, expected.astype(actual.dtype),
                                      strict=True, err_msg=f"from {kind}")
        # Zeros have signs; those of NaN mean nothing.
        assert np.signbit(actual[128]) and not np.signbit(actual[0]), kind
        total += narrow.size + wide.size
    print(f"{total} conversions compared")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["write", "compare"])
    parser.add_argument("type", choices=float8.FORMATS)
    parser.add_argument("directory", type=pathlib.Path)
    options = parser.parse_args()
    command = write if options.command == "write" else compare
    command(options.type, options.directory)


if __name__ == "__main__":
    main()
