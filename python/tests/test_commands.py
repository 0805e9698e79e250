# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of an installation without programs."""

import os
import pathlib
import subprocess
import sys

import pytest

from commsched import _programs

RUN = "from commsched import _programs; _programs.opt()"


def run_command(*folders):
    package = pathlib.Path(_programs.__file__).resolve().parents[1]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(map(str, folders)),
        "PYTHONPATH": str(package),
    }
    return subprocess.run(
        [sys.executable, "-c", RUN, "--version"], env=environment,
        capture_output=True, text=True, timeout=60, check=False,
    )


pytestmark = pytest.mark.skipif(
    _programs.in_package("commsched-opt") is not None,
    reason="this installation has programs",
)


def test_runs_the_program_on_path(opt_program):
    done = run_command(pathlib.Path(opt_program).resolve().parent)
    assert done.returncode == 0, done.stderr
    assert "CommSched version" in done.stdout


def test_says_that_there_is_none(tmp_path):
    done = run_command(tmp_path)
    assert done.returncode == 1
    assert "none that CMake built is on PATH" in done.stderr


def test_does_not_run_the_command_of_another_installation(tmp_path):
    other = tmp_path / "commsched-opt"
    other.write_text("#!/bin/sh\necho another\n")
    other.chmod(0o755)
    done = run_command(tmp_path)
    assert done.returncode == 1
    assert "has no programs" in done.stderr
