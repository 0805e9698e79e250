# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the scripts that show training steps share: running tools, and units."""
import subprocess


class Failure(Exception):
    """A step could not be worked on; the text says why."""


def run(*command):
    """Runs a tool; returns what it printed."""
    try:
        result = subprocess.run([str(word) for word in command],
                                capture_output=True, text=True)
    except OSError as error:
        raise Failure(f"cannot run {command[0]}: {error}") from error
    if result.returncode:
        raise Failure((result.stderr + result.stdout).strip()
                      or f"{command[0]} failed")
    return result.stdout


def run_passes(opt, step, passes, *arguments):
    """Runs passes, a list of texts, on the module; returns what they printed."""
    return run(opt, step, "--mlir-print-op-on-diagnostic=false",
               f"--pass-pipeline=builtin.module({','.join(passes)})", *arguments)


def gibibytes(size):
    return f"{size / 2**30:,.2f} GiB"
