# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every pass and pipeline on programs whose futures cross boundaries.

Each run ends with a valid program that still has all starts and waits, or with
an error, but never with a crash. With `--turn` each is tried on one program.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from pass_runs import LOWERING, RUNS

SOURCE = Path(__file__).resolve().parents[3]
PAIRS = re.compile(r"commsched\.(all_gather|reduce_scatter|all_reduce|wait) ")
LOWERINGS = LOWERING - {"test-commsched-pack-request-buffers"}


def run(command):
    result = subprocess.run(command, capture_output=True, text=True,
                            timeout=60, check=False)
    text = result.stdout + result.stderr
    if result.returncode not in (0, 1) or "Stack dump" in text:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{text}")
    if result.returncode == 1 and "error:" not in result.stderr:
        sys.exit(f"{' '.join(command)}: fails without an error\n{text}")
    return result


def make_pipeline(run):
    """The report is a pass of the module that no other run is listed as."""
    if run.name == "commsched-report":
        return run.text.removeprefix("func.func(").removesuffix(")")
    return run.text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--turn", type=int, help="a number: the programs take turns")
    parser.add_argument("programs", nargs="+")
    args = parser.parse_args()
    Path(args.folder).mkdir(parents=True, exist_ok=True)
    pipelines = sorted({make_pipeline(run) for run in RUNS} | LOWERINGS)
    kept = 0
    for number, program in enumerate(args.programs):
        subprocess.run([args.opt, program, "-o", "/dev/null"], check=True)
        expected = len(PAIRS.findall(Path(program).read_text()))
        for index, text in enumerate(pipelines):
            if args.turn is not None and (
                    args.turn + index - number) % len(args.programs):
                continue
            text = text.replace("%folder", args.folder)
            text = text.replace("%src", str(SOURCE))
            result = run([args.opt, program, f"--pass-pipeline=builtin.module({text})"])
            if result.returncode or any(name in text for name in LOWERING):
                continue
            kept += 1
            if len(PAIRS.findall(result.stdout)) < expected:
                sys.exit(f"{text} on {program}: starts and waits are lost\n"
                         f"{result.stdout}")
    print(f"{len(pipelines)} runs on {len(args.programs)} programs, "
          f"{kept} of them without an error")


if __name__ == "__main__":
    main()
