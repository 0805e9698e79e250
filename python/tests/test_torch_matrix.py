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


def test_failures_are_shown_with_their_reasons(matrix):
    from table import find_failures, render

    bad = {
        **GOOD,
        "stages": {"imported": 2, "scheduled": 2, "put back": 1},
        "reasons": ["a cycle"],
        "order": "3 of 9 events moved",
        "difference": 3e-7,
    }
    cells = {
        "good": GOOD,
        "bad": bad,
        "ended": {"error": "rank 1: SIGABRT"},
        "hidden": {**GOOD, "graphs": 0},
    }
    data = {"2.13.0": {"a": cells}, "2.15.0": {"a": {"bad": GOOD}}}
    failures = ["2.13.0 a: bad", "2.13.0 a: ended", "2.13.0 a: hidden"]
    assert find_failures(data) == failures
    text = render(data, ["a"], list(cells))
    bad = "put back 1 of 2 (1), within 3e-07, another order (2) / yes"
    ended, hidden = "no (3) / not run", "hidden / not run"
    assert f"| a | yes / not run | {bad} | {ended} | {hidden} |" in text
    assert "1. a cycle\n2. 3 of 9 events moved\n3. rank 1: SIGABRT\n" in text


def test_cases_are_those_of_the_models(matrix):
    pytest.importorskip("torch")
    import adopted_parallelisms  # noqa: F401
    import parallelisms

    assert set(matrix.CASES) == set(parallelisms.CASES)


def test_an_order_that_did_not_run_is_seen(fake_world):
    """What ran is compared, not the graph: here another graph ran."""
    torch = pytest.importorskip("torch")
    import generated_code as order

    c10d, group = torch.ops._c10d_functional, fake_world(2)

    def overlapped(x, y):
        first = c10d.all_gather_into_tensor.default(x, 2, group)
        second = c10d.all_reduce.default(y, "sum", group)
        first = c10d.wait_tensor.default(first)
        return torch.ops.aten.mm.default(first, c10d.wait_tensor.default(second))

    def blocking(x, y):
        first = c10d.all_gather_into_tensor.default(x, 2, group)
        first = c10d.wait_tensor.default(first)
        second = c10d.all_reduce.default(y, "sum", group)
        return torch.ops.aten.mm.default(first, c10d.wait_tensor.default(second))

    x, y = torch.ones(2, 4), torch.ones(4, 4)
    kept, moved = (
        torch.fx.experimental.proxy_tensor.make_fx(function)(x, y)
        for function in (overlapped, blocking)
    )
    events = order.events_of_graph(kept.graph)
    assert events == [
        "all_gather_into_tensor 0", "all_reduce 1", "wait 0", "wait 1", "call mm",
    ]
    for ran, count in ((kept, 0), (moved, 2)):
        with order.recorded_calls() as calls:
            y.mm(y)
            ran(x, y)
        assert order.moved_events(events, calls) == count
    assert order.moved_events(events, []) == len(events)


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
