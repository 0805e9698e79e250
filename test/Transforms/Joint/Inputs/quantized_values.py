# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what a backward gets of quantized activations with what was saved.

`write DIR` writes a partition that saves one activation of each type, and its
inputs. `link DIR` makes what the forward returned what the backward takes.
`compare TYPE DIR` checks the results of a run, with `--unscaled` those without
scaling: that scales, patterns, and the numbers that the backward gets are those
that their definitions give.
"""

import argparse
import pathlib
import shutil
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "test/Conversion/SmallFloats/Inputs"))
import float8  # noqa: E402

ROWS, COLUMNS = 24, 32
# The type of scales.
KINDS = {"bf16": np.float32, "f16": np.float32, "f32": np.float32, "f64": np.float64}
RANGES = {"bf16": (2.0**-133, float.fromhex("0x1.fep127")),
          "f16": (2.0**-24, 65504.0),
          "f32": (2.0**-149, float(np.finfo(np.float32).max)),
          "f64": (2.0**-1074, float(np.finfo(np.float64).max))}


def make_rows(kind):
    """Rows of all sorts, as f64, of values that the type has."""
    rng = np.random.default_rng(1)
    smallest, largest = RANGES[kind]
    rows = rng.normal(size=(ROWS, COLUMNS))
    rows[0] = 0
    rows[1, ::2] = -0.0
    rows[2, 3] = -30000  # one that dwarfs all others
    rows[3] *= np.exp2(rng.integers(-20, 15, COLUMNS))
    rows[4] = largest * np.linspace(-1, 1, COLUMNS)
    rows[5] = smallest * rng.integers(-100, 100, COLUMNS)
    rows[6, 5] = -np.inf
    rows[7, 5] = np.nan
    rows[8] *= 1e-13  # below the floor of amax
    rows[9] = 448 * np.arange(COLUMNS) / 16  # to and beyond f8E4M3FN
    rows[10] = 61440 - np.arange(COLUMNS) * 64  # to and beyond f8E5M2
    rows[11] = -1
    with np.errstate(over="ignore"):
        return to_numbers(kind, to_file(kind, rows))


def to_file(kind, numbers):
    """As NumPy files have numbers of the type."""
    if kind == "bf16":
        return float8.bfloat16_bits(numbers)
    return numbers.astype({"f16": np.float16, "f32": np.float32,
                           "f64": np.float64}[kind])


def to_numbers(kind, values):
    if kind == "bf16":
        values = float8.bfloat16_numbers(values)
    return values.astype(np.float64)


def program():
    shape = f"2x{ROWS // 2}x{COLUMNS}"
    types = {kind: f"tensor<{shape}x{kind}>" for kind in KINDS}
    role = 'commsched.role = "{}"'.format
    inputs = ", ".join(f"%x_{kind}: {type} {{{role('input')}}}"
                       for kind, type in types.items())
    saved = ", ".join(f"%h_{kind}: {type} {{{role('saved_activation')}}}"
                      for kind, type in types.items())
    # The forward negates, which is exact.
    body = "\n".join(f"  %h_{kind} = arith.negf %x_{kind} : {type}"
                     for kind, type in types.items())
    names = ", ".join(f"%h_{kind}" for kind in types)
    results = ", ".join(types.values())
    given = ", ".join(f"%x_{kind}" for kind in types)
    handed = ", ".join(f"%f#{i}" for i in range(len(types)))
    call = f"({results}) -> ({results})"
    return f"""\
func.func @f({inputs}) -> ({results}) {{
  %f:{len(types)} = call @f_forward({given}) : {call}
  %b:{len(types)} = call @f_backward({handed}) : {call}
  return {handed.replace("%f", "%b")} : {results}
}}
func.func @f_forward({inputs}) -> ({results}) {{
{body}
  return {names} : {results}
}}
func.func @f_backward({saved}) -> ({results}) {{
  return {names} : {results}
}}
"""


def write(directory):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "pair.mlir").write_text(program())
    for index, kind in enumerate(KINDS):
        rows = -make_rows(kind).reshape(2, ROWS // 2, COLUMNS)
        np.save(directory / f"arg{index}.npy", to_file(kind, rows))


def link(directory):
    (directory / "saved").mkdir(exist_ok=True)
    for path in (directory / "forward/rank0").iterdir():
        name = path.name.replace("result", "arg")
        shutil.copy(path, directory / "saved" / name)


def expected_scales(kind, quant_type, rows):
    amax = np.abs(rows).max(axis=1, keepdims=True)
    scales = float8.largest(quant_type) / np.maximum(amax, 1e-12)
    return scales.astype(KINDS[kind])


def expected_patterns(kind, quant_type, rows, scales):
    if scales is None:
        return float8.encode(quant_type, rows)
    largest = float8.largest(quant_type)
    products = rows.astype(scales.dtype) * scales
    return float8.encode(quant_type, np.clip(products, -largest, largest))


def expected_numbers(kind, quant_type, patterns, scales):
    numbers = float8.decode(quant_type, patterns)
    if scales is not None:
        numbers = numbers.astype(scales.dtype) / scales
    return to_numbers(kind, to_file(kind, numbers))


def compare(quant_type, directory, scaled):
    def load(half, result):
        values = np.load(directory / half / f"rank0/result{result}.npy")
        return values.reshape(ROWS, -1)

    for index, kind in enumerate(KINDS):
        rows = make_rows(kind)
        scales = None
        with np.errstate(invalid="ignore", over="ignore"):
            if scaled:
                scales = expected_scales(kind, quant_type, rows)
                np.testing.assert_array_equal(
                    load("forward", len(KINDS) + index), scales, strict=True)
            patterns = expected_patterns(kind, quant_type, rows, scales)
            numbers = expected_numbers(kind, quant_type, patterns, scales)
        stored = load("forward", index)
        # The sign of NaN means nothing.
        is_number = ~np.isnan(float8.decode(quant_type, patterns))
        np.testing.assert_array_equal(stored[is_number], patterns[is_number],
                                      strict=True, err_msg=kind)
        assert np.isnan(float8.decode(quant_type, stored[~is_number])).all()
        np.testing.assert_array_equal(
            to_numbers(kind, load("backward", index)), numbers, err_msg=kind)
        print(f"{kind}: {np.isfinite(numbers).sum()} numbers")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for command in ("write", "link"):
        parser_of = commands.add_parser(command)
        parser_of.add_argument("directory", type=pathlib.Path)
    compare_parser = commands.add_parser("compare")
    compare_parser.add_argument("type", choices=float8.FORMATS)
    compare_parser.add_argument("directory", type=pathlib.Path)
    compare_parser.add_argument("--unscaled", action="store_true")
    options = parser.parse_args()
    if options.command == "write":
        write(options.directory)
    elif options.command == "link":
        link(options.directory)
    else:
        compare(options.type, options.directory, not options.unscaled)


if __name__ == "__main__":
    main()
