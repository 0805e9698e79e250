# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what is predicted of merged programs on those of random_buckets.py.

Each function is merged in random ways by -test-bucketed-problem, which compares
its step time and its live bytes at every operation with the prediction.
"""

import argparse
import random
import subprocess
import sys

from random_buckets import KINDS, WORLDS, generate, prologue


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--functions", type=int, default=40,
                        help="in each batch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("tool")
    options = parser.parse_args()
    buckets = casts = 0
    for batch in range(options.batches):
        seed = options.seed + batch
        _, groups = random.Random(seed).choice(WORLDS)
        functions = generate(groups, KINDS[batch % len(KINDS)],
                             options.functions, seed)
        text = prologue(groups) + "\n".join(functions)
        result = subprocess.run(
            [options.tool, "--test-bucketed-problem", "-o", "/dev/null"],
            input=text, text=True, capture_output=True, check=False)
        if result.returncode:
            sys.exit(f"batch of seed {seed}:\n{result.stderr[:4000]}")
        words = result.stdout.split()
        buckets += int(words[1])
        casts += int(words[4])
    print(f"{buckets} buckets with {casts} absorbed casts")


if __name__ == "__main__":
    main()
