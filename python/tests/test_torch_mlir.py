# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch-mlir reads what the passes make of its modules."""

import os
import pathlib
import shutil
import subprocess

import pytest

from commsched import opt

INPUTS = (
    pathlib.Path(__file__).parents[2] / "test" / "OperationTables" / "Inputs"
)
PASSES = (
    (),
    ("--commsched-raise-comms",),
    ("--commsched-schedule",),
)

pytestmark = pytest.mark.usefixtures("opt_program")


@pytest.fixture
def torch_mlir_opt():
    """The path of torch-mlir-opt, of the wheel torch-mlir."""
    name = os.environ.get("TORCH_MLIR_OPT", "torch-mlir-opt")
    program = shutil.which(name)
    if program is None:
        pytest.skip("no torch-mlir-opt: set TORCH_MLIR_OPT or PATH")
    return program


def declared(text):
    """The module with its group, whose size all-reduces do not say."""
    first = '"builtin.module"() ({\n'
    assert first in text
    return text.replace(first, first + 'commsched.group @"0" size(4)\n')


def undeclared(text):
    lines = text.splitlines(keepends=True)
    return "".join(each for each in lines if "commsched.group" not in each)


@pytest.mark.parametrize("passes", PASSES, ids=lambda p: p[0] if p else "none")
@pytest.mark.parametrize(
    "path", sorted(INPUTS.glob("torch-*.mlir")), ids=lambda p: p.stem
)
def test_torch_mlir_reads_the_result(path, passes, torch_mlir_opt):
    text = path.read_text()
    result = undeclared(opt.run(declared(text), *passes, timeout=60))
    read = subprocess.run(
        [torch_mlir_opt, "-"],
        input=result,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert read.returncode == 0, read.stderr
    for operation in ("all_gather_into_tensor", "all_reduce", "wait_tensor"):
        name = f'"torch._c10d_functional.{operation}"'
        assert read.stdout.count(name) == text.count(name)
    if path.stem == "torch-fsdp" and passes:
        assert result != undeclared(opt.run(declared(text), timeout=60))
