# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched's partitions of joint graphs against those of PyTorch, by
benchmarks/partition, on fewer graphs than there; and that its ruler is right."""

from pathlib import Path

import pytest

from seeds import runs, turns

torch = pytest.importorskip("torch")

FOLDER = Path(__file__).parents[2] / "benchmarks" / "partition"
NUM_RANDOM = 4 * runs()
SMALL = ("MLP", "dropout")


@pytest.fixture
def comparison(monkeypatch):
    """The module that compares; skipped with another PyTorch."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import compare
    import torch_partitioners

    if reason := torch_partitioners.get_skip_reason():
        pytest.skip(reason)
    return compare


def captured(name):
    import cases
    from models import MODELS

    if name in MODELS:
        return cases.capture(name, *MODELS[name])
    return cases.capture_random(int(name))


#: Why graphs differ, by the beginning of the name and the strategy: what is not
#: among these reasons fails, and so does a graph that differs elsewhere.
ALLOWED = {
    ("dropout", "min-cut 0.5"): ("draws random numbers again",),
    ("dropout", "min-cut 0"): ("draws random numbers again",),
    ("random", "min-cut 1"): ("takes transposes for no views",),
    ("random", "min-cut 0.5"): (
        "takes transposes for no views",
        "uses more of the budget",
        "is over the budget",
    ),
}


@pytest.mark.parametrize(
    "name", [*SMALL, *turns(list(map(str, range(NUM_RANDOM))), 2)]
)
def test_every_difference_is_explained(comparison, opt_program, tmp_path, name):
    case = captured(name)
    rows = list(comparison.compare(case, tmp_path))
    assert [row.way for row in rows] == [
        "default", "min-cut 1", "min-cut 0.5", "min-cut 0",
    ]
    for row in rows:
        assert row.mine is not None and row.theirs is not None, row.reason
        if row.verdict == comparison.DIFFERENT:
            allowed = ALLOWED.get((case.name.split()[0], row.way), ())
            assert any(text in (row.reason or "") for text in allowed), row
    assert rows[0].verdict == comparison.SAME


def test_differences_are_seen(comparison, opt_program, tmp_path):
    """CommSched gets the graph with an operator that must be saved."""
    import cases

    subject = comparison.Subject(cases.simplified(captured("MLP")), tmp_path, True)
    text = str(subject._module)
    assert text.count('commsched.name = "gelu"') == 1
    subject._module = _Text(
        text.replace(
            'commsched.name = "gelu"',
            'commsched.name = "gelu", commsched.recompute = "must_save"',
        ),
        subject._module.functions,
    )
    row = subject.compare("min-cut", 0.0)
    assert row.verdict == comparison.DIFFERENT and row.reason is None
    assert "gelu" in row.mine.saved - row.theirs.saved


class _Text(str):
    """The text of a module with the functions that it was."""

    def __new__(cls, text, functions):
        self = super().__new__(cls, text)
        self.functions = functions
        return self


@pytest.mark.parametrize(
    "mine, theirs, budget, reason",
    [
        # (activation bytes, flops, number of operators); 100 bytes at most.
        ((50, 5, 1), (60, 5, 1), 0.5, ""),
        ((50, 5, 1), (40, 6, 1), 0.5, "uses more of the budget"),
        ((50, 5, 1), (40, 5, 2), 0.5, "uses more of the budget"),
        ((50, 5, 1), (40, 5, 1), 0.5, None),
        ((51, 5, 1), (40, 6, 1), 0.5, None),
        ((40, 5, 1), (51, 4, 1), 0.5, "over the budget"),
        ((40, 5, 1), (50, 4, 1), 0.5, None),
        ((40, 5, 1), (30, 6, 1), 1.0, None),
        ((40, 5, 1), (30, 6, 1), 0.0, None),
    ],
)
def test_reasons_that_budgets_give(comparison, mine, theirs, budget, reason):
    from explanations import compare_budgets
    from ruler import Partition

    def make(size, flops, count):
        return Partition(
            frozenset(), size, size, flops, frozenset(range(count))
        )

    found = compare_budgets(
        make(*mine), make(*theirs), budget, make(100, 0, 0)
    )
    if reason:
        assert reason in found
    else:
        assert found == reason


@pytest.fixture
def ruler(comparison):
    """Measures a graph with views, several results and a parameter."""
    import cases
    from ruler import Ruler

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.empty(8, 8))

        def forward(self, x):
            y = (x @ self.weight).view(2, 2, 8).transpose(0, 1)
            return torch.nn.functional.layer_norm(y, [8]).sum()

    return Ruler(cases.capture("m", Model, [(4, 8)]).graph)


def test_views_of_a_storage_are_one(ruler):
    part = ruler.measure(["transpose", "view", "mm"], [], [])
    assert part.saved == {"mm"}
    assert part.saved_bytes == 4 * 8 * 4


def test_parameters_take_nothing(ruler):
    part = ruler.measure(["primals_1", "t", "primals_2"], [], [])
    assert part.saved == {"primals_2"}
    assert part.saved_bytes == 4 * 8 * 4
    assert part.activation_bytes == 0


def test_each_of_several_results_counts(ruler):
    both = ["native_layer_norm#1", "native_layer_norm#2"]
    part = ruler.measure([*both, "getitem_1"], [], [])
    assert part.saved == set(both)
    assert part.saved_bytes == 2 * 4 * 4


def test_what_both_halves_compute_is_repeated(ruler):
    part = ruler.measure([], ["mm", "view", "sum_1"], ["mm", "view", "t"])
    assert part.flops == 2 * 4 * 8 * 8
    assert part.repeated == {"mm"}


@pytest.mark.parametrize(
    "saved, saved_bytes, flops, verdict",
    [
        ({"a", "b"}, 8, 1.0, "same"),
        ({"a", "c"}, 8, 1.0, "no more"),
        ({"a"}, 4, 0.0, "no more"),
        ({"a"}, 4, 2.0, "different"),
        ({"a", "c"}, 9, 0.0, "different"),
    ],
)
def test_verdicts(comparison, saved, saved_bytes, flops, verdict):
    from ruler import Partition

    def make(*facts):
        saved, size, flops = facts
        return Partition(frozenset(saved), size, size, flops, frozenset())

    row = comparison.Row(
        "case", "min-cut", 0.5,
        make(saved, saved_bytes, flops), make({"a", "b"}, 8, 1.0),
    )
    assert row.verdict == verdict
    row.mine = None
    assert row.verdict == "different"


def test_dead_operators_of_the_reference_are_not_counted(comparison):
    """Its default partitioner leaves a random operator in the backward whose
    results are saved."""
    import torch_partitioners

    case = captured("dropout")
    saved, forward, backward, _ = torch_partitioners.run(case, "default")
    drawn = {n for n in forward if n.startswith("native_dropout")}
    assert len(drawn) == 3 and not drawn & backward
    assert len(saved) > 3


def test_the_case_is_left_alone(comparison):
    import cases
    import torch_partitioners

    case = captured("MLP")
    before = case.graph.print_readable(print_output=False)
    metas = [dict(node.meta) for node in case.graph.graph.nodes]
    torch_partitioners.run(cases.simplified(case), "min-cut", 0.5, True)
    torch_partitioners.run(case, "default")
    assert case.graph.print_readable(print_output=False) == before
    assert [dict(node.meta) for node in case.graph.graph.nodes] == metas
