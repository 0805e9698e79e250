# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which parallelisms work in which way in, with which version of PyTorch.

    COMMSCHED_OPT=build/bin/commsched-opt PYTHONPATH=python \\
      python benchmarks/pytorch/matrix.py --python .venv/bin/python ...

Trains each case of parallelisms.py on gloo ranks in each way, with the PyTorch
of each `--python`, and writes what was seen to docs/results/data/pytorch.json
and as a table to docs/results/pytorch.md. Cells that the data has are not run
again, unless `--again` is given; without `--python` the table is written from
the data. Ends with 1 if there is a cell that does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from table import WAYS, find_failures, render

FOLDER = Path(__file__).parent
RESULTS = FOLDER.parents[1] / "docs" / "results"
CELLS = FOLDER / "cells.py"
SUPPORT = FOLDER.parents[1] / "testsupport"

#: The names of cases, read without PyTorch.
CASES = tuple(
    name
    for file in ("parallelisms.py", "adopted_parallelisms.py")
    for name in re.findall(
        r'^@case\("(.*)"\)$', (SUPPORT / file).read_text(), re.MULTILINE
    )
)
#: Ranks of a case; two for those that are not here.
RANKS = dict.fromkeys(
    ("HSDP", "FSDP2 over HSDP", "FSDP2 x tensor parallelism"), 4
)


def version_of(python: str) -> str:
    """Returns the release of PyTorch that `python` has, such as 2.13.0."""
    program = "import torch; print(torch.__version__.partition('+')[0])"
    done = subprocess.run(
        [python, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def write(data: dict) -> str:
    """JSON with a line for each version and case."""
    versions = []
    for version in sorted(data):
        cases = [
            f"{json.dumps(case)}: {json.dumps(cells, sort_keys=True)}"
            for case, cells in sorted(data[version].items())
        ]
        versions.append(f"{json.dumps(version)}: {{\n" + ",\n".join(cases) + "}")
    return "{\n" + ",\n".join(versions) + "}\n"


def run_cells(
    python: str, count: int, cells: Sequence[tuple], cache: str, keep: Callable
) -> None:
    """Runs `cells`, pairs of a case and a way, on `count` ranks, and calls
    `keep(case, way, seen)` for each. Cells share their processes until one of
    them fails; the rest gets new ones."""
    pending = list(cells)
    while pending:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "lines")
            names = [name for cell in pending for name in cell]
            done = subprocess.run(
                [python, str(CELLS), str(file), str(count), *names],
                env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache},
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
            lines = file.read_text().splitlines() if file.exists() else []
        ran = 0
        for data in map(json.loads, lines):
            cell = data.pop("case"), data.pop("way")
            if data and cell in pending[ran:]:
                keep(*cell, data)
                ran = pending.index(cell) + 1
        if done.returncode and (not lines or len(json.loads(lines[-1])) == 2):
            reason = " ".join(done.stdout.split())[:400]
            keep(*pending[ran], {"error": reason or "no result"})
            ran += 1
        pending = pending[max(ran, 1) :]


def measure(pythons: Sequence[str], args, data: dict, file: Path) -> None:
    """Runs the cells that `data` lacks, and writes `file` after each run."""
    for python in pythons:
        version = version_of(python)
        known = data.setdefault(version, {})

        def keep(case, way, seen, known=known, version=version):
            known.setdefault(case, {})[way] = seen
            file.write_text(write(data))
            print(f"{version} {case}: {way}", flush=True)

        by_ranks: dict[int, list] = {}
        for case in args.case or CASES:
            for way in args.way or WAYS:
                if args.again or way not in known.get(case, {}):
                    cells = by_ranks.setdefault(RANKS.get(case, 2), [])
                    cells.append((case, way))
        for count, cells in by_ranks.items():
            with tempfile.TemporaryDirectory() as folder:
                cache = f"{args.cache}/{version}" if args.cache else folder
                run_cells(python, count, cells, cache, keep)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--python", action="append", default=[], metavar="FILE",
        help="a Python with PyTorch; may be given several times")
    add("--case", action="append", choices=CASES, help="only these cases")
    add("--way", action="append", choices=WAYS, help="only these ways")
    add("--again", action="store_true", help="run what the data has too")
    add("--cache", metavar="FOLDER", help="where compiled kernels are kept")
    add("--results", type=Path, default=RESULTS, metavar="FOLDER",
        help="where the table and the data are")
    args = parser.parse_args()
    file = args.results / "data" / "pytorch.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    data = json.loads(file.read_text()) if file.exists() else {}
    measure(args.python, args, data, file)
    if not data:
        sys.exit("there is no data: give --python")
    (args.results / "pytorch.md").write_text(render(data, CASES, WAYS))
    if failures := find_failures(data):
        sys.exit("these do not hold:\n" + "\n".join(failures))


if __name__ == "__main__":
    main()
