# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graphs of a traced step: their collectives, and what they compute."""

import operator

import pytest
import torch
import lockstep
import seeds
import traces
from commsched.torch import sharding
from commsched.torch.tracer.mesh import fake_mesh
from commsched.torch.tracer.partition import PARTITIONERS
from decoder_sizes import CONFIGS, LlamaConfig
from graphs import calls
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch_experts import EXPERTS_CONFIGS, ExpertsModel
from torch_llama import Llama
from torch_step import StepOptions

c10d = torch.ops._c10d_functional
GATHER = c10d.all_gather_into_tensor.default
SCATTER = c10d.reduce_scatter_tensor.default
REDUCE = c10d.all_reduce.default
TINY = CONFIGS["llama3-tiny"]
#: Embedding, final norm, output projection, and nine in each layer.
NUM_PARAMETERS = 3 + 9 * TINY.num_layers
SEQUENCE = 16


def trace_tiny(**options):
    options = {"shards": 4, "sequence": SEQUENCE, **options}
    return traces.step(StepOptions("llama3-tiny", **options))


def module_path(node):
    stack = node.meta.get("nn_module_stack")
    stack = stack or node.meta["fwd_nn_module_stack"]
    return list(stack.values())[-1][0]


def parameter_paths():
    with torch.device("meta"):
        model = Llama(TINY, SEQUENCE)
    return [n.removesuffix(".weight") for n, _ in model.named_parameters()]


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_one_gather_and_one_reduce_scatter_for_each_parameter(partitioner):
    step = trace_tiny(partitioner=partitioner)
    forward, backward = step.graphs["forward"], step.graphs["backward"]
    gathers = calls(forward, GATHER)
    assert sorted(map(module_path, gathers)) == sorted(parameter_paths())
    assert not calls(forward, SCATTER)
    # The gradient of an embedding does not need the table itself.
    again = calls(backward, GATHER)
    assert sorted(map(module_path, again)) == sorted(parameter_paths()[1:])
    scatters = calls(backward, SCATTER)
    assert len(scatters) == NUM_PARAMETERS
    assert sorted(map(module_path, scatters)) == sorted(parameter_paths())
    for node in gathers + again:
        assert node.args[1:] == (4, "dp")
        assert node.meta["val"].dtype == torch.bfloat16
    for node in scatters:
        assert node.args[1:] == ("avg", 4, "dp")
        assert node.meta["val"].dtype == torch.float32
    gradients = backward.graph.output_node().args[0]
    assert [n.args[0].target for n in gradients] == [SCATTER] * NUM_PARAMETERS
    assert step.groups == {"dp": [[0, 1, 2, 3]]}


def test_backward_gathers_just_before_use():
    backward = trace_tiny().graphs["backward"]
    nodes = list(backward.graph.nodes)
    matmul = torch.ops.aten.mm.default
    first_matmul = next(n for n in nodes if n.target is matmul)
    before = [n for n in calls(backward, GATHER) if n < first_matmul]
    assert len(before) <= 1


def test_parameters_stay_gathered_without_resharding():
    step = trace_tiny(reshard_after_forward=False)
    assert len(calls(step.graphs["forward"], GATHER)) == NUM_PARAMETERS
    assert not calls(step.graphs["backward"], GATHER)
    assert len(calls(step.graphs["backward"], SCATTER)) == NUM_PARAMETERS


def test_replicas_reduce_shards_only():
    step = trace_tiny(replicas=2, shards=2)
    backward = step.graphs["backward"]
    reductions = calls(backward, REDUCE)
    assert len(reductions) == NUM_PARAMETERS
    for node in reductions:
        wait = node.args[0]
        assert wait.args[0].target is SCATTER
        assert node.args[1:] == ("avg", "replicate")
    assert step.groups == {"replicate": [[0, 2], [1, 3]], "dp": [[0, 1], [2, 3]]}


def test_one_rank_has_no_collectives():
    step = trace_tiny(shards=1)
    assert step.groups == {}
    for graph_module in step.graphs.values():
        for target in (GATHER, SCATTER, REDUCE):
            assert not calls(graph_module, target)


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_nothing_saved_is_a_view(partitioner):
    """Two views of one storage would count as two in the backward."""
    forward = trace_tiny(partitioner=partitioner).graphs["forward"]
    for node in forward.graph.output_node().args[0][1:]:
        if node.target is operator.getitem:
            node = node.args[0]
        is_view = getattr(node.target, "is_view", False)
        assert not is_view, node.name


def test_attention_is_the_kernel_of_a_gpu():
    step = trace_tiny()
    flash = torch.ops.aten._scaled_dot_product_flash_attention.default
    query, key = calls(step.graphs["forward"], flash)[0].args[:2]
    assert query.meta["val"].shape[1] == TINY.num_heads
    assert key.meta["val"].shape[1] == TINY.num_kv_heads


@pytest.mark.parametrize("replicas, shards", seeds.turns([(1, 4), (2, 2)], 1))
def test_traced_step_computes_the_mean_gradient(replicas, shards):
    """All ranks together do what one model does with all their data. Halves are
    what test_trace_optimizer.py trains with."""
    step = trace_tiny(replicas=replicas, shards=shards, joint=True)
    torch.manual_seed(0)
    model = Llama(TINY, SEQUENCE)
    batches = list(torch.randint(TINY.vocab_size, (4, 2, 1, SEQUENCE)))
    joint = step.graphs["joint"]
    inputs = [
        lockstep.inputs_of_rank(
            joint, model, batch,
            lambda _, whole, rank=rank: whole.chunk(shards)[rank % shards],
        )
        for rank, batch in enumerate(batches)
    ]
    results = lockstep.run(joint, inputs, step.groups)
    losses = [outputs.pop(0) for outputs in results]
    expected, summands = lockstep.train_alone(model, batches)
    for own, loss in zip(losses, expected, strict=True):
        torch.testing.assert_close(own, loss, rtol=1e-5, atol=0)
    # Reduced in float32, where bfloat16 gradients would be summed rounded.
    for index, (name, own) in enumerate(summands.items()):
        mean = sum(own) / 4
        got = torch.cat([results[rank][index] for rank in range(shards)])
        assert got.dtype == torch.float32
        error = (got - mean).norm() / mean.norm()
        assert error < 2e-3, f"{name}: {error}"


# -- The Llama model against an independent reference, and its sharding.


LENGTH = 24


def make_model():
    torch.manual_seed(0)
    return Llama(TINY, LENGTH)


@pytest.mark.parametrize("make, config, parameters", [
    (Llama, CONFIGS["llama3-8b"], 8_030_261_248),
    (Llama, CONFIGS["llama3-70b"], 70_553_706_496),
    (ExpertsModel, EXPERTS_CONFIGS["deepseek-v3-16b"], 15_706_484_224),
    (ExpertsModel, EXPERTS_CONFIGS["mixtral-8x7b"], 46_702_792_704),
])
def test_published_parameter_counts(make, config, parameters):
    with torch.device("meta"):
        model = make(config, 16)
    assert sum(p.numel() for p in model.parameters()) == parameters


@pytest.mark.parametrize("sizes, message", [
    ((2, 128, 3, 1, 448, 512), "num_heads 3 does not divide dim 128"),
    ((2, 128, 8, 3, 448, 512), "num_kv_heads 3 does not divide num_heads"),
    ((2, 24, 8, 8, 448, 512), "head dimension 3 is odd"),
    ((0, 128, 8, 2, 448, 512), "num_layers must be positive, got 0"),
])
def test_impossible_sizes_are_errors(sizes, message):
    with pytest.raises(ValueError, match=message):
        LlamaConfig(*sizes)


def test_sharded_model_computes_in_bfloat16_and_keeps_float32():
    """One real rank: the values of a model whose parameters are bfloat16."""
    plain, sharded = make_model(), make_model()
    for parameter in plain.parameters():
        parameter.data = parameter.data.bfloat16()
    tokens, labels = torch.randint(TINY.vocab_size, (2, 2, LENGTH))
    expected = plain(tokens, labels)
    expected.backward()
    with fake_mesh({"dp": 1}) as mesh:
        sharding.shard_parameters(sharded, mesh)
        loss = sharded(tokens, labels)
        loss.backward()
        assert torch.equal(loss, expected)
        for (name, own), other in zip(
            sharded.named_parameters(), plain.parameters(), strict=True
        ):
            assert isinstance(own, DTensor) and own.dtype == torch.float32
            grad = own.grad.to_local()
            assert grad.dtype == torch.float32
            assert torch.equal(grad, other.grad.float()), name


def test_shards_hold_the_first_rank_slice():
    model = make_model()
    full = {n: p.detach().clone() for n, p in model.named_parameters()}
    with fake_mesh({"dp": 6}) as mesh:  # 6 divides no parameter.
        sharding.shard_parameters(model, mesh)
        for name, parameter in model.named_parameters():
            local = parameter.to_local()
            assert parameter.shape == full[name].shape
            assert local.shape[0] == -(-full[name].shape[0] // 6)
            assert torch.equal(local, full[name][: local.shape[0]])


def test_what_cannot_be_sharded_is_an_error():
    shared = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    shared[1].weight = shared[0].weight
    scalar = nn.Module()
    scalar.scale = nn.Parameter(torch.tensor(1.0))
    layer = nn.Linear(4, 4)
    with fake_mesh({"dp": 4}) as mesh:
        # Once, in two places.
        sharding.shard_parameters(nn.Sequential(layer, layer), mesh)
        assert isinstance(layer._parameters["weight"], DTensor)
        unnamed = DeviceMesh("cpu", torch.arange(4).view(2, 2))
        for module, on, error in (
            (shared, mesh, "'1.weight' is shared with '0."),
            (scalar, mesh, "'scale' has no dimension"),
            (layer, mesh, "'weight' is sharded already"),
            (nn.Linear(4, 4), unnamed, "2 dimensions without names"),
        ):
            with pytest.raises(ValueError, match=error):
                sharding.shard_parameters(module, on)
        # Nothing was sharded before the error.
        assert not isinstance(shared[0].weight, DTensor)
        assert type(shared[0]) is nn.Linear
        with pytest.raises(RuntimeError, match="already initialized"):
            with fake_mesh({"dp": 2}):
                pass
