# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched's partitions of joint graphs, its order of the backward and its
conversion of saved values against those of PyTorch, by testsupport/partitions, on
fewer graphs than there."""

import pytest
import torch
import cases
import compare_partitions
import rewrites
import torch_partitioners
from commsched.torch import Options, Partitioner, ScheduleError
from graphs import node_of
from partition_models import MODELS
from seeds import runs, turns
from torch_partitioners import OWN_DEFAULT

FAMILIES = ("random", "seeded", "marked")
RANDOM = [f"{FAMILIES[i % 3]} {i}" for i in range(6 * runs())]
SMALL = ("MLP", "dropout")
#: One whose added factors leave a view what it cannot show, and one in which
#: operators are rather saved, but none is to be computed again.
RARE = ("seeded 69", "marked 354")


@pytest.fixture
def comparison():
    """The module that compares; skipped with another PyTorch."""
    if reason := torch_partitioners.get_skip_reason():
        pytest.skip(reason)
    return compare_partitions


def captured(name):
    if name in MODELS:
        return cases.capture(name, *MODELS[name])
    family, seed = name.split()
    return cases.FAMILIES[family](int(seed))


CUT = ("takes transposes for no views",)
BUDGET = (*CUT, "uses more of the budget", "is over the budget", "keeps the budget")
SEEDS = ("saves what needs a seed of the backward, and fails",)
MARKS = (
    *SEEDS,
    "takes no notice of PREFER_SAVE",
    "none of several results between regions",
    "saves no view between regions",
    "several results as one, and fails",
)
#: Why graphs differ, by the beginning of the name and the strategy: what is not
#: among these reasons fails, and so does a graph that differs elsewhere.
ALLOWED = {
    ("dropout", "min-cut 0.5"): ("draws random numbers again",),
    ("dropout", "min-cut 0"): ("draws random numbers again",),
    ("random", "min-cut 1"): CUT,
    ("random", "min-cut 0.5"): BUDGET,
    ("seeded", "min-cut 1"): CUT + SEEDS,
    ("seeded", "min-cut 0.5"): BUDGET + SEEDS,
    ("seeded", "min-cut 0"): (*SEEDS, "saves nothing at budget 0"),
    ("marked", "default"): CUT + MARKS,
    ("marked", "min-cut 1"): CUT + MARKS,
    ("marked", "min-cut 0.5"): BUDGET + MARKS,
    ("marked", "min-cut 0"): (*MARKS, "saves nothing at budget 0"),
    ("marked", OWN_DEFAULT): ("saves what has no mark", "and fails"),
}


@pytest.mark.parametrize("name", [*SMALL, *RARE, *turns(RANDOM, 3)])
def test_every_difference_is_explained(comparison, opt_program, tmp_path, name):
    case = captured(name)
    rows = list(comparison.compare(case, tmp_path))
    ways = ["default", "min-cut 1", "min-cut 0.5", "min-cut 0"]
    assert [row.way for row in rows] == ways + [OWN_DEFAULT] * case.is_marked
    for row in rows:
        assert row.mine is not None, row.reason
        if row.verdict == comparison.DIFFERENT:
            allowed = ALLOWED.get((case.name.split()[0], row.way), ())
            assert any(text in (row.reason or "") for text in allowed), row
    if not case.is_marked:
        assert rows[0].verdict == comparison.SAME


@pytest.mark.parametrize("name", turns(RANDOM, 3))
def test_both_halves_are_rewritten_alike(comparison, opt_program, name):
    """An order is the same without exceptions; of saved values in 8 bits, what
    differs is known."""
    order = rewrites.compare_order(captured(name))
    assert order.same and order.count > 5, order
    family, seed = name.split()
    narrow = cases.FAMILIES[family](int(seed), torch.bfloat16)
    found = rewrites.compare_quantization(narrow, rewrites.Settings(0.01, True))
    allowed = {rewrites.SMALL, rewrites.SEEDS} if family != "random" else set()
    assert found.same or found.reasons and set(found.reasons) <= allowed, found
    assert found.count > 1


@pytest.mark.parametrize("partition", ["default", "min-cut"])
def test_seeds_stay_with_their_half(comparison, opt_program, partition):
    """Through the partitioner that torch.compile gets."""
    case = captured("seeded 1")
    forward, backward = Partitioner(Options(partition=partition, strict=True))(
        case.graph, (), num_fwd_outputs=1
    )

    def seeds(half):
        names = [n.name for n in half.graph.find_nodes(op="placeholder")]
        return [n for n in names if n.endswith("_0")], names

    assert seeds(forward)[0] == ["fwd_seed_0", "fwd_base_offset_0"]
    own, names = seeds(backward)
    assert names[-2:] == own[-2:] == ["bwd_seed_0", "bwd_base_offset_0"]
    saved = [n.name for n in forward.graph.output_node().args[0][1:]]
    assert names[: len(saved)] == saved


def test_a_seed_of_the_backward_that_the_forward_reads_is_named(
    comparison, opt_program
):
    case = captured("seeded 1")
    graph = case.graph.graph
    seed = node_of(case.graph, "bwd_seed_0")
    results = list(graph.output_node().args[0])
    loss = results[0]
    with graph.inserting_before(graph.output_node()):
        user = graph.call_function(torch.ops.aten.mul.Tensor, (loss, seed))
        results[0] = graph.call_function(torch.ops.aten.sin.default, (user,))
    user.meta = results[0].meta = dict(loss.meta)
    graph.output_node().args = (results,)
    case.graph.recompile()
    with pytest.raises(ScheduleError) as error:
        Partitioner(Options(partition="min-cut", strict=True))(
            case.graph, (), num_fwd_outputs=1
        )
    for text in (
        f"'{results[0].name}' is a result of the forward",
        "'bwd_seed_0' is a random state that only the backward has",
        f"'{user.name}' reads it",
    ):
        assert text in str(error.value)
