# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a joint graph says about partitioning, and only a joint graph."""

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
