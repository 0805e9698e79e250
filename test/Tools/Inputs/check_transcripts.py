# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that documentation shows the output of its commands.

    check_transcripts.py ROOT PAGE...

A comment `<!-- output of: COMMAND -->` in front of a fenced block says that the
block is a part of the standard output and error of the command, which runs in
ROOT. White space is ignored, so that a page may break long lines anywhere.
"""

import pathlib
import re
import subprocess
import sys

MARKED_BLOCK = re.compile(
    r"<!-- output of: (.+?) -->\n```[a-z]*\n(.*?)```", re.DOTALL)


def normalize(text):
    return "".join(text.split())


def main():
    root = pathlib.Path(sys.argv[1])
    outputs = {}
    blocks = failures = 0
    for page in sys.argv[2:]:
        for command, shown in MARKED_BLOCK.findall((root / page).read_text()):
            blocks += 1
            if command not in outputs:
                run = subprocess.run(command, shell=True, cwd=root, text=True,
                                     stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT)
                if run.returncode:
                    print(f"{page}: '{command}' failed:\n{run.stdout}")
                outputs[command] = normalize(run.stdout)
            if normalize(shown) not in outputs[command]:
                failures += 1
                print(f"{page}: the output of '{command}' does not contain\n"
                      f"{shown}")
    print(f"{blocks} blocks, {failures} wrong")
    return failures > 0 or blocks == 0


if __name__ == "__main__":
    sys.exit(main())
