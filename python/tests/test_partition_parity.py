# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched's partitions of joint graphs against those of PyTorch, by
benchmarks/partition, on fewer graphs than there; and that its ruler is right."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

FOLDER = Path(__file__).parents[2] / "benchmarks" / "partition"
NUM_RANDOM = 10
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


@pytest.mark.parametrize("name", [*SMALL, *map(str, range(NUM_RANDOM))])
def test_every_difference_is_explained(comparison, opt_program, tmp_path, name):
    from explanations import explain

    for row in comparison.compare(captured(name), tmp_path):
        assert row.mine is not None and row.theirs is not None, row.reason
        assert row.verdict != comparison.DIFFERENT or explain(row), row


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
        return Partition(frozenset(facts[0]), *facts[1:], frozenset())

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
