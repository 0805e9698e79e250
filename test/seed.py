# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The seed from which random tests start: one for each commit.

So the runs of many commits add up, and each can be repeated: by its commit, or
with COMMSCHED_TEST_SEED, which comes first. Outside of a checkout it is fixed.
"""

import os
import subprocess

VARIABLE = "COMMSCHED_TEST_SEED"
OUTSIDE = 1


def find_seed():
    """The number, in decimal in the environment."""
    if text := os.environ.get(VARIABLE):
        if not text.isdecimal():
            raise SystemExit(f"{VARIABLE} is '{text}', not a number")
        return int(text)
    folder = os.path.dirname(os.path.abspath(__file__))
    try:
        commit = subprocess.run(
            ["git", "-C", folder, "rev-parse", "HEAD"], text=True,
            capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return OUTSIDE
    return int(commit[:6], 16)


if __name__ == "__main__":
    print(find_seed())
