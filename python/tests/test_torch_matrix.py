# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of parallelisms and ways in: that it is that of its data, and
that a cell is what it says."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
EAGER = "backend, eager"
#: Cells of two ranks with eager kernels, and how many graphs each schedules.
CELLS = {
    ("simple FSDP", EAGER): 2,
    ("simple FSDP, bf16 gathers", EAGER): 2,
    ("replicated parameters", EAGER): 1,
    ("DDP, python_reducer", EAGER): 1,
    ("tensor parallelism", EAGER): 2,
    ("graph breaks", EAGER): 2,
    ("one graph per block", EAGER): 2,
    ("dynamic shapes", EAGER): 2,
    ("dropout and buffers", EAGER): 2,
    # An adopted model, whose blocks are computed again.
    ("FSDP2, full checkpointing", "graph pass"): 2,
}


def good(count):
    """What is seen of a cell that holds."""
    return {
        "graphs": count,
        "stages": dict.fromkeys(("imported", "scheduled", "put back"), count),
        "reasons": [],
        "order": None,
        "difference": 0.0,
    }


@pytest.fixture
def matrix(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "pytorch"))
    import matrix

    return matrix


def test_page_is_that_of_its_data(matrix):
    from table import find_failures, render

    data = json.loads((RESULTS / "data" / "pytorch.json").read_text())
    page = (RESULTS / "pytorch.md").read_text()
    assert page == render(data, matrix.CASES, matrix.WAYS)
    assert find_failures(data) == []


def test_cases_are_those_of_the_models(matrix):
    pytest.importorskip("torch")
    import adopted_parallelisms  # noqa: F401
    import parallelisms

    assert set(matrix.CASES) == set(parallelisms.CASES)


def test_cells(matrix, opt_program, tmp_path):
    """Bit for bit what eager computes, as the script runs them."""
    import sys

    pytest.importorskip("torch")
    seen = {}

    def keep(case, way, data):
        seen[case, way] = data

    matrix.run_cells(sys.executable, 2, list(CELLS), str(tmp_path), keep)
    for cell, count in CELLS.items():
        assert seen[cell] == good(count), cell
