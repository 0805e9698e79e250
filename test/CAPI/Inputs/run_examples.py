# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs the programs of a page of the documentation.

    run_examples.py PAGE SOURCE BUILD FOLDER CC [c|python]

A program is a fenced block `c` or `python`; the block `text` that follows
is all that it prints. Programs in C are linked with libCommSchedC.
"""

import os
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```(c|python)\n(.*?)^```\n\n^```text\n(.*?)^```$",
                   re.DOTALL | re.MULTILINE)


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **options)
    status = f"status {done.returncode}" if done.returncode else ""
    return done.stdout + status


def run_c(text, source, build, folder, compiler):
    program = pathlib.Path(folder, "program")
    program.with_suffix(".c").write_text(text)
    return run(compiler, "-std=c99", "-pedantic", "-Wall", "-Werror",
               f"-I{source}/include", f"{program}.c", "-o", str(program),
               f"-L{build}/lib", f"-Wl,-rpath,{build}/lib",
               "-lCommSchedC") or run(str(program))


def run_python(text, source, build):
    path = os.pathsep.join([f"{build}/bin", os.environ["PATH"]])
    environment = dict(os.environ, PYTHONPATH=f"{source}/python", PATH=path)
    environment.pop("COMMSCHED_OPT", None)
    return run(sys.executable, "-c", text, env=environment)


def main():
    page, source, build, folder, compiler, which = sys.argv[1:]
    count = failures = 0
    blocks = BLOCK.findall(pathlib.Path(page).read_text())
    for language, text, expected in blocks:
        if language != which:
            continue
        count += 1
        if language == "c":
            found = run_c(text, source, build, folder, compiler)
        else:
            found = run_python(text, source, build)
        if found.split() != expected.split():
            failures += 1
            print(f"{page}: this program\n{text}printed\n{found}\nand not\n"
                  f"{expected}")
    print(f"{count} programs in {which}, {failures} failed")
    sys.exit(failures != 0 or count == 0)


main()
