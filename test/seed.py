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
    """A number below 2^24."""
    if text := os.environ.get(VARIABLE):
        if not text.isdecimal() or int(text) >= 1 << 24:
            raise SystemExit(f"{VARIABLE} is '{text}', not a number below 2^24")
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
