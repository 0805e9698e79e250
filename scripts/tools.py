# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of the scripts for training steps: running tools, and units."""
import subprocess


class Failure(Exception):
    """A step could not be worked on; the text says why."""


def run(*command, env=None):
    """Runs a tool; returns what it printed."""
    try:
        result = subprocess.run([str(word) for word in command],
                                capture_output=True, text=True, env=env)
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


def evidence(reports):
    """What the figures of reports rest on: a line for each text."""
    return "\n".join(dict.fromkeys(report["evidence"] for report in reports))


def memory(size):
    """In GiB, or in MiB where that is less than one."""
    if size < 2**30:
        return f"{size / 2**20:,.2f} MiB"
    return f"{size / 2**30:,.2f} GiB"


def milliseconds(ns):
    return f"{ns / 1e6:,.1f} ms"


def percent(value, base):
    """By how much `value` is above `base`."""
    return f"{100 * (value - base) / base:.1f} %" if base else ""
