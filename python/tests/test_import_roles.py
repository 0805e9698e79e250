# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Argument roles, names and module paths, on graphs of AOT autograd."""

import re

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from commsched.torch import GraphSpec, import_graph_module  # noqa: E402
from commsched.torch.importer.modules import clean_path  # noqa: E402


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
    """Returns the forward and backward graphs of torch.compile."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    graphs = []

    def compiler(gm, _):
        graphs.append(gm)
        return make_boxed_func(gm.forward)

    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=compiler, bw_compiler=compiler)
    torch.compile(model, backend=backend)(*inputs).backward()
    forward, backward = graphs
    return (
        GraphSpec("forward", forward, "forward"),
        GraphSpec("backward", backward, "backward", forward=forward),
    )


def roles(text, function):
    head = next(
        line for line in text.splitlines() if f"func.func @{function}(" in line
    )
    return dict(re.findall(r'%(\w+): [^{,]*\{commsched.role = "(\w+)"\}', head))


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


def test_joint_graph_describes_its_inputs(imported):
    from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
    from contextlib import ExitStack

    with ExitStack() as stack:
        joint = aot_export_joint_with_descriptors(
            stack, Block(), (torch.randn(4, 8),)
        )
        gm = joint.graph_module
    text = imported(GraphSpec("joint", gm, "joint"))
    found = roles(text, "joint")
    assert sum(role == "parameter" for role in found.values()) == 6
    assert sum(role == "tangent" for role in found.values()) == 1
    assert sum(role == "input" for role in found.values()) == 1


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


def test_unknown_role_is_an_error():
    from commsched.torch import GraphImportError

    forward, _ = compiled(Block(), torch.randn(4, 8))
    with pytest.raises(GraphImportError, match="role 'weight' for 'primals_1'"):
        import_graph_module(forward.gm, roles={"primals_1": "weight"})


def test_backward_paths_by_sequence_number(imported):
    """Graphs whose tracer left no forward path on backward nodes."""
    forward, backward = compiled(Block(), torch.randn(4, 8))
    for node in backward.gm.graph.nodes:
        node.meta.pop("fwd_nn_module_stack", None)
    text = imported(forward, backward)
    back = text[text.index("func.func @backward") :]
    assert 'commsched.module = "layers.1"' in back


def test_the_models_own_operators_have_no_path(imported):
    """Not even that of a submodule's with the same sequence number."""
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: x.neg().exp(), tracing_mode="fake")(torch.ones(4))
    inner, own = [n for n in graph.graph.nodes if n.op == "call_function"]
    root = ("L['self']", nn.Module)
    inner.meta["nn_module_stack"] = {"0": root, "1": ("L['self'].a", nn.ReLU)}
    own.meta["nn_module_stack"] = {"0": root}
    inner.meta["seq_nr"] = own.meta["seq_nr"] = 7
    text = imported(graph)
    assert 'commsched.module = "a", commsched.name = "neg"' in text
    assert '"aten.exp"(%neg) {commsched.name = "exp", split' in text


def test_annotated_paths(imported):
    """Those of torchtitan's models, whose nodes have no module stack."""
    from torch.fx.experimental.proxy_tensor import make_fx

    def step(x):
        return x.neg().exp().sin().cos()

    graph = make_fx(step, tracing_mode="fake")(torch.ones(4))
    neg, exp, sin, cos = (
        n for n in graph.graph.nodes if n.op == "call_function"
    )
    neg.meta["custom"] = {"module_fqn": "layers.0._orig_mod.attention"}
    exp.meta["custom"] = {"compile_with_inductor": {}}
    # A backward node, and one that the tracer knows better.
    neg.meta["seq_nr"] = sin.meta["seq_nr"] = 7
    cos.meta["custom"] = {"module_fqn": "layers.1"}
    cos.meta["nn_module_stack"] = {"0": ("L['self'].a", nn.ReLU)}
    lines = imported(graph).splitlines()
    path = 'commsched.module = "layers.0.attention"'
    for name, expected in (
        ("neg", path), ("exp", None), ("sin", path), ("cos", '"a"')
    ):
        (line,) = (k for k in lines if f'commsched.name = "{name}"' in k)
        if expected is None:
            assert "commsched.module" not in line
        else:
            assert expected in line


def test_unknown_kind_is_an_error():
    from commsched.torch import GraphImportError

    forward, _ = compiled(Block(), torch.randn(4, 8))
    with pytest.raises(GraphImportError, match="kind 'fwd' of graph 'main'"):
        import_graph_module(forward.gm, kind="fwd")


@pytest.mark.parametrize(
    "path, clean",
    [
        ("L['self'].layers.3.attention", "layers.3.attention"),
        ("L['self']", ""),
        ("L['fn'].0", "0"),
        ("L['self']._modules['layers']['3'].wq", "layers.3.wq"),
        ("getattr(L['self'].layers, '0').mlp", "layers.0.mlp"),
        ("self.layers[0]", "layers.0"),
        ("selfish.layer", "selfish.layer"),
        ("L['self']._orig_mod.layers.1._fsdp_wrapped_module.ff",
         "layers.1.ff"),
        ("layers.0._checkpoint_wrapped_module.norm", "layers.0.norm"),
        ("L__self___layers.0", "layers.0"),
        ("L['self'].layers.0.forward.__self__.up", "layers.0.up"),
    ],
)
def test_module_paths_are_those_of_named_modules(path, clean):
    assert clean_path(path) == clean
