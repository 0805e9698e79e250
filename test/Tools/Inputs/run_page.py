# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of a page of the documentation.

    run_page.py PAGE FOLDER PREFIX

Each fenced block `sh` is a script that runs in FOLDER and has to succeed, with
CommSched installed in $PREFIX and its programs on PATH. A block `text`
that follows is a part of what it printed to standard output and error.
White space is ignored, so that a page may break long lines anywhere, and a line
`...` of the page stands for any lines.
"""

import os
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def normalize(text):
    return "".join(text.split())


def is_shown(shown, output):
    """Whether the parts of `shown` are in the output, in this order."""
    output = normalize(output)
    for part in re.split(r"^ *\.\.\.$", shown, flags=re.MULTILINE):
        part = normalize(part)
        place = output.find(part)
        if place < 0:
            return False
        output = output[place + len(part) :]
    return True


def main():
    page, folder, prefix = sys.argv[1:]
    path = os.pathsep.join([os.path.join(prefix, "bin"), os.environ["PATH"]])
    environment = dict(os.environ, PREFIX=prefix, PATH=path)
    output = None
    scripts = failures = 0
    for language, text in BLOCK.findall(pathlib.Path(page).read_text()):
        if language == "sh":
            scripts += 1
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text],
                                  cwd=folder, env=environment, text=True,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            output = done.stdout
            if done.returncode:
                failures += 1
                print(f"{page}: this fails:\n{text}{output}")
        elif language == "text" and output is not None:
            if not is_shown(text, output):
                failures += 1
                print(f"{page}: this is not in the output:\n{text}"
                      f"which is:\n{output}")
        else:
            output = None
    print(f"{scripts} scripts, {failures} mistakes")
    return failures > 0 or scripts == 0


if __name__ == "__main__":
    sys.exit(main())
