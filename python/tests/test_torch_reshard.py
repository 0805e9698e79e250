# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Roles of placeholders under Dynamo, and parameters that are gathered again
in the backward."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch._functorch.partitioners import (
    default_partition,
    min_cut_rematerialization_partition,
)
from torch.distributed.device_mesh import init_device_mesh

from commsched import opt
from commsched.torch import GraphSpec, import_graphs
from commsched.torch.compiling.reshard import (
    keep_after_forward,
    reshard_after_forward,
    resharding,
)
from commsched.torch.compiling.roles import (
    is_parameter,
    parameter_inputs,
    parameter_roles,
    roles_by_position,
)
from commsched.torch.sharding import MixedPrecision, shard_parameters

GATHER = torch.ops._c10d_functional.all_gather_into_tensor.default
PARTITIONERS = [default_partition, min_cut_rematerialization_partition]


def sharded(world, sizes=(8, 8, 8), ranks=2, dtype=torch.float32):
    """A perceptron with a buffer, its parameters sharded."""
    world(ranks)
    layers = []
    for inner, outer in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inner, outer), nn.GELU()]
    model = nn.Sequential(*layers, nn.BatchNorm1d(sizes[-1]))
    mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("dp",))
    shard_parameters(model, mesh, MixedPrecision(dtype, torch.float32))
    return model


def compiled_graphs(model, *inputs, partitioner=None):
    """The joint graph's placeholders, the two graphs and the parameters of a
    training step as `torch.compile` makes them."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    found = {}

    def keep(kind):
        def compile_graph(gm, _):
            found[kind] = gm
            return make_boxed_func(gm.forward)

        return compile_graph

    def partition(joint, joint_inputs, **settings):
        found["static"] = settings["static_lifetime_input_indices"]
        found["joint"] = joint
        given = partitioner(found["parameters"]) if partitioner else (
            default_partition
        )
        return given(joint, joint_inputs, **settings)

    def backend(gm, example_inputs):
        found["parameters"] = parameter_inputs(example_inputs)
        return aot_autograd(
            fw_compiler=keep("forward"),
            bw_compiler=keep("backward"),
            partition_fn=partition,
        )(gm, example_inputs)

    torch._dynamo.reset()
    step = torch.compile(model, backend=backend, fullgraph=True)
    step(*inputs).sum().backward()
    return found


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


def test_all_collectives_of_parameters_are_found(fake_world, opt_program):
    found = compiled_graphs(
        sharded(fake_world),
        torch.randn(4, 8),
        partitioner=lambda known: resharding(default_partition, known),
    )
    for kind, role, count in (
        ("forward", "parameter_gather", 6),
        ("backward", "parameter_gather", 2),
        ("backward", "gradient_scatter", 6),
    ):
        gm = found[kind]
        roles = parameter_roles(gm.graph, found["parameters"])
        spec = GraphSpec(kind, gm, kind, roles)
        text = opt.run(import_graphs([spec]), "--test-commsched-annotate-fsdp")
        assert text.count(f'commsched.fsdp = "{role}"') == count, text


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_gathers_come_again_in_the_backward(fake_world, partitioner):
    model = sharded(fake_world)
    x = torch.randn(4, 8)
    plain = compiled_graphs(model, x, partitioner=lambda _: partitioner)
    assert gathers(plain["forward"]) == 6 and gathers(plain["backward"]) == 0
    again = compiled_graphs(
        model, x, partitioner=lambda known: resharding(partitioner, known)
    )
    assert gathers(again["forward"]) == 6
    # The first weight has no use in the backward, and biases have none.
    assert gathers(again["backward"]) == 2


def test_uneven_shards_are_not_saved(fake_world):
    model = sharded(fake_world, sizes=(8, 9, 8))
    found = compiled_graphs(
        model,
        torch.randn(4, 8),
        partitioner=lambda known: resharding(default_partition, known),
    )
    assert gathers(found["backward"]) == 2
    saved = found["forward"].graph.output_node().args[0][4:]
    parameters = set(
        parameter_roles(found["joint"].graph, found["parameters"])
    )
    assert parameters & {node.name for node in saved}
    assert not any(
        isinstance(value := node.meta.get("val"), torch.Tensor)
        and tuple(value.shape) in {(9, 8), (8, 9)}
        for node in saved
    )


def test_marks_of_checkpointing_stay(fake_world):
    from torch.utils.checkpoint import CheckpointPolicy

    model = sharded(fake_world)
    seen = {}

    def partitioner(known):
        def partition(joint, inputs, **settings):
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
            return default_partition(joint, inputs, **settings)

        return partition

    compiled_graphs(model, torch.randn(4, 8), partitioner=partitioner)
    assert seen["count"] == 6
    assert seen["first"] is CheckpointPolicy.MUST_SAVE
    assert seen["regions"] == {8}


def test_gathered_parameters_can_be_kept(fake_world):
    model = sharded(fake_world)
    kept = {}

    def partitioner(known):
        def partition(joint, inputs, **settings):
            kept["count"] = keep_after_forward(joint, known)
            return resharding(default_partition, known)(
                joint, inputs, **settings
            )

        return partition

    found = compiled_graphs(model, torch.randn(4, 8), partitioner=partitioner)
    assert kept["count"] == 6
    assert gathers(found["backward"]) == 0


def test_positions_name_primals_in_both_halves(fake_world):
    found = compiled_graphs(
        sharded(fake_world),
        torch.randn(4, 8),
        partitioner=lambda known: resharding(default_partition, known),
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
    from commsched.torch.compiling.partition_agreement import (
        launch_in_order,
        repeated_launches,
    )
    from commsched.torch.compiling.launches import Launches
    from commsched.torch.compiling.reshard import repeat_collectives
    from commsched.torch.rewriting.errors import PlanError

    chosen = ["all_gather_into_tensor_2"]

    def partitioner(_):
        def partition(joint, inputs, **settings):
            repeat_collectives(joint, chosen)
            return default_partition(joint, inputs, **settings)

        return partition

    found = compiled_graphs(
        sharded(fake_world), torch.randn(4, 8), partitioner=partitioner
    )
    backward = found["backward"]
    names = list(Launches.of(backward.graph).names)
    joint = found["joint"].graph
    assert list(repeated_launches(joint, names)) == chosen
    scatters = [name for name in names if name not in chosen]
    others = [*scatters[:2], *chosen, *scatters[2:]]
    if others == names:
        others = [*chosen, *scatters]
    launch_in_order(backward, others)
    assert list(Launches.of(backward.graph).names) == others
    with pytest.raises(PlanError, match="'None'|all_gather"):
        launch_in_order(backward, scatters)
