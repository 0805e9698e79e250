# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps with tensor and sequence parallelism: what they compute, and their
collectives."""

import functools
import re

import pytest

torch = pytest.importorskip("torch")

import lockstep  # noqa: E402
import seeds  # noqa: E402
import traces  # noqa: E402

from decoder_sizes import CONFIGS  # noqa: E402
from torch_llama import Llama  # noqa: E402
from torch_step import StepOptions  # noqa: E402

TINY = CONFIGS["llama3-tiny"]
SEQUENCE = 16
TENSOR = 2


def options(**others):
    others = {"layers": 1, "sequence": SEQUENCE, "tensor": TENSOR, **others}
    return StepOptions("llama3-tiny", others.pop("shards", 1), **others)


def tensor_dim(name):
    """The dimension of a weight that is split over the ranks of a tensor."""
    if "norm" in name:
        return None
    return 1 if re.search(r"\.w[o2]\.", name) else 0


def part(name, whole, rank, shards):
    """What `rank` has of a parameter or its gradient."""
    dim = tensor_dim(name)
    if dim is not None:
        whole = whole.chunk(TENSOR, dim)[rank % TENSOR]
    return whole.chunk(shards)[rank // TENSOR]


@pytest.mark.parametrize(
    "shards, batch", seeds.turns([(1, 1), (1, 2), (2, 1)], 1)
)
def test_the_ranks_compute_the_mean_gradient(shards, batch):
    """All ranks together do what one model does with all their data."""
    steps = [
        traces.step(options(shards=shards, batch=batch, joint=True), rank)
        for rank in range(TENSOR)
    ]
    torch.manual_seed(0)
    model = Llama(TINY.with_layers(1), SEQUENCE)
    batches = list(
        torch.randint(TINY.vocab_size, (shards, 2, batch, SEQUENCE))
    )
    ranks = range(shards * TENSOR)
    graphs = [steps[rank % TENSOR].graphs["joint"] for rank in ranks]
    inputs = []
    for rank, graph in zip(ranks, graphs):
        get_part = functools.partial(part, rank=rank, shards=shards)
        own = batches[rank // TENSOR]
        inputs.append(lockstep.inputs_of_rank(graph, model, own, get_part))
    results = lockstep.run_each(graphs, inputs, steps[0].groups)
    losses, gradients = lockstep.train_alone(model, batches)
    for rank in ranks:
        expected = losses[rank // TENSOR]
        torch.testing.assert_close(
            results[rank][0], expected, rtol=1e-3, atol=0
        )
        for index, (name, own) in enumerate(gradients.items()):
            mean = part(name, sum(own) / shards, rank, shards)
            got = results[rank][1 + index]
            assert got.dtype == torch.float32
            error = (got - mean).norm() / mean.norm()
            assert error < 2e-2, f"{name} of rank {rank}: {error}"


def text_of(function, text):
    return text.split(f"func.func @{function}")[1].split("\nfunc.func")[0]


@pytest.mark.parametrize("batch", [1, 2])
def test_collectives_stand_beside_the_products(batch):
    """No operation copies what is gathered or is to be scattered, whatever
    the batch is."""
    text = traces.text(options(batch=batch))
    forward, backward = text_of("forward", text), text_of("backward", text)
    assert "aten.cat" not in text and "aten.split" not in forward
    # Attention, the feed-forward network, the output projection.
    assert forward.count("commsched.all_gather ") == 3
    # Behind the embedding, attention and the feed-forward network.
    assert forward.count("commsched.reduce_scatter ") == 3
    # The gradients of what was gathered are scattered.
    assert backward.count("commsched.reduce_scatter ") == 3
    shape = f"{SEQUENCE // TENSOR}x{batch}x{TINY.dim}xbf16"
    assert re.search(rf"all_gather .*: tensor<{shape}> ->", forward)
    # The logits are never whole: only sums and maxima are reduced.
    assert f"x{TINY.vocab_size}x" not in text
    assert re.findall(r"all_reduce .*reduction\((\w+)\)", forward) == [
        "max", "sum", "sum"
    ]


def test_both_kinds_of_parallelism_have_groups():
    text = traces.text(options(shards=4), 4)
    assert re.search(r"@\w*tp size\(2\) ranks_per_node\(2\)\n", text)
    assert re.search(r"@\w*dp size\(4\) ranks_per_node\(2\) stride\(2\)", text)
