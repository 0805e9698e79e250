# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a joint graph is to a partitioner: which outputs are the forward's,
what each argument is, operations with several results."""

import re
from contextlib import ExitStack

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch._functorch._aot_autograd import descriptors  # noqa: E402
from torch._functorch.aot_autograd import (  # noqa: E402
    aot_export_joint_with_descriptors,
)

from graphs import build, fake_trace  # noqa: E402

from commsched.torch import (  # noqa: E402
    GraphImportError,
    GraphSpec,
    import_graph_module,
)

aten = torch.ops.aten
COUNT = "commsched.num_forward_outputs"


class Model(nn.Module):
    """Has a buffer that it writes, random numbers and two results."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x, scale):
        y = nn.functional.dropout(self.norm(x), 0.5) * scale
        return y, y.sum()


def joint_of(model, *inputs):
    with ExitStack() as stack:
        return aot_export_joint_with_descriptors(
            stack, model, inputs
        ).graph_module


def head_of(text):
    return next(line for line in text.splitlines() if "func.func" in line)


def roles_of(text):
    return dict(
        re.findall(
            r'%(\w+): [^{,]*\{[^}]*commsched.role = "(\w+)"', head_of(text)
        )
    )


def two_halves(g, x, tangent):
    y = g.add("sin", aten.sin, (x,), g.like(x))
    grad = g.add("mul", aten.mul.Tensor, (tangent, y), g.like(x))
    return y, y, grad


def test_described_outputs_are_counted(imported):
    """Its mutated buffers are the forward's results too, and a gradient that
    is None has no description."""
    gm = joint_of(Model(), torch.randn(4, 8, requires_grad=True), torch.ones(8))
    text = imported(GraphSpec("joint", gm, "joint"))
    kinds = [
        type(d).__name__ for d in gm.graph.output_node().meta["desc"]
    ]
    assert kinds.count("InputMutationAOTOutput") >= 2
    assert kinds[-1] == "NoneType"
    expected = len(kinds) - sum(k in ("GradAOTOutput", "NoneType") for k in kinds)
    assert head_of(text).endswith(f"attributes {{{COUNT} = {expected} : i64}} {{")


def test_every_argument_has_a_role(imported):
    gm = joint_of(Model(), torch.randn(4, 8, requires_grad=True), torch.ones(8))
    text = imported(GraphSpec("joint", gm, "joint"))
    found = roles_of(text)
    assert len(found) == head_of(text).partition(" -> ")[0].count("%")
    count = {r: [*found.values()].count(r) for r in found.values()}
    # Weight and bias; two running statistics (their counter is a buffer too).
    assert count["parameter"] == 5
    assert count["input"] == 2
    assert count["tangent"] == 2


@pytest.mark.parametrize(
    "name, role",
    [
        ("primals_1", "input"),
        ("tangents_1", "tangent"),
        ("fwd_seed_1", "fwd_rng_state"),
        ("fwd_base_offset_1", "fwd_rng_state"),
        ("bwd_seed_1", "bwd_rng_state"),
        ("my_bwd_base_offset", "bwd_rng_state"),
        ("fwd_rng_state_0", "fwd_rng_state"),
        ("bwd_rng_state_0", "bwd_rng_state"),
        ("rng_state_0", "rng_state"),
        ("philox_seed", "rng_state"),
        ("fwd_seed_of_bwd_seed", "rng_state"),
    ],
)
def test_roles_of_undescribed_arguments(name, role):
    gm = build([(name, (4,))], lambda g, x: g.add("s", aten.sin, (x,), g.like(x)))
    text = str(import_graph_module(gm, kind="joint", num_fwd_outputs=1))
    assert roles_of(text) == {name: role}


@pytest.mark.parametrize(
    "description, role",
    [
        (descriptors.PhiloxForwardSeedAOTInput, "fwd_rng_state"),
        (descriptors.PhiloxForwardBaseOffsetAOTInput, "fwd_rng_state"),
        (descriptors.PhiloxBackwardSeedAOTInput, "bwd_rng_state"),
        (descriptors.PhiloxBackwardBaseOffsetAOTInput, "bwd_rng_state"),
    ],
)
def test_roles_of_described_random_states(description, role):
    gm = build([("x", (4,))], lambda g, x: g.add("s", aten.sin, (x,), g.like(x)))
    (node,) = gm.graph.find_nodes(op="placeholder")
    node.meta["desc"] = description()
    text = str(import_graph_module(gm, kind="joint", num_fwd_outputs=1))
    assert roles_of(text) == {"x": role}


def test_given_number_of_outputs(imported):
    """A value that is returned twice counts twice."""
    gm = build([("primals_1", (4,)), ("tangents_1", (4,))], two_halves)
    text = imported(GraphSpec("joint", gm, "joint", num_fwd_outputs=2))
    assert f"{COUNT} = 2 : i64" in head_of(text)
    assert "return %sin, %sin, %mul" in text


def test_outputs_that_are_no_tensors_do_not_count():
    def body(g, x, tangent):
        y, _, grad = two_halves(g, x, tangent)
        return (None, y), (None, grad)

    gm = build([("primals_1", (4,)), ("tangents_1", (4,))], body)
    text = str(import_graph_module(gm, kind="joint", num_fwd_outputs=2))
    assert f"{COUNT} = 1 : i64" in head_of(text)
    assert "return %sin, %mul" in text


def test_unknown_number_is_left_out():
    gm = build([("primals_1", (4,)), ("tangents_1", (4,))], two_halves)
    assert COUNT not in str(import_graph_module(gm, kind="joint"))


def test_number_beyond_the_outputs_is_an_error():
    gm = build([("primals_1", (4,)), ("tangents_1", (4,))], two_halves)
    with pytest.raises(GraphImportError, match="4 outputs .* graph has 3"):
        import_graph_module(gm, kind="joint", num_fwd_outputs=4)


def test_number_for_a_graph_that_is_not_joint_is_an_error():
    gm = build([("primals_1", (4,)), ("tangents_1", (4,))], two_halves)
    with pytest.raises(GraphImportError, match="kind is 'forward' and not"):
        import_graph_module(gm, kind="forward", num_fwd_outputs=2)


def test_forward_output_behind_a_gradient_is_an_error():
    gm = build([("primals_1", (4,)), ("tangents_1", (4,))], two_halves)
    plain = descriptors.PlainAOTOutput
    gradient = descriptors.GradAOTOutput(descriptors.PlainAOTInput(0))
    gm.graph.output_node().meta["desc"] = [plain(0), gradient, plain(1)]
    with pytest.raises(GraphImportError, match="output 2 .* but output 1"):
        import_graph_module(gm, kind="joint")


def test_several_results_stay_one_operation(imported):
    """Whatever of them is in use."""
    gm = fake_trace(
        lambda x: aten.native_layer_norm(x, [8], None, None, 1e-5)[1:],
        torch.ones(4, 8),
    )
    text = imported(GraphSpec("joint", gm, "joint", num_fwd_outputs=1))
    assert "%native_layer_norm:3 = commsched.compute" in text
    assert text.count("commsched.compute") == 1
    assert "return %native_layer_norm#1, %native_layer_norm#2" in text
