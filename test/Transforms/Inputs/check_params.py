# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Removes unsharded parameters from random functions.

The pass removes exactly the parameters that the rules (param_rules.py) allow,
and rejects functions that write a parameter, fill it without storage or read it
without contents. An execution of the function sees the same values before and
after, whether a tensor of a memref keeps its contents or changes with the
storage. A second run changes nothing.
"""

import argparse
import collections
import subprocess
import sys

from generic_ir import parse
from param_rules import Execution, Function, Rules
from random_params import generate

PASS = "--commsched-remove-unsharded-param-usage"
SEPARATOR = "// -----\n"


def run(tool, modules, *options):
    """The modules that come out; empty ones where there was an error."""
    result = subprocess.run(
        [*tool, "--split-input-file", "--mlir-print-op-generic", *options,
         "-"], input=SEPARATOR.join(modules), capture_output=True, text=True,
        check=False)
    outputs = result.stdout.split(SEPARATOR)
    assert len(outputs) == len(modules), result.stderr
    return [output.strip() for output in outputs], result.stderr


def read(text):
    """The last function is the one to look at."""
    return Function(parse(text)[-1])


def check(before, after, verdicts):
    for param, verdict in verdicts.items():
        uses = [[op.name for op in f.users[param]] for f in (before, after)]
        if verdict == "removed" and uses[1]:
            return f"{param} should go"
        if verdict == "kept" and uses[0] != uses[1]:
            return f"{param} should stay"
    for copies in (False, True):
        if Execution(before, copies).seen != Execution(after, copies).seen:
            return "operations see other contents"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", nargs=argparse.REMAINDER)
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    modules, _ = run(arguments.tool,
                     generate(arguments.functions, arguments.seed))
    outputs, errors = run(arguments.tool, modules, PASS)
    count = collections.Counter()
    for text, output in zip(modules, outputs, strict=True):
        before = read(text)
        verdicts = Rules(before).verdicts
        count.update(verdicts.values())
        expects_error = "error" in verdicts.values()
        problem = None
        if expects_error != (not output):
            problem = "should fail" if expects_error else "fails"
        elif output:
            problem = check(before, read(output), verdicts)
        if problem:
            sys.exit(f"{problem}: {verdicts}\nbefore:\n{text}\nafter:\n"
                     f"{output}\n{errors}")
    good = [output for output in outputs if output]
    again, errors = run(arguments.tool, good, PASS)
    if again != good:
        sys.exit(f"{PASS} changes its own result, or fails:\n{errors}")
    seldom = min(count[v] for v in ("removed", "kept", "error"))
    assert seldom > len(modules) // 40, count
    print(f"{len(modules)} functions: all well, {dict(count)}")


if __name__ == "__main__":
    main()
