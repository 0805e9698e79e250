# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Argument roles, names and module paths, on graphs of AOT autograd."""

import re
from collections import Counter
from contextlib import ExitStack

import pytest
import torch
import captures
from commsched.torch import GraphImportError, GraphSpec, import_graph_module
from commsched.torch.importer.modules import clean_path
from graphs import build, fake_trace, node_of
from torch import nn
from torch._functorch._aot_autograd import descriptors
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.Linear(8, 8)
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])

    def forward(self, x):
        x = torch.nn.functional.dropout(self.attention(x), 0.5)
        for layer in self.layers:
            x = layer(x).relu()
        return x.sum()


def compiled(model, *inputs):
    """The forward and the backward of torch.compile, to be imported."""
    forward, backward = captures.graphs_of(model, *inputs).specs()
    forward.name, backward.name = "forward", "backward"
    return forward, backward


def head_of(text, function=""):
    return next(line for line in text.splitlines() if f"func.func @{function}" in line)


def roles(text, function=""):
    pattern = r'%(\w+): [^{,]*\{[^}]*commsched.role = "(\w+)"'
    return dict(re.findall(pattern, head_of(text, function)))


def test_forward_and_backward_of_a_module(imported):
    forward, backward = compiled(Block(), torch.randn(4, 8))
    text = imported(forward, backward)
    taken = roles(text, "backward")
    assert taken["tangents_1"] == "tangent"
    saved = [n for n, role in taken.items() if role == "saved_activation"]
    assert any(name.startswith("relu") for name in saved)
    # A transposed parameter is a view: not the backward's to free.
    assert all(not re.match(r"t(_\d+)?\Z", name) for name in saved)
    modules = set(re.findall(r'commsched.module = "([^"]*)"', text))
    assert modules == {"attention", "layers.0", "layers.1"}
    back = text[text.index("func.func @backward") :]
    assert set(re.findall(r'commsched.module = "([^"]*)"', back)) == modules


def test_exported_program(imported):
    gm = torch.export.export(Block().eval(), (torch.randn(4, 8),)).graph_module
    found = roles(imported(GraphSpec("main", gm)), "main")
    assert found["p_attention_weight"] == "parameter"
    assert found["x"] == "input"


def test_user_roles_come_first(imported):
    forward, _ = compiled(Block(), torch.randn(4, 8))
    forward.roles = {"primals_1": "parameter", "primals_2": None}
    found = roles(imported(forward), "forward")
    assert found["primals_1"] == "parameter" and "primals_2" not in found


def test_backward_paths_by_sequence_number(imported):
    """Graphs whose tracer left no forward path on backward nodes."""
    forward, backward = compiled(Block(), torch.randn(4, 8))
    for node in backward.gm.graph.nodes:
        node.meta.pop("fwd_nn_module_stack", None)
    text = imported(forward, backward)
    back = text[text.index("func.func @backward") :]
    assert 'commsched.module = "layers.1"' in back


def test_paths_of_operators(imported):
    """Of torchtitan's models, whose nodes have no module stack, those that are
    annotated. The model's own operators have none, not even that of a submodule's
    with the same sequence number."""
    def step(x):
        return x.neg().exp().sin().cos().tan().log()

    graph = fake_trace(step, torch.ones(4))
    calls = [n for n in graph.graph.nodes if n.op == "call_function"]
    neg, exp, sin, cos, tan, log = calls
    neg.meta["custom"] = {"module_fqn": "layers.0._orig_mod.attention"}
    exp.meta["custom"] = {"compile_with_inductor": {}}
    # A backward node, and one that the tracer knows better.
    neg.meta["seq_nr"] = sin.meta["seq_nr"] = 7
    cos.meta["custom"] = {"module_fqn": "layers.1"}
    root = ("L['self']", nn.Module)
    cos.meta["nn_module_stack"] = {"0": ("L['self'].a", nn.ReLU)}
    tan.meta["nn_module_stack"] = {"0": root, "1": ("L['self'].b", nn.ReLU)}
    log.meta["nn_module_stack"] = {"0": root}
    tan.meta["seq_nr"] = log.meta["seq_nr"] = 8
    found = re.findall(r'(?:module = "([^"]*)", )?commsched.name', imported(graph))
    assert found == ["layers.0.attention", "", "layers.0.attention", "a", "b", ""]


@pytest.mark.parametrize("path, clean", [
    ("L['self'].layers.3.attention", "layers.3.attention"),
    ("L['self']", ""),
    ("L['fn'].0", "0"),
    ("L['self']._modules['layers']['3'].wq", "layers.3.wq"),
    ("getattr(L['self'].layers, '0').mlp", "layers.0.mlp"),
    ("self.layers[0]", "layers.0"),
    ("selfish.layer", "selfish.layer"),
    ("L['self']._orig_mod.layers.1._fsdp_wrapped_module.ff", "layers.1.ff"),
    ("layers.0._checkpoint_wrapped_module.norm", "layers.0.norm"),
    ("L__self___layers.0", "layers.0"),
    ("L['self'].layers.0.forward.__self__.up", "layers.0.up"),
])
def test_module_paths_are_those_of_named_modules(path, clean):
    assert clean_path(path) == clean


# -- What a joint graph is to a partitioner: which outputs are the forward's, and
# what each argument is.


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
        return aot_export_joint_with_descriptors(stack, model, inputs).graph_module


def two_halves(g, x, tangent):
    y = g.add("sin", aten.sin, (x,), g.like(x))
    grad = g.add("mul", aten.mul.Tensor, (tangent, y), g.like(x))
    return y, y, grad


@pytest.fixture
def joint(imported):
    """The graph of Model, and its text."""
    gm = joint_of(Model(), torch.randn(4, 8, requires_grad=True), torch.ones(8))
    return gm, imported(GraphSpec("joint", gm, "joint"))


def test_described_outputs_are_counted(joint):
    """Its mutated buffers are the forward's results too, and a gradient that
    is None has no description."""
    gm, text = joint
    kinds = [type(d).__name__ for d in gm.graph.output_node().meta["desc"]]
    assert kinds.count("InputMutationAOTOutput") >= 2
    assert kinds[-1] == "NoneType"
    expected = len(kinds) - sum(k in ("GradAOTOutput", "NoneType") for k in kinds)
    assert head_of(text).endswith(f"attributes {{{COUNT} = {expected} : i64}} {{")


def test_every_argument_has_a_role(joint):
    _, text = joint
    found = roles(text)
    assert len(found) == head_of(text).partition(" -> ")[0].count("%")
    # Weight and bias; two running statistics (their counter is a buffer too).
    assert Counter(found.values()) == {"parameter": 5, "input": 2, "tangent": 2}


@pytest.mark.parametrize("name, role", [
    ("primals_1", "input"),
    ("tangents_1", "tangent"),
    ("fwd_seed_1", "fwd_rng_state"),
    ("fwd_base_offset_1", "fwd_rng_state"),
    ("my_bwd_base_offset", "bwd_rng_state"),
    ("bwd_rng_state_0", "bwd_rng_state"),
    ("rng_state_0", "rng_state"),
    ("philox_seed", "rng_state"),
    ("fwd_seed_of_bwd_seed", "rng_state"),
    (descriptors.PhiloxForwardSeedAOTInput, "fwd_rng_state"),
    (descriptors.PhiloxForwardBaseOffsetAOTInput, "fwd_rng_state"),
    (descriptors.PhiloxBackwardSeedAOTInput, "bwd_rng_state"),
    (descriptors.PhiloxBackwardBaseOffsetAOTInput, "bwd_rng_state"),
])
def test_roles_of_described_random_states(name, role):
    description, name = (None, name) if isinstance(name, str) else (name(), "x")
    gm = build([(name, (4,))], lambda g, x: g.add("s", aten.sin, (x,), g.like(x)))
    if description is not None:
        next(iter(gm.graph.nodes)).meta["desc"] = description
    text = str(import_graph_module(gm, kind="joint", num_fwd_outputs=1))
    assert roles(text) == {name: role}


def test_given_number_of_outputs(imported):
    """A value that is returned twice counts twice."""
    gm = build([("primals_1", (4,)), ("tangents_1", (4,))], two_halves)
    sin, mul = (node_of(gm, name) for name in ("sin", "mul"))
    text = imported(GraphSpec("joint", gm, "joint", num_fwd_outputs=2))
    assert f"{COUNT} = 2 : i64" in head_of(text)
    assert "return %sin, %sin, %mul" in text
    # Those that are no tensors do not count.
    gm.graph.output_node().args = (((None, sin), (None, mul)),)
    text = str(import_graph_module(gm, kind="joint", num_fwd_outputs=2))
    assert f"{COUNT} = 1 : i64" in head_of(text)
    assert "return %sin, %mul" in text


def test_wrong_roles_kinds_and_numbers_of_outputs_are_errors():
    gm = build([("primals_1", (4,)), ("tangents_1", (4,))], two_halves)
    # An unknown one is left out.
    assert COUNT not in str(import_graph_module(gm, kind="joint"))
    for given, error in (
        ({"kind": "joint", "num_fwd_outputs": 4}, "4 outputs .* graph has 3"),
        ({"kind": "forward", "num_fwd_outputs": 2}, "kind is 'forward' and not"),
        ({"kind": "fwd"}, "kind 'fwd' of graph 'main'"),
        ({"roles": {"primals_1": "weight"}}, "role 'weight' for 'primals_1'"),
    ):
        with pytest.raises(GraphImportError, match=error):
            import_graph_module(gm, **given)
    plain = descriptors.PlainAOTOutput
    gradient = descriptors.GradAOTOutput(descriptors.PlainAOTInput(0))
    gm.graph.output_node().meta["desc"] = [plain(0), gradient, plain(1)]
    with pytest.raises(GraphImportError, match="output 2 .* but output 1"):
        import_graph_module(gm, kind="joint")
