# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Roles of placeholders under Dynamo, and parameters that are gathered again
in the backward."""

import pytest
import torch
from torch.utils.checkpoint import CheckpointPolicy
from captures import Capture, aot_backend
from commsched import opt
from commsched.torch.compiling import schedule
from commsched.torch.compiling.backend import commsched
from commsched.torch.compiling.launches import Launches
from commsched.torch.compiling.partition_agreement import (
    launch_in_order,
    repeated_launches,
)
from commsched.torch.compiling.reshard import (
    keep_after_forward,
    repeat_collectives,
    reshard_after_forward,
)
from commsched.torch.compiling.roles import (
    is_parameter,
    parameter_inputs,
    parameter_roles,
    roles_by_position,
)
from commsched.torch.rewriting.errors import PlanError
from compiled_steps import shard
from torch import nn
from torch._functorch.partitioners import (
    default_partition,
    min_cut_rematerialization_partition,
)

GATHER = torch.ops._c10d_functional.all_gather_into_tensor.default


def sharded(world, sizes=(8, 8, 8)):
    """A perceptron with a buffer, its parameters sharded."""
    world(2)
    layers = []
    for inner, outer in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inner, outer), nn.GELU()]
    return shard(nn.Sequential(*layers, nn.BatchNorm1d(sizes[-1])))


def compiled_graphs(model, *inputs, partitioner=None):
    """The joint graph's placeholders, the two graphs and the parameters of a
    training step as `torch.compile` makes them."""
    found, capture = {}, Capture()

    def partition(joint, joint_inputs, **settings):
        found["static"] = settings["static_lifetime_input_indices"]
        found["joint"] = joint
        given = partitioner(found["parameters"]) if partitioner else default_partition
        return given(joint, joint_inputs, **settings)

    def backend(gm, example_inputs):
        found["parameters"] = parameter_inputs(example_inputs)
        return aot_backend(capture, partition_fn=partition)(gm, example_inputs)

    torch._dynamo.reset()
    step = torch.compile(model, backend=backend, fullgraph=True)
    step(*inputs).sum().backward()
    return {**found, **dict(capture.graphs)}


def gathers(gm):
    return sum(node.target is GATHER for node in gm.graph.nodes)


def test_shards_are_parameters(fake_world):
    found = compiled_graphs(sharded(fake_world), torch.randn(4, 8))
    assert len(found["parameters"]) == 6
    for kind in ("joint", "forward"):
        roles = parameter_roles(found[kind].graph, found["parameters"])
        assert len(roles) == 6 and set(roles.values()) == {"parameter"}
    # Those that the partitioner gets have the buffers, too.
    roles = parameter_roles(found["forward"].graph, found["static"])
    assert len(roles) == 9


def first_with(change, partition=default_partition):
    """A maker of partitioners that change the joint graph first; `change` is given
    the graph and the parameters."""

    def partitioner(known):
        def partitioned(joint, inputs, **settings):
            change(joint, known)
            return partition(joint, inputs, **settings)

        return partitioned

    return partitioner


@pytest.mark.parametrize("partitioner, sizes", [
    (default_partition, (8, 8, 8)),
    (min_cut_rematerialization_partition, (8, 8, 8)),
    # Uneven shards are not saved.
    (default_partition, (8, 9, 8)),
])
def test_gathers_come_again_in_the_backward(fake_world, partitioner, sizes):
    model = sharded(fake_world, sizes=sizes)
    x = torch.randn(4, 8)
    plain = compiled_graphs(model, x, partitioner=lambda _: partitioner)
    assert gathers(plain["forward"]) == 6 and gathers(plain["backward"]) == 0
    again = compiled_graphs(
        model, x, partitioner=first_with(reshard_after_forward, partitioner)
    )
    assert gathers(again["forward"]) == 6
    # The first weight has no use in the backward, and biases have none.
    assert gathers(again["backward"]) == 2
    saved = again["forward"].graph.output_node().args[0][4:]
    values = [node.meta.get("val") for node in saved]
    shapes = {tuple(v.shape) for v in values if isinstance(v, torch.Tensor)}
    assert not shapes & {(9, 8), (8, 9)}
    parameters = parameter_roles(again["joint"].graph, again["parameters"])
    assert set(parameters) & {node.name for node in saved}


def test_marks_of_checkpointing_stay(fake_world):
    seen = {}

    def change(joint, known):
        first = next(n for n in joint.graph.nodes if n.target is GATHER)
        first.meta["recompute"] = CheckpointPolicy.MUST_SAVE
        first.meta["ac_graph_id"] = 7
        seen["count"] = reshard_after_forward(joint, known)
        seen["first"] = first.meta["recompute"]
        seen["regions"] = {
            n.meta.get("ac_graph_id")
            for n in joint.graph.nodes
            if n is not first and "recompute" in n.meta
        }

    model = sharded(fake_world)
    compiled_graphs(model, torch.randn(4, 8), partitioner=first_with(change))
    assert seen == {"count": 6, "first": CheckpointPolicy.MUST_SAVE, "regions": {8}}


def test_gathered_parameters_can_be_kept(fake_world):
    """What is marked to be kept is not marked otherwise later."""
    kept = []

    def change(*given):
        kept.append(keep_after_forward(*given))
        reshard_after_forward(*given)

    model = sharded(fake_world)
    found = compiled_graphs(model, torch.randn(4, 8), partitioner=first_with(change))
    assert kept == [6]
    assert gathers(found["backward"]) == 0


def test_positions_name_primals_in_both_halves(fake_world):
    found = compiled_graphs(
        sharded(fake_world),
        torch.randn(4, 8),
        partitioner=first_with(reshard_after_forward),
    )
    roles = parameter_roles(found["joint"].graph, found["parameters"])
    positions = {int(name.split("_")[1]) - 1 for name in roles}
    assert roles_by_position(found["forward"].graph, positions) == roles
    backward = roles_by_position(found["backward"].graph, positions)
    assert backward and set(backward) <= set(roles)


def test_a_parameter_is_a_tensor():
    graph = torch.fx.Graph()
    node = graph.placeholder("primals_1")

    class PlainAOTInput:
        idx = 0

    node.meta["desc"] = PlainAOTInput()
    assert not is_parameter(node, {0})
    node.meta["val"] = torch.empty(1)
    assert is_parameter(node, {0}) and not is_parameter(node, {1})
    assert not is_parameter(node)


def test_other_ranks_collectives_are_repeated(fake_world):
    """Which gathers come again, and in which order, is what another rank
    says."""
    chosen = ["all_gather_into_tensor_2"]
    found = compiled_graphs(
        sharded(fake_world), torch.randn(4, 8),
        partitioner=first_with(lambda joint, _: repeat_collectives(joint, chosen)),
    )
    backward = found["backward"]
    names = list(Launches.of(backward.graph).names)
    assert list(repeated_launches(found["joint"].graph, names)) == chosen
    scatters = [name for name in names if name not in chosen]
    others = [*scatters[:2], *chosen, *scatters[2:]]
    if others == names:
        others = [*chosen, *scatters]
    launch_in_order(backward, others)
    assert list(Launches.of(backward.graph).names) == others
    with pytest.raises(PlanError, match="'None'|all_gather"):
        launch_in_order(backward, scatters)


# -- Under Dynamo parameters are inputs like others; the ways in say which are
# parameters, so that sharded ones are recognized.


pytestmark = pytest.mark.usefixtures("opt_program")

WIDTH, LAYERS = 64, 3
PARAMETERS = 2 * LAYERS


@pytest.fixture
def texts(monkeypatch):
    """The modules that were scheduled, by kind of graph."""
    found = {}
    original = schedule.schedule_text

    def listen(text, *options):
        name = text[text.index("func.func @") + 11 :].partition("(")[0]
        found[name] = text
        return original(text, *options)

    monkeypatch.setattr(schedule, "schedule_text", listen)
    return found


@pytest.fixture
def model(fake_world):
    fake_world(4)
    layers = (nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
    return shard(nn.Sequential(*layers), dtype=torch.bfloat16)


def recognized(text):
    """How many collectives of each kind test-commsched-annotate-fsdp knows."""
    marked = opt.run(text, "--test-commsched-annotate-fsdp")
    return {
        kind: marked.count(f'commsched.fsdp = "{kind}"')
        for kind in ("parameter_gather", "gradient_scatter")
    }


def train(model, **options):
    options = {"inner": "eager", "strict": True, **options}
    step = torch.compile(model, backend=commsched, options=options)
    loss = step(torch.randn(8, WIDTH, dtype=torch.bfloat16)).sum()
    if loss.requires_grad:
        loss.backward()


def test_forward_and_backward(model, texts):
    train(model)
    counts = recognized(texts["forward"]), recognized(texts["backward"])
    assert counts == (
        {"parameter_gather": PARAMETERS, "gradient_scatter": 0},
        {"parameter_gather": 0, "gradient_scatter": PARAMETERS},
    )
    # Inputs are none.
    text = texts["forward"]
    header = text[text.index("func.func") :].splitlines()[0]
    assert header.count('"parameter"') == PARAMETERS
    assert header.count('"input"') == 1
    model.requires_grad_(False)
    train(model)
    assert recognized(texts["inference"])["parameter_gather"] == PARAMETERS


def test_what_the_backward_takes_over(model, texts):
    """A shard that is gathered again in the backward is a parameter there."""
    train(model, reshard_after_forward=True)
    found = recognized(texts["backward"])
    # The first layer's weight is needed for the input's gradient only.
    assert found["parameter_gather"] == LAYERS - 1
    assert found["gradient_scatter"] == PARAMETERS
