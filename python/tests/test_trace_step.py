# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graphs of a traced step: their collectives, and what they compute."""

import operator

import pytest

torch = pytest.importorskip("torch")

import lockstep  # noqa: E402
import seeds  # noqa: E402
import traces  # noqa: E402

from commsched.torch.tracer.partition import PARTITIONERS  # noqa: E402
from decoder_sizes import CONFIGS  # noqa: E402
from torch_llama import Llama  # noqa: E402
from torch_step import StepOptions  # noqa: E402

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


def calls(graph_module, target):
    return graph_module.graph.find_nodes(op="call_function", target=target)


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


def test_joint_graph_holds_both_halves():
    step = trace_tiny(joint=True)
    assert list(step.graphs) == ["joint"]
    joint = step.graphs["joint"]
    assert len(calls(joint, GATHER)) == NUM_PARAMETERS
    assert len(calls(joint, SCATTER)) == NUM_PARAMETERS


def test_replicas_reduce_shards_only():
    step = trace_tiny(replicas=2, shards=2)
    backward = step.graphs["backward"]
    reductions = calls(backward, REDUCE)
    assert len(reductions) == NUM_PARAMETERS
    for node in reductions:
        wait = node.args[0]
        assert wait.args[0].target is SCATTER
        assert node.args[1:] == ("avg", "replicate")
    assert step.groups == {
        "replicate": [[0, 2], [1, 3]],
        "dp": [[0, 1], [2, 3]],
    }


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


def local_inputs(graph_module, model, batches, shards):
    """Each rank's inputs: its shard of each parameter, and its own batch."""
    return [
        lockstep.inputs_of_rank(
            graph_module, model, batch,
            lambda _, whole, rank=rank: whole.chunk(shards)[rank % shards],
        )
        for rank, batch in enumerate(batches)
    ]


@pytest.mark.parametrize(
    "options",
    seeds.turns(
        [
            {"joint": True},
            {"partitioner": "default"},
            {"partitioner": "min-cut"},
            {"reshard_after_forward": False},
            {"replicas": 2, "shards": 2},
        ],
        2,
    ),
    ids=lambda options: "-".join(f"{k}={v}" for k, v in options.items()),
)
def test_traced_step_computes_the_mean_gradient(options):
    """All ranks together do what one model does with all their data."""
    step = trace_tiny(**options)
    shards = options.get("shards", 4)
    torch.manual_seed(0)
    model = Llama(TINY, SEQUENCE)
    shape = (4, 2, 1, SEQUENCE)
    batches = list(torch.randint(TINY.vocab_size, shape))
    if "joint" in step.graphs:
        joint = step.graphs["joint"]
        inputs = local_inputs(joint, model, batches, shards)
        results = lockstep.run(joint, inputs, step.groups)
        losses = [outputs.pop(0) for outputs in results]
        gradients = results
    else:
        losses, gradients = run_halves(step, model, batches, shards)
    expected, summands = lockstep.train_alone(model, batches)
    for own, loss in zip(losses, expected, strict=True):
        torch.testing.assert_close(own, loss, rtol=1e-5, atol=0)
    # Reduced in float32, where bfloat16 gradients would be summed rounded.
    for index, (name, own) in enumerate(summands.items()):
        mean = sum(own) / 4
        got = torch.cat([gradients[rank][index] for rank in range(shards)])
        assert got.dtype == torch.float32
        error = (got - mean).norm() / mean.norm()
        assert error < 2e-3, f"{name}: {error}"


def run_halves(step, model, batches, shards):
    forward, backward = step.graphs["forward"], step.graphs["backward"]
    inputs = local_inputs(forward, model, batches, shards)
    outputs = lockstep.run(forward, inputs, step.groups)
    names = [n.target for n in backward.graph.find_nodes(op="placeholder")]
    inputs = [
        dict(zip(names, [*values[1:], torch.tensor(1.0)], strict=True))
        for values in outputs
    ]
    gradients = lockstep.run(backward, inputs, step.groups)
    return [values[0] for values in outputs], gradients
