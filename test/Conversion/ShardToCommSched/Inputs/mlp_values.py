# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what mlp.partitioned.mlir computes with the layer on one device.

`--write DIR` writes each device's shards as inputs; without it, the results of
the run in `DIR/out` are compared. All numbers are small integers, so that sums
are exact in any order.
"""

import argparse
import itertools
import pathlib

import numpy as np


def layer():
    rng = np.random.default_rng(0)
    return [rng.integers(-2, 3, size=shape).astype(np.float32)
            for shape in ((8, 16), (16, 64), (64, 16))]


def write(directory):
    x, up, down = layer()
    for rank, (i, j) in enumerate(itertools.product(range(2), range(4))):
        folder = directory / "in" / f"rank{rank}"
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "arg0.npy", np.split(x, 2, 0)[i])
        np.save(folder / "arg1.npy", np.split(up, 4, 1)[j])
        np.save(folder / "arg2.npy", np.split(down, 4, 0)[j])


def compare(directory):
    x, up, down = layer()
    for rank in range(8):
        actual = np.load(directory / "out" / f"rank{rank}" / "result0.npy")
        np.testing.assert_array_equal(actual, x @ up @ down, strict=True,
                                      err_msg=f"rank {rank}")
    print("8 results compared")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("directory", type=pathlib.Path)
    options = parser.parse_args()
    (write if options.write else compare)(options.directory)


if __name__ == "__main__":
    main()
