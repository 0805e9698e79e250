# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations that are saved in 8 bits: the numbers, their places, and steps
that run with them."""

import copy

import pytest
import torch
import partitioned
from graphs import calls
from partitioned import Trained, joint_graph

from commsched.torch.compiling.options import Options
from commsched.torch.compiling.partitioner import Partitioner
from commsched.torch.rewriting.errors import RewriteError
from commsched.torch.rewriting.halves import split_joint
from commsched.torch.rewriting.partition import QUANTIZED, Partition, Quantized

#: By type: bits of the mantissa, and the smallest positive number.
FACTS = {"f8E5M2": (2, 2.0**-16), "f8E4M3FN": (3, 2.0**-9)}


def placeholders(graph_module):
    return graph_module.graph.find_nodes(op="placeholder")


def example(node):
    """A real tensor like the value of `node`; rows have all magnitudes."""
    fake = node.meta["val"]
    torch.manual_seed(len(node.name))
    value = torch.randn(fake.shape, dtype=torch.float32)
    return (value * torch.exp(torch.randn(fake.shape)) / 4).to(fake.dtype)


def halves(joint, count, quantized=()):
    saved = [
        node.name
        for node in joint.graph.nodes
        if node.op == "call_function"
        and node.name.startswith(("addmm", "getitem", "native_layer_norm"))
        and isinstance(node.meta["val"], torch.Tensor)
    ]
    plan = Partition(tuple(saved), tuple(quantized))
    return split_joint(joint, plan, count)


def outputs_of(forward, inputs):
    """What a forward gives, by the name of the node."""
    nodes = forward.graph.output_node().args[0]
    return {getattr(n, "name", ""): v for n, v in zip(nodes, forward(*inputs))}


def run_pair(forward, backward, count, inputs, tangents, replace=None):
    """Runs both halves; returns what is saved by name and the gradients.
    `replace` gives other values of saved tensors by name."""
    nodes = forward.graph.output_node().args[0]
    outputs = forward(*inputs)
    saved = {n.name: v for n, v in zip(nodes[count:], outputs[count:])}
    known = {**saved, **(replace or {})}
    tangents = iter(tangents)
    given = [
        next(tangents) if (value := known.get(node.name)) is None else value
        for node in placeholders(backward)
    ]
    return saved, backward(*given)


@pytest.mark.parametrize("element", FACTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_numbers_are_within_their_bound(element, dtype):
    joint, count = joint_graph(dtype=dtype)
    exact = halves(joint, count)
    inputs = list(map(example, placeholders(exact[0])))
    tangents = [
        example(node) for node in placeholders(exact[1]) if "tangents" in node.name
    ]
    wanted, _ = run_pair(*exact, count, inputs, tangents)
    names = [
        node.name
        for node in exact[0].graph.output_node().args[0][count:]
        if node.op == "call_function"
        and node.meta["val"].dtype == dtype
        and node.meta["val"].dim() > 1
    ]
    assert len(names) >= 4
    changed = halves(joint, count, [Quantized(name, element, True) for name in names])
    saved, found = run_pair(*changed, count, inputs, tangents)
    bits, smallest = FACTS[element]
    back = {}
    for name in names:
        numbers, scale = saved[f"{name}_f8"], saved[f"{name}_scale"]
        assert numbers.dtype == QUANTIZED[element] and name not in saved
        x = wanted[name].double()
        assert scale.shape == (*x.shape[:-1], 1)
        largest = torch.finfo(numbers.dtype).max
        size = x.abs().amax(-1, keepdim=True).clamp_min(1e-12)
        assert torch.equal(scale, (largest / size).float())
        back[name] = (numbers.float() / scale).to(dtype)
        bound = torch.maximum(
            x.abs() * 2.0 ** -(bits + 1), smallest / (2 * scale.double())
        )
        bound += x.abs() * 2.0**-22 + x.abs() * torch.finfo(dtype).eps
        assert ((back[name].double() - x).abs() <= bound).all(), name
    # The backward computes with these numbers as with those of the forward.
    _, same = run_pair(*exact, count, inputs, tangents, back)
    for one, other in zip(same, found, strict=True):
        assert one is other or torch.equal(one, other)


def test_zeros_stay_and_infinities_are_seen():
    joint, count = joint_graph("perceptron")
    forward, _ = halves(joint, count, [Quantized("addmm", "f8E5M2", True)])
    inputs = list(map(example, placeholders(forward)))
    weight, bias, x = inputs[:3]
    weight.zero_(), bias.zero_()
    outputs = outputs_of(forward, inputs)
    numbers, scale = outputs["addmm_f8"].float(), outputs["addmm_scale"]
    assert not numbers.any() and not (numbers / scale).any()
    bias[0] = float("inf")
    outputs = outputs_of(forward, inputs)
    assert (outputs["addmm_f8"].float() / outputs["addmm_scale"]).isnan().all()


def test_without_scales_numbers_are_rounded():
    joint, count = joint_graph("perceptron")
    forward, _ = halves(joint, count, [Quantized("addmm", "f8E4M3FN", False)])
    inputs = [0.1 * example(node) for node in placeholders(forward)]
    found = outputs_of(forward, inputs)
    exact = outputs_of(halves(joint, count)[0], inputs)["addmm"]
    assert "addmm_scale" not in found
    expected = exact.to(torch.float8_e4m3fn)
    assert torch.equal(found["addmm_f8"].float(), expected.float())


def test_conversions_are_where_they_save_most():
    joint, count = joint_graph("perceptron")
    forward, backward = halves(joint, count, [Quantized("addmm", "f8E5M2", True)])
    nodes = [n.name for n in forward.graph.nodes]
    output = list(forward.graph.output_node().args[0])
    place = [n.name for n in output[count:]].index("addmm_f8")
    plain, _ = halves(joint, count)
    assert plain.graph.output_node().args[0][count + place].name == "addmm"
    # Long before the end of the forward, and right before the first use.
    assert nodes.index("addmm_f8") < nodes.index("addmm_1")
    *_, value = calls(backward, torch.ops.aten.div.Tensor)
    assert value.args[1].name == "addmm_scale"
    assert value.next in value.users
    for node in (*forward.graph.nodes, *backward.graph.nodes):
        assert node.op == "output" or "val" in node.meta
    scale = [getattr(n, "name", "") for n in output].index("addmm_scale")
    assert all(isinstance(n.meta["val"], torch.Tensor) for n in output[count:scale])


def test_only_floating_point_is_converted():
    joint, count = joint_graph("perceptron")
    mask = next(
        node.name
        for node in joint.graph.nodes
        if node.op == "call_function"
        and isinstance(node.meta.get("val"), torch.Tensor)
        and node.meta["val"].dtype == torch.bool
    )
    with pytest.raises(RewriteError, match="of type torch.bool cannot"):
        plan = Partition(("addmm", mask), (Quantized(mask, "f8E5M2", True),))
        split_joint(joint, plan, count)


@pytest.mark.parametrize("name", ["attention", "dynamic", "checkpointed"])
def test_steps_run_with_fewer_bytes(opt_program, name):
    model, inputs, dynamic = partitioned.case(name)
    settings = {"size_in_mb": 0, "allowed_dtypes": "f32"}

    def trained(**options):
        partition = Partitioner(Options(strict=True, partition="default", **options))
        return Trained(copy.deepcopy(model), inputs, partition, dynamic)

    exact = trained()
    found = trained(quantize_activations=settings)
    assert found.values[0][0].equal(exact.values[0][0])
    assert any("_scale" in node.name for node in found.saved)
    for one, other in zip(exact.values[0], found.values[0]):
        error = (one - other).norm() / one.norm().clamp_min(1e-6)
        assert error < 0.1, error
    if name == "attention":
        assert found.saved_bytes < 0.4 * exact.saved_bytes


def test_small_activations_stay(opt_program):
    model, inputs, _ = partitioned.case("attention")
    partition = Partitioner(Options(strict=True, quantize_activations=True))
    found = Trained(model, inputs, partition)
    assert not any(node.name.endswith("_f8") for node in found.saved)
