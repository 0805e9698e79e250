# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared by the benchmarks that compare schedulers step by step."""

import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "testsupport" / "rules"))

import rules  # noqa: E402

#: What mpirun has to be told where it runs as root.
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


class Failure(Exception):
    """A step could not be traced or measured; the text says why."""


def run(command: list, limit: float | None = None, **options) -> str:
    """The output of a program, which may take `limit` seconds."""
    try:
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=limit,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise Failure(f"not done in {limit:g} s") from error
    if result.returncode:
        lines = result.stderr.strip().splitlines()
        raise Failure(lines[-1] if lines else f"status {result.returncode}")
    return result.stdout


def make(arguments: Sequence[str], path: pathlib.Path) -> pathlib.Path:
    """Writes the step that make_step.py makes of these options; the path."""
    program = ROOT / "testsupport" / "steps" / "make_step.py"
    path.write_text(run([sys.executable, program, *arguments]), encoding="utf-8")
    return path


def bucket_blocks(opt: str, program: pathlib.Path) -> str:
    """The passes that merge the collectives of each transformer block."""
    text = run([opt, program, "--mlir-print-debuginfo=false"])
    plan = rules.plan_blocks(rules.find_modules(text))
    return rules.buckets(f"mode=auto plan={plan}")


def processor_seconds() -> float:
    """The processor time of all programs that have ended so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def trace(python: str, opt: str, arguments: Sequence, path: pathlib.Path):
    """The path of a traced step, which is made if it is not there; `arguments`
    are those of examples/models/torch_step.py."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        paths = [str(ROOT / "python"), os.environ.get("PYTHONPATH")]
        changes = {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "COMMSCHED_OPT": str(opt),
        }
        program = ROOT / "examples" / "models" / "torch_step.py"
        run([python, program, *arguments, "-o", path], env=os.environ | changes)
    return path


def traced(
    steps: Mapping[str, Sequence], options: argparse.Namespace, folder: pathlib.Path
) -> Iterator[tuple[str, pathlib.Path]]:
    """The labels that `--steps` matches, each with its traced step. Those in
    the folder `--traces`, if one is given, are not made again."""
    for label, arguments in steps.items():
        if re.search(options.steps, label):
            name = re.sub(r"\W+", "-", label.lower())
            path = pathlib.Path(options.traces or folder) / f"{name}.mlirbc"
            yield label, trace(options.python, options.opt, arguments, path)


def print_row(cells: Iterable) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_header(columns: Sequence, texts: int = 1) -> None:
    """Of a table whose first columns are texts and whose others are numbers."""
    print_row(columns)
    print_row(["---"] * texts + ["---:"] * (len(columns) - texts))


def list_steps(batches: Sequence[int]) -> Iterator[tuple[str, list]]:
    """Labels and the options of make_step.py: sharded models of three sizes, of
    which a batch is in the label where there are several, hybrid sharding, and a
    mixture of experts."""
    for model in ("8b", "70b", "405b"):
        for dp in (8, 64, 512):
            for batch in batches:
                options = [f"--model={model}", f"--dp={dp}", f"--batch={batch}"]
                label = f"{model}, {dp} ranks"
                yield label + f", batch {batch}" * (len(batches) > 1), options
    for model, dp in (("8b", 8), ("70b", 64)):
        options = [f"--model={model}", f"--dp={dp}", "--replicas=8"]
        yield f"{model}, {dp} ranks x 8 replicas", options
    options = ["--model=moe-8x7b", "--dp=64", "--ep=8"]
    yield "moe-8x7b, 64 ranks, 8 for experts", options


def make_parser(description: str) -> argparse.ArgumentParser:
    """The options that name programs and steps."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    add = parser.add_argument
    built = ROOT / "build" / "bin"
    add("--tool", default=str(built / "commsched-peers"))
    add("--opt", default=str(built / "commsched-opt"))
    add("--python", default=sys.executable, help="one that has PyTorch")
    add("--steps", default=".", help="only the steps whose label this matches")
    return parser


def compare_in_folder(
    compare: Callable[[argparse.Namespace, pathlib.Path], None],
    options: argparse.Namespace,
) -> int:
    """Calls `compare` with a temporary folder. The exit status."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            compare(options, pathlib.Path(folder))
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
