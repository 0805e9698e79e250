# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joint graphs that CommSched partitions, in one process."""

import copy
import warnings

import pytest
import torch
from torch._higher_order_ops.effects import _EffectType, _register_effectful_op
from torch._functorch import config
import commsched.torch as cs
import partitioned
from graphs import calls
from commsched.torch.compiling import records
from commsched.torch.compiling.options import Options, OptionsError
from commsched.torch.compiling.partitioner import Partitioner
from commsched.torch.compiling.schedule import ScheduleError
from commsched.torch.private import partition as private
from commsched.torch.rewriting.errors import PlanError, RewriteError
from commsched.torch.rewriting.halves import split_joint
from commsched.torch.rewriting.partition import Partition, Quantized
from commsched.torch.rewriting.verify_halves import verify_halves
from partitioned import MODELS, Trained, are_equal, joint_graph
from torch import fx
from torch._functorch import partitioners
from torch._functorch.partitioners import (
    default_partition,
    min_cut_rematerialization_partition,
)
from torch.fx.experimental._backward_state import BackwardState
from torch.fx.experimental.symbolic_shapes import ShapeEnv

def trained(name, partitioner=None, /, **options):
    model, inputs, dynamic = partitioned.case(name)
    if partitioner is None:
        partitioner = Partitioner(Options(strict=True, **options))
    return Trained(model, inputs, partitioner, dynamic)


@pytest.fixture(autouse=True)
def sizes_from_values():
    names = ("capture_scalar_outputs", "capture_dynamic_output_shape_ops")
    with torch._dynamo.config.patch(dict.fromkeys(names, True)):
        yield


@pytest.mark.parametrize("name", MODELS)
def test_steps_are_equal(opt_program, name):
    wanted = trained(name, default_partition)
    for options in ({"partition": "default"}, {"activation_memory_budget": 0.0}):
        found = trained(name, **options)
        assert are_equal(found.values, wanted.values), options
        if name not in ("dynamic", "outputs"):
            assert found.saved_bytes <= wanted.saved_bytes


def test_the_budget_is_kept(opt_program):
    most = trained("attention", partition="min-cut").saved_bytes
    sizes = [
        trained("attention", activation_memory_budget=budget).saved_bytes
        for budget in (0.7, 0.3)
    ]
    assert sizes[0] <= 0.7 * most and sizes[1] <= 0.3 * most
    assert sizes[1] < sizes[0]


def test_what_is_saved_is_explained(opt_program):
    found = trained(
        "attention",
        activation_memory_budget=0.3,
        quantize_activations={"size_in_mb": 0, "allowed_dtypes": "f32"},
    )
    (record,) = records.records()
    text = str(record)
    assert "partitioned by this rank's plan" in text
    assert f"saves {found.saved_bytes / 1024:.3g} KiB of activations" in text
    assert "launches 0 collectives again" in text
    assert "tensors in 8 bits" in text


def test_marks_of_checkpointing_are_kept(opt_program):
    found = trained("checkpointed", partition="min-cut")
    names = {node.name for node in found.saved}
    assert {"addmm", "addmm_1"} <= names
    # Dropout runs again with the state that it had.
    backward = [str(node.target) for node in found.backward.graph.nodes]
    assert "run_with_rng_state" in backward
    assert not any(name.startswith("native_dropout") for name in names)


def test_marks_make_the_default_a_minimum_cut(opt_program):
    found = trained("checkpointed", partition="default")
    (record,) = records.records()
    (note,) = [n for n in record.notes if "minimum cut" in n]
    assert "in place of partition='default'" in note
    records.reset()
    cut = trained("checkpointed", partition="min-cut")
    assert [n.name for n in found.saved] == [n.name for n in cut.saved]
    assert are_equal(found.values, cut.values)
    (record,) = records.records()
    assert not any("minimum cut" in note for note in record.notes)


def test_operators_are_counted_as_pytorch_does(opt_program, monkeypatch):
    lines = []

    def write(text, *arguments):
        lines.append(text % arguments)

    for log, method in ((records.log, "debug"), (partitioners.log, "info")):
        monkeypatch.setattr(log, method, write)
    monkeypatch.setattr(records.log, "isEnabledFor", lambda level: True)
    found = trained("checkpointed", partition="min-cut")
    counts = [line for line in lines if line.startswith("operators ")]
    lines.clear()
    partitioners._count_ops(found.forward.graph)
    partitioners._count_ops(found.backward.graph)
    assert counts[:2] == [
        f"operators of the {half}: {line}"
        for half, line in zip(("forward", "backward"), lines, strict=True)
    ]
    assert counts[2].startswith("operators that both compute: [('")


def test_views_are_taken_again(opt_program):
    found = trained("attention", partition="default")
    storages = [node.meta["val"].untyped_storage()._cdata for node in found.saved]
    assert len(storages) == len(set(storages))
    assert not any("view" in str(node.target) for node in found.saved)


def test_random_operators_run_once(opt_program):
    """And sizes of the device are computed once."""
    found = trained("perceptron", activation_memory_budget=0.0)
    draw = torch.ops.aten.native_dropout.default
    assert sum(len(calls(half, draw)) for half in (found.forward, found.backward)) == 1
    found = trained("outputs", activation_memory_budget=0.0)
    assert not calls(found.backward, torch.ops.aten.nonzero.default)


def test_what_is_repeated_comes_right_before_its_use(opt_program):
    found = trained("perceptron", activation_memory_budget=0.0)
    forward = {node.name for node in found.forward.graph.nodes}
    again = [
        node.name in forward
        for node in found.backward.graph.nodes
        if node.op == "call_function"
    ]
    assert True in again[again.index(False) :]


def test_effects_happen_once(opt_program):
    noted = []

    @torch.library.custom_op("commsched_tests::note", mutates_args=())
    def note(x: torch.Tensor) -> torch.Tensor:
        noted.append(x.shape)
        return x.clone()

    note.register_fake(torch.empty_like)
    note.register_autograd(lambda _, gradient: gradient)
    _register_effectful_op(torch.ops.commsched_tests.note.default, _EffectType.ORDERED)

    class Noted(torch.nn.Linear):
        def forward(self, x):
            return note(super().forward(x).tanh()).tanh()

    torch.manual_seed(0)
    model, inputs = Noted(8, 8), [torch.randn(4, 8)] * 2
    options = Options(strict=True, activation_memory_budget=0.0)
    found = Trained(model, inputs, Partitioner(options))
    assert len(noted) == len(inputs)
    assert are_equal(found.values, partitioned.train(model, model, inputs))


def test_names_and_metadata_stay(opt_program):
    model, inputs, _ = partitioned.case("attention")
    seen = {}

    def partition(joint, joint_inputs, **settings):
        seen.update({n.name: dict(n.meta) for n in joint.graph.nodes})
        return Partitioner(
            Options(strict=True, activation_memory_budget=0.0)
        )(joint, joint_inputs, **settings)

    found = Trained(model, inputs, partition)
    for half in (found.forward, found.backward):
        for node in half.graph.nodes:
            if node.op == "output":
                continue
            assert node.name in seen
            for key in ("nn_module_stack", "stack_trace", "desc"):
                assert node.meta.get(key) == seen[node.name].get(key)


def test_without_options_pytorch_partitions():
    found = trained("attention")
    wanted = trained("attention", min_cut_rematerialization_partition)
    assert [n.name for n in found.saved] == [n.name for n in wanted.saved]
    assert not records.records()


def test_a_graph_that_fails_is_left_to_pytorch(monkeypatch):
    monkeypatch.setenv("COMMSCHED_OPT", "/nowhere/commsched-opt")
    wanted = trained("perceptron", min_cut_rematerialization_partition)
    loose = Partitioner(Options(activation_memory_budget=0.5))
    with pytest.warns(records.CommSchedWarning, match="/nowhere") as caught:
        found = trained("perceptron", loose)
    assert [n.name for n in found.saved] == [n.name for n in wanted.saved]
    assert are_equal(found.values, wanted.values)
    assert len(caught) == 1
    (record,) = records.records()
    assert record.kind == "joint" and record.status == "failed"
    with warnings.catch_warnings():
        warnings.simplefilter("error", records.CommSchedWarning)
        trained("perceptron", loose)
    with pytest.raises(Exception, match="/nowhere") as raised:
        trained("perceptron", activation_memory_budget=0.5)
    assert isinstance(raised.value.inner_exception, ScheduleError)


def test_a_setting_of_pytorch_that_is_not_known_is_respected(opt_program):
    with (
        config.patch(enable_activation_offloading=True),
        pytest.raises(Exception, match="enable_activation_offloading"),
    ):
        trained("perceptron", activation_memory_budget=0.5)


# -- the plan ----------------------------------------------------------------


def saved_by(forward, count):
    return {n.name for n in forward.graph.output_node().args[0][count:]}


def test_plans_are_text():
    plan = Partition(("a", "b"), (Quantized("a", "f8E5M2", True),), ("b",))
    assert Partition.from_json(plan.to_json()) == plan
    with pytest.raises(PlanError, match="version 9"):
        Partition.from_json('{"version":9}')
    with pytest.raises(PlanError, match="not a partition"):
        Partition.from_json("[]")


def test_a_foreign_plan_fits():
    """Names that are not there are skipped, and nothing is computed again
    that may not be."""
    joint, count = joint_graph("perceptron")
    forward, _ = split_joint(joint, Partition(("nothing", "addmm")), count)
    saved = saved_by(forward, count)
    assert "addmm" in saved and "nothing" not in saved
    drawn = [n for n in joint.graph.nodes if "dropout" in str(n.target)]
    items = {user.name for node in drawn for user in node.users}
    assert items & saved


@pytest.mark.parametrize("half", [1, 2], ids=["forward", "backward"])
def test_a_wrong_half_is_found(half):
    joint, *halves, count = halves_of()
    verify_halves(joint, *halves, count)
    aten = torch.ops.aten
    product = next(
        node
        for node in halves[half - 1].graph.nodes
        if node.target in (aten.addmm.default, aten.mm.default)
    )
    left, right = product.args[-2:]
    product.args = (*product.args[:-2], right, left)
    with pytest.raises(RewriteError, match="another value"):
        verify_halves(joint, *halves, count)


def halves_of(name="attention"):
    """A joint graph, its halves by PyTorch, and how many outputs are the
    forward's."""
    joint, count = joint_graph(name)
    halves = default_partition(copy.deepcopy(joint), (), num_fwd_outputs=count)
    return joint, *halves, count


def test_a_value_that_is_not_saved_is_found():
    joint, forward, backward, count = halves_of()
    output = forward.graph.output_node()
    place = next(
        index
        for index, node in enumerate(output.args[0])
        if index >= count and node.op != "placeholder"
    )
    name = output.args[0][place].name
    output.args = (output.args[0][:place] + output.args[0][place + 1 :],)
    with pytest.raises(RewriteError, match=f"'{name}', which the forward"):
        verify_halves(joint, forward, backward, count)


def test_effects_in_both_halves_are_found():
    joint, forward, backward, count = halves_of("perceptron")
    target = torch.ops.aten.native_dropout.default
    drawn, *_ = calls(forward, target)
    tangent = backward.graph.find_nodes(op="placeholder")[-1]
    with backward.graph.inserting_after(tangent):
        backward.graph.create_node(
            "call_function", target, (tangent, 0.3, True), {}, drawn.name
        )
    with pytest.raises(RewriteError, match="runs in both"):
        verify_halves(joint, forward, backward, count)


# -- Inductor ----------------------------------------------------------------


def test_inductor_takes_the_partitioner(opt_program, monkeypatch, tmp_path):
    # A graph from the cache of an earlier run is not partitioned again.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    model, inputs, _ = partitioned.case("deep")
    wanted = partitioned.train(torch.compile(model), model, inputs)
    torch._dynamo.reset()
    records.reset()
    step = torch.compile(
        model,
        options=cs.inductor_options(strict=True, activation_memory_budget=0.0),
    )
    found = partitioned.train(step, model, inputs)
    assert are_equal(found, wanted)
    (record,) = [r for r in records.records() if r.kind == "joint"]
    assert record.status == "scheduled"


def test_inductor_has_one_partitioner():
    own = {"custom_partitioner_fn": Partitioner(Options())}
    assert cs.inductor_options(own)["custom_partitioner_fn"] is own[
        "custom_partitioner_fn"
    ]
    with pytest.raises(OptionsError, match="leave out one"):
        cs.inductor_options(own, reshard_after_forward=True)
    assert "custom_partitioner_fn" not in cs.inductor_options()
    # The key names what decides.
    keys = {
        cs.inductor_options(**{name: value})["custom_partitioner_fn"].uuid()
        for name, value in (
            ("partition", "min-cut"),
            ("activation_memory_budget", 0.5),
            ("collectives", "cost"),
            ("reshard_after_forward", True),
            ("quantize_activations", True),
        )
    }
    assert len(keys) == 5


# -- What the partitioner asks PyTorch's own partitioners about a joint graph.


def graph_with(value):
    """A graph that returns its only input, which holds `value`."""
    graph = fx.Graph()
    node = graph.placeholder("given")
    node.meta["val"] = value
    graph.output((node,))
    return fx.GraphModule(torch.nn.Module(), graph), node


def test_the_state_of_a_backward_hook_is_left_to_pytorch():
    gm, _ = graph_with(BackwardState())
    assert "'given' is the state of a compiled backward hook" in private.refusal(gm)
    gm, _ = graph_with(torch.empty(2))
    assert private.refusal(gm) is None


def test_numbers_that_only_assertions_read_are_not_handed_over():
    size = ShapeEnv().create_unbacked_symint()
    _, node = graph_with(size)
    assert private.is_number(node)
    for read in (False, True):
        graph = fx.Graph()
        node = graph.placeholder("given")
        node.meta["val"] = size > 3
        graph.call_function(torch.ops.aten._assert_scalar.default, (node, "too small"))
        graph.output((node,) if read else ())
        assert private.is_number(node) == read
