#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule the programs in a folder, of whatever compiler, beside XLA's rules.

Takes StableHLO and HLO in every form that `commsched.jax.convert` reads, and
prints a row for each program and scheduler: the simulated step, the tight bound,
exposed communication, the peak of live bytes, the collectives, and the processor
time of scheduling. `merged` programs are those that a model of XLA's combiners
(up to 30 MiB) makes first. A program that cannot be read or scheduled is listed
with the reason.
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks" / "common"), str(ROOT / "python")]

from measured_steps import (  # noqa: E402
    Failure,
    compare_in_folder,
    make_parser,
    print_header,
    print_row,
    rules,
    run,
)

from commsched.forms import needs_conversion  # noqa: E402

ENDINGS = (".hlo", ".mlir", ".mlirbc", ".pb", ".txt")
READ = (
    "--convert-stablehlo-to-commsched",
    "--commsched-set-costs=assume-fusion",
    "--emit-bytecode",
)
COMBINE = rules.buckets("cap-mb=30 mode=coalesced")
BUDGET = "5%"
ON_WRITTEN = (
    f"--latency-hiding=xla-lhs+{BUDGET}={BUDGET}",
    f"--pipeline=ours+{BUDGET}=commsched-pipeline{{memory-budget={BUDGET}}}",
)
ON_MERGED = (ON_WRITTEN[0],)
HEADER = ("program", "scheduler", "step, ms", "bound, ms", "exposed, ms")
HEADER += ("peak, GiB", "collectives", "to schedule, s")


def read(source: pathlib.Path, options: argparse.Namespace, target: pathlib.Path):
    """Writes the program with starts and waits to `target`."""
    if needs_conversion(source.read_bytes()):
        converted = target.with_suffix(".generic.mlir")
        module = ["-m", "commsched.jax.convert", source, "-o", converted]
        run([options.python, *module])
        source = converted
    run([options.opt, source, "-o", target, *READ])


def merge(program: pathlib.Path, options: argparse.Namespace) -> pathlib.Path:
    """Returns the program with the collectives that XLA's combiners merge."""
    merged = program.with_suffix(".merged.mlirbc")
    passes = f"--pass-pipeline=builtin.module({COMBINE})"
    run([options.opt, program, "-o", merged, "--emit-bytecode", passes])
    return merged


def print_peers(label: str, program: pathlib.Path, flags: tuple, options) -> None:
    """Prints the entry function, as each scheduler leaves it."""
    output = run([options.tool, program, *flags])
    lines = [json.loads(line) for line in output.splitlines()]
    names = {line["function"] for line in lines}
    for line in lines:
        if "main" in names and line["function"] != "main":
            continue
        if "error" in line:
            print_row([label, line["peer"], line["error"], *[""] * 5])
            continue
        print_row(
            [label, line["peer"]]
            + [f"{line['step_time_ns'] / 1e6:,.1f}"]
            + [f"{line['tight_lower_bound_ns'] / 1e6:,.1f}"]
            + [f"{line['exposed_comm_ns'] / 1e6:,.1f}"]
            + [f"{line['peak_memory_bytes'] / 2**30:,.2f}"]
            + [f"{line['num_collectives']:,}"]
            + [f"{line['schedule_ms'] / 1e3:,.2f}" if line["peer"] != "input" else ""]
        )


def compare(options: argparse.Namespace, folder: pathlib.Path) -> None:
    print_header(HEADER, 2)
    sources = [
        path
        for path in sorted(options.programs.iterdir())
        if path.suffix in ENDINGS
    ]
    for number, source in enumerate(sources):
        program = folder / f"{number}.mlirbc"
        try:
            read(source, options, program)
            print_peers(source.stem, program, ON_WRITTEN, options)
            merged = merge(program, options)
            print_peers(f"{source.stem}, merged", merged, ON_MERGED, options)
        except Failure as failure:
            print_row([source.stem, str(failure), *[""] * (len(HEADER) - 2)])


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument(
        "programs", type=pathlib.Path, help="folder with the programs"
    )
    return compare_in_folder(compare, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
