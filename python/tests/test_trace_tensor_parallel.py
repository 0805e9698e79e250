# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps with tensor and sequence parallelism: what they compute, and their
collectives."""

import re

import pytest

torch = pytest.importorskip("torch")

import lockstep  # noqa: E402
from torch._functorch._aot_autograd.descriptors import (  # noqa: E402
    BufferAOTInput,
    PlainAOTInput,
    SubclassGetAttrAOTInput,
)

from commsched import opt  # noqa: E402
from commsched.torch import trace  # noqa: E402
from commsched.torch.tracer import models  # noqa: E402
from commsched.torch.tracer.step import StepOptions, trace_step  # noqa: E402

TINY = models.CONFIGS["llama3-tiny"]
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


def part(name, whole, tensor_rank):
    dim = tensor_dim(name)
    return whole if dim is None else whole.chunk(TENSOR, dim)[tensor_rank]


def own_inputs(graph_module, model, batch, rank, shards):
    """The inputs of `rank`: its part of each parameter, and its batch."""
    values = {}
    for node in graph_module.graph.find_nodes(op="placeholder"):
        source = node.meta["desc"]
        if isinstance(source, SubclassGetAttrAOTInput):
            name = re.sub(r"^_orig\.", "", source.base.target)
            whole = model.get_parameter(name).detach()
            own = part(name, whole, rank % TENSOR)
            value = own.chunk(shards)[rank // TENSOR]
        elif isinstance(source, BufferAOTInput):
            value = model.get_buffer(source.target)
        elif isinstance(source, PlainAOTInput):
            value = batch[source.idx]
        else:  # The seed of the backward.
            value = torch.tensor(1.0)
        values[node.target] = value
    return values


@pytest.mark.parametrize("shards, batch", [(1, 1), (1, 2), (2, 1)])
def test_the_ranks_compute_the_mean_gradient(shards, batch):
    """All ranks together do what one model does with all their data."""
    steps = [
        trace_step(options(shards=shards, batch=batch, joint=True), rank)
        for rank in range(TENSOR)
    ]
    torch.manual_seed(0)
    model = models.build(TINY.with_layers(1), SEQUENCE)
    batches = list(
        torch.randint(TINY.vocab_size, (shards, 2, batch, SEQUENCE))
    )
    ranks = range(shards * TENSOR)
    graphs = [steps[rank % TENSOR].graphs["joint"] for rank in ranks]
    inputs = [
        own_inputs(graph, model, batches[rank // TENSOR], rank, shards)
        for rank, graph in zip(ranks, graphs)
    ]
    results = lockstep.run_each(graphs, inputs, steps[0].groups)
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16()
    losses = [model(tokens, labels) for tokens, labels in batches]
    names, parameters = zip(*model.named_parameters())
    gradients = [torch.autograd.grad(loss, parameters) for loss in losses]
    for rank in ranks:
        expected = losses[rank // TENSOR]
        torch.testing.assert_close(
            results[rank][0], expected, rtol=1e-3, atol=0
        )
        for index, name in enumerate(names):
            mean = sum(own[index].float() for own in gradients) / shards
            mean = part(name, mean, rank % TENSOR)
            mean = mean.chunk(shards)[rank // TENSOR]
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
    text = str(trace.trace_module(options(batch=batch)))
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
    text = str(trace.trace_module(options(shards=4), 4))
    assert re.search(r"@\w*tp size\(2\) ranks_per_node\(2\)\n", text)
    assert re.search(r"@\w*dp size\(4\) ranks_per_node\(2\) stride\(2\)", text)


@pytest.mark.skipif(opt.find() is None, reason="commsched-opt is not on PATH")
@pytest.mark.parametrize(
    "args",
    [["--tp", "2"], ["--tp", "2", "--dp", "3", "--replicas", "2"],
     ["--tp", "2", "--joint", "--batch", "3"]],
    ids=" ".join,
)
def test_commsched_opt_accepts_every_variant(args, capsys):
    tiny = ["--model", "llama3-tiny", "--seq", "32", "--layers", "1"]
    assert trace.main([*tiny, *args]) == 0
    opt.run(capsys.readouterr().out)


@pytest.mark.parametrize(
    "sizes, message",
    [
        ({"tensor": 3}, "tensor 3 does not divide sequence 16"),
        ({"tensor": 4}, "tensor 4 does not divide num_kv_heads 2"),
        ({"tensor": 0}, "tensor must be positive, got 0"),
    ],
)
def test_sizes_that_are_not_divided_are_errors(sizes, message):
    with pytest.raises(ValueError, match=message):
        options(**sizes)
    if sizes["tensor"]:
        tp = str(sizes["tensor"])
        args = ["--model", "llama3-tiny", "--seq", "16", "--tp", tp]
        assert trace.main(args) == 1
