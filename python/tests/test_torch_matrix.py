# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of parallelisms and ways in: that it is that of its data, and
that a cell is what it says."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
#: A cell that holds.
GOOD = {
    "graphs": 2,
    "stages": {"imported": 2, "scheduled": 2, "put back": 2},
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
    """Tensor parallelism and an adopted model, whose blocks are computed again, on
    two ranks, as the script runs them."""
    import sys

    pytest.importorskip("torch")
    seen = {}

    def keep(case, way, data):
        seen[case, way] = data

    cells = [
        ("tensor parallelism", "backend, eager"),
        ("FSDP2, full checkpointing", "graph pass"),
    ]
    matrix.run_cells(sys.executable, 2, cells, str(tmp_path), keep)
    assert seen == dict.fromkeys(cells, GOOD)
