# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps with expert parallelism: what they compute, their collectives, and
the sizes that the device decides."""

import functools
import re

import pytest

torch = pytest.importorskip("torch")

import lockstep  # noqa: E402
import seeds  # noqa: E402
import traces  # noqa: E402

import torch_experts as models  # noqa: E402
from torch_step import StepOptions  # noqa: E402

TINY = models.EXPERTS_CONFIGS["experts-tiny"]
SEQUENCE = 32
EXPERTS = 2


def options(**others):
    others = {"sequence": SEQUENCE, "experts": EXPERTS, **others}
    return StepOptions("experts-tiny", others.pop("shards", 1), **others)


def build(config):
    torch.manual_seed(0)
    return models.ExpertsModel(config, SEQUENCE)


def part(name, whole, rank, ranks):
    """What `rank` has of a parameter or its gradient."""
    if ".experts." in name:
        own = whole.chunk(EXPERTS)[rank % EXPERTS]
        return own.chunk(ranks // EXPERTS)[rank // EXPERTS]
    return whole.chunk(ranks)[rank]


@pytest.mark.parametrize("shards", seeds.turns([1, 2], 1))
def test_the_ranks_compute_the_gradient_of_all_tokens(shards):
    """All ranks together do what one model does with all their data, however
    unevenly its router spreads the tokens."""
    step = traces.step(options(shards=shards, joint=True))
    joint = step.graphs["joint"]
    model = build(TINY)
    ranks = shards * EXPERTS
    batches = list(torch.randint(TINY.vocab_size, (ranks, 2, 1, SEQUENCE)))
    inputs = []
    for rank, batch in enumerate(batches):
        get_part = functools.partial(part, rank=rank, ranks=ranks)
        inputs.append(lockstep.inputs_of_rank(joint, model, batch, get_part))
    results = lockstep.run(joint, inputs, step.groups)
    losses, gradients = lockstep.train_alone(model, batches)
    for rank in range(ranks):
        torch.testing.assert_close(
            results[rank][0], losses[rank] / ranks, rtol=1e-3, atol=0
        )
        for index, (name, own) in enumerate(gradients.items()):
            mean = sum(own) / ranks
            expected = part(name, mean, rank, ranks)
            got = results[rank][1 + index]
            error = (got - expected).norm() / mean.norm()
            assert error < 2e-2, f"{name} of rank {rank}: {error}"


@pytest.fixture(scope="module")
def text():
    return traces.text(options())


def test_rows_travel_there_and_back(text):
    forward, backward = text.split("func.func @backward")
    # The counts, the rows, what is computed of them; the last two again.
    assert forward.count("commsched.all_to_all ") == 3
    assert backward.count("commsched.all_to_all ") == 2
    assert re.search(r"@\w*ep size\(2\)", text)
    # Other parameters are sharded over all ranks, in a group of their own.
    assert re.search(r"@\w*all size\(2\)", text)
    assert not re.search(r"all_gather .*experts", text)
    # Permutations are undone by gathers: nothing is added up.
    assert "index_put" not in text.split("embedding_dense")[0]


def test_products_of_the_experts_have_flops(text):
    products = re.findall(r'"aten\._grouped_mm".*flops = ([0-9.e+]+)', text)
    rows = SEQUENCE * TINY.top_k
    # Three in the forward, twice as many in the backward.
    expected = 2.0 * rows * TINY.dim * TINY.expert_dim
    assert list(map(float, products)) == [expected] * 9


def rows_of_products(text):
    products = r'"aten\._grouped_mm".*size_hints = array<i64: (\d+)>'
    return re.findall(products, text)[:3]


def test_balanced_routing_gives_a_rank_as_many_rows_as_it_has(text):
    assert rows_of_products(text) == [str(SEQUENCE * TINY.top_k)] * 3


def test_imbalance_gives_this_rank_more_rows():
    step = traces.step(options(imbalance=1.5))
    # Of its 64 rows it keeps 48, and it gets 48 of the other rank, 96 in all.
    assert list(step.hints.values()) == [48, 48, 96]
    assert rows_of_products(traces.text(options(imbalance=1.5))) == ["96"] * 3
