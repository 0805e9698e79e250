# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps with expert parallelism, or with tensor and sequence parallelism: what
they compute, their collectives, and the sizes that the device decides."""

import functools
import re

import pytest
import torch
import lockstep
import seeds
import torch_experts as models
import traces
from decoder_sizes import CONFIGS
from torch_llama import Llama
from torch_step import StepOptions

#: Of a group of experts, and of the parts of a tensor.
WIDTH = 2
EXPERTS, DENSE = models.EXPERTS_CONFIGS["experts-tiny"], CONFIGS["llama3-tiny"]
SEQUENCES = {"experts": 32, "tensor": 16}


def options(kind, shards=1, **others):
    others = {"sequence": SEQUENCES[kind], kind: WIDTH, **others}
    if kind == "experts":
        return StepOptions("experts-tiny", shards, **others)
    return StepOptions("llama3-tiny", shards, **{"layers": 1, **others})


def part(kind, name, whole, rank, ranks):
    """What `rank` has of a parameter or its gradient."""
    if kind == "experts" and ".experts." not in name:
        return whole.chunk(ranks)[rank]
    if "norm" not in name or kind == "experts":
        dim = int(kind == "tensor" and bool(re.search(r"\.w[o2]\.", name)))
        whole = whole.chunk(WIDTH, dim)[rank % WIDTH]
    return whole.chunk(ranks // WIDTH)[rank // WIDTH]


@pytest.mark.parametrize("kind, shards, batch", [
    *seeds.turns([("experts", 1, 1), ("experts", 2, 1)], 1),
    *seeds.turns([("tensor", 1, 1), ("tensor", 1, 2), ("tensor", 2, 1)], 1),
])
def test_the_ranks_compute_the_gradient_of_all_tokens(kind, shards, batch):
    """All ranks together do what one model does with all their data, however
    unevenly a router spreads the tokens."""
    given = options(kind, shards, batch=batch, joint=True)
    own = range(WIDTH if kind == "tensor" else 1)
    steps = [traces.step(given, rank) for rank in own]
    torch.manual_seed(0)
    if kind == "experts":
        model = models.ExpertsModel(EXPERTS, SEQUENCES[kind])
    else:
        model = Llama(DENSE.with_layers(1), SEQUENCES[kind])
    ranks = shards * WIDTH
    # Ranks that have parts of one tensor have the same data.
    alike = WIDTH if kind == "tensor" else 1
    shape = (ranks // alike, 2, batch, SEQUENCES[kind])
    batches = list(torch.randint(model.config.vocab_size, shape))
    graphs = [steps[rank % len(steps)].graphs["joint"] for rank in range(ranks)]
    inputs = [
        lockstep.inputs_of_rank(
            graph, model, batches[rank // alike],
            functools.partial(part, kind, rank=rank, ranks=ranks),
        )
        for rank, graph in enumerate(graphs)
    ]
    results = lockstep.run_each(graphs, inputs, steps[0].groups)
    losses, gradients = lockstep.train_alone(model, batches)
    for rank in range(ranks):
        expected = losses[rank // alike]
        if kind == "experts":
            expected = expected / ranks
        torch.testing.assert_close(results[rank][0], expected, rtol=1e-3, atol=0)
        for index, (name, summands) in enumerate(gradients.items()):
            mean = sum(summands) / len(batches)
            got = results[rank][1 + index]
            difference = got - part(kind, name, mean, rank, ranks)
            size = mean if kind == "experts" else part(kind, name, mean, rank, ranks)
            error = difference.norm() / size.norm()
            assert error < 2e-2, f"{name} of rank {rank}: {error}"


# -- Experts -----------------------------------------------------------------


@pytest.fixture(scope="module")
def text():
    return traces.text(options("experts"))


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
    rows = SEQUENCES["experts"] * EXPERTS.top_k
    # Three in the forward, twice as many in the backward.
    expected = 2.0 * rows * EXPERTS.dim * EXPERTS.expert_dim
    assert list(map(float, products)) == [expected] * 9


def test_rows_of_a_rank(text):
    """As many as it has, if routing is balanced; with imbalance, this one has
    more: of its 64 it keeps 48, and it gets 48 of the other rank, 96 in all."""
    imbalanced = options("experts", imbalance=1.5)
    assert list(traces.step(imbalanced).hints.values()) == [48, 48, 96]
    products = r'"aten\._grouped_mm".*size_hints = array<i64: (\d+)>'
    for of_step, rows in ((text, "64"), (traces.text(imbalanced), "96")):
        assert re.findall(products, of_step)[:3] == [rows] * 3


# -- Tensors -----------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 2])
def test_collectives_stand_beside_the_products(batch):
    """No operation copies what is gathered or is to be scattered, whatever
    the batch is."""
    text = traces.text(options("tensor", batch=batch))
    forward, backward = text.split("func.func @")[1:]
    assert "aten.cat" not in text and "aten.split" not in forward
    # Attention, the feed-forward network, the output projection.
    assert forward.count("commsched.all_gather ") == 3
    # Behind the embedding, attention and the feed-forward network.
    assert forward.count("commsched.reduce_scatter ") == 3
    # The gradients of what was gathered are scattered.
    assert backward.count("commsched.reduce_scatter ") == 3
    shape = f"{SEQUENCES['tensor'] // WIDTH}x{batch}x{DENSE.dim}xbf16"
    assert re.search(rf"all_gather .*: tensor<{shape}> ->", forward)
    # The logits are never whole: only sums and maxima are reduced.
    assert f"x{DENSE.vocab_size}x" not in text
    assert re.findall(r"all_reduce .*reduction\((\w+)\)", forward) == [
        "max", "sum", "sum"
    ]


def test_both_kinds_of_parallelism_have_groups():
    text = traces.text(options("tensor", shards=4), 4)
    assert re.search(r"@\w*tp size\(2\) ranks_per_node\(2\)\n", text)
    assert re.search(r"@\w*dp size\(4\) ranks_per_node\(2\) stride\(2\)", text)
