# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a joint graph says about partitioning, and only a joint graph; and what
any graph says about regions."""

import subprocess

import pytest
import torch
from torch.utils.checkpoint import CheckpointPolicy

from commsched.torch import import_graph_module
from commsched.torch.importer.errors import GraphImportError
from graphs import build


def marked_graph():
    """sin and cos of an argument, as the two sides of a joint graph."""

    def body(g, x):
        forward = g.add("sin_default", torch.ops.aten.sin, (x,), g.like(x))
        forward.meta["partitioner_tag"] = "is_forward"
        forward.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
        backward = g.add("cos_default", torch.ops.aten.cos, (forward,), g.like(x))
        backward.meta["partitioner_tag"] = "must_be_in_backward"
        return (backward,)

    return build([("x", (4,))], body)


def line_of(text, name):
    return next(line for line in text.splitlines() if f'"aten.{name}"' in line)


def test_joint_graph_keeps_marks():
    """And no other. A region of recomputed operators comes with a policy."""
    gm = marked_graph()
    for node in gm.graph.nodes:
        node.meta["ac_graph_id"] = 3
    text = str(import_graph_module(gm, kind="joint"))
    sin, cos = line_of(text, "sin"), line_of(text, "cos")
    assert 'commsched.partition = "forward"' in sin
    assert 'commsched.recompute = "must_recompute"' in sin
    assert "commsched.recompute_region = 3 : i64" in sin
    assert 'commsched.partition = "must_be_backward"' in cos
    assert "commsched.recompute" not in cos
    text = str(import_graph_module(gm, kind="forward"))
    assert "commsched.partition" not in text
    assert "commsched.recompute" not in text


def mark(gm, *values):
    """Gives the two calls of `gm` these values of the mark for regions."""
    calls = [n for n in gm.graph.nodes if n.op == "call_function"]
    for node, value in zip(calls, values):
        node.meta["custom"] = {"compile_with_inductor": value}
    return gm


@pytest.mark.parametrize("region", [{}, {"inductor_region": 7}])
def test_regions_name_pipelines(region):
    gm = mark(marked_graph(), {"pipeline": "cse", **region})
    text = str(import_graph_module(gm, kind="forward"))
    name = ', region = "7"' if region else ""
    expected = f'commsched.compile_with = {{pipeline = "cse"{name}}}'
    assert expected in line_of(text, "sin")
    assert "compile_with" not in line_of(text, "cos")


@pytest.mark.parametrize("value", [{}, True, None, "mlp"])
def test_the_key_marks_whatever_it_holds(value):
    gm = mark(marked_graph(), value)
    gm.graph.find_nodes(op="placeholder")[0].meta["custom"] = {
        "compile_with_inductor": {}
    }
    text = str(import_graph_module(gm, kind="forward"))
    assert "commsched.compile_with = {}" in line_of(text, "sin")
    assert text.count("compile_with") == 1


def test_settings_of_inductor_form_a_region_and_are_named(caplog, opt_program):
    configs = {"max_autotune": True, "triton.cudagraphs": False}
    gm = mark(
        marked_graph(),
        {"inductor_configs": configs, "inductor_region": "mlp"},
        {"inductor_configs": configs, "why": [1, 2]},
    )
    text = str(import_graph_module(gm, kind="forward"))
    settings = (
        'inductor_configs.max_autotune = "True", '
        'inductor_configs.triton.cudagraphs = "False"'
    )
    assert line_of(text, "sin").count(
        f'compile_with = {{region = "mlp", settings = {{{settings}}}}}'
    ) == 1
    assert f'settings = {{{settings}, why = "[1, 2]"}}' in line_of(text, "cos")
    warned = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert [w.split(" is left out")[0] for w in warned] == [
        "the setting inductor_configs.max_autotune = True of the region 'mlp'",
        "the setting inductor_configs.triton.cudagraphs = False of the region "
        "'mlp'",
        "the setting inductor_configs.max_autotune = True of the region "
        "without a name",
        "the setting inductor_configs.triton.cudagraphs = False of the region "
        "without a name",
        "the setting why = [1, 2] of the region without a name",
    ]
    run = subprocess.run(
        [opt_program, "--commsched-compile-regions", "--remarks-filter=commsched"],
        input=text, capture_output=True, text=True, check=True,
    )
    assert run.stdout.count("call @__marked_region_") == 2
    assert run.stderr.count("RegionSettingIgnored") == 5
    for warning in warned:
        assert warning.split(" of the region")[0] in run.stderr


def test_what_is_marked_is_logged(caplog):
    caplog.set_level("DEBUG", "commsched.torch.importer.marks")
    import_graph_module(marked_graph(), kind="forward")
    import_graph_module(mark(marked_graph(), {}, {}), kind="forward")
    assert caplog.messages == [
        "no node has the mark 'compile_with_inductor'",
        "2 nodes have the mark 'compile_with_inductor'",
    ]


@pytest.mark.parametrize("value, error", [
    ({"inductor_configs": {"max_autotun": 1}},
     "has the key 'max_autotun', which is no setting in torch._inductor"),
    ({"inductor_configs": ["max_autotune"]},
     r"'inductor_configs' .* is \['max_autotune'\], not a dictionary"),
    ({"pipeline": ["cse"]}, r"'pipeline' .* is \['cse'\], not the text"),
    ({"inductor_configs": {"": 1}}, "has the key '', which is no setting"),
    ({"why": 1, "": 2}, "'compile_with_inductor' has an empty key, with "
     "the value 2: name the setting"),
])
def test_marks_that_inductor_refuses_are_errors(value, error):
    with pytest.raises(GraphImportError, match="node 'sin_default'.*" + error):
        import_graph_module(mark(marked_graph(), value), kind="forward")


def test_traced_regions_are_marked():
    def step(x):
        y = torch.sin(x)
        with torch.fx.traceback.annotate(
            {"compile_with_inductor": {"pipeline": "cse"}}
        ):
            return torch.cos(y)

    with torch.fx.traceback.preserve_node_meta():
        gm = torch.fx.experimental.proxy_tensor.make_fx(step)(torch.empty(4))
    text = str(import_graph_module(gm, kind="forward"))
    assert "compile_with" not in line_of(text, "sin")
    assert "compile_with" in line_of(text, "cos")
