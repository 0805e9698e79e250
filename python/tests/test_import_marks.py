# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a joint graph says about partitioning, and only a joint graph; and what
any graph says about regions."""

import pytest

torch = pytest.importorskip("torch")

from torch.utils.checkpoint import CheckpointPolicy  # noqa: E402

from commsched.torch import import_graph_module  # noqa: E402


def marked_graph():
    """sin and cos of an argument, as the two sides of a joint graph."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.empty(4)
    forward = graph.call_function(torch.ops.aten.sin.default, (x,))
    forward.meta["val"] = torch.empty(4)
    forward.meta["partitioner_tag"] = "is_forward"
    forward.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
    backward = graph.call_function(torch.ops.aten.cos.default, (forward,))
    backward.meta["val"] = torch.empty(4)
    backward.meta["partitioner_tag"] = "must_be_in_backward"
    graph.output((backward,))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def line_of(text, name):
    return next(line for line in text.splitlines() if f'"aten.{name}"' in line)


def test_joint_graph_keeps_marks():
    text = str(import_graph_module(marked_graph(), kind="joint"))
    sin, cos = line_of(text, "sin"), line_of(text, "cos")
    assert 'commsched.partition = "forward"' in sin
    assert 'commsched.recompute = "must_recompute"' in sin
    assert 'commsched.partition = "must_be_backward"' in cos
    assert "commsched.recompute" not in cos


def test_other_graphs_have_no_marks():
    text = str(import_graph_module(marked_graph(), kind="forward"))
    assert "commsched.partition" not in text
    assert "commsched.recompute" not in text


def test_recompute_region_comes_with_a_policy():
    gm = marked_graph()
    for node in gm.graph.nodes:
        node.meta["ac_graph_id"] = 3
    text = str(import_graph_module(gm, kind="joint"))
    assert "commsched.recompute_region = 3 : i64" in line_of(text, "sin")
    assert "recompute_region" not in line_of(text, "cos")


def test_regions_name_pipelines():
    gm = marked_graph()
    sin, cos = (n for n in gm.graph.nodes if n.op == "call_function")
    sin.meta["custom"] = {
        "compile_with_inductor": {"pipeline": "cse", "inductor_region": 7}
    }
    cos.meta["custom"] = {
        "compile_with_inductor": {"inductor_configs": {"max_autotune": True}}
    }
    text = str(import_graph_module(gm, kind="forward"))
    mark = 'commsched.compile_with = {pipeline = "cse", region = "7"}'
    assert mark in line_of(text, "sin")
    assert "compile_with" not in line_of(text, "cos")


def test_region_needs_no_name():
    gm = marked_graph()
    for node in gm.graph.nodes:
        node.meta["custom"] = {"compile_with_inductor": {"pipeline": "cse"}}
    text = str(import_graph_module(gm, kind="joint"))
    mark = 'commsched.compile_with = {pipeline = "cse"}'
    assert text.count(mark) == 2


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
