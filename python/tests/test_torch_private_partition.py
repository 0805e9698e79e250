# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the partitioner asks PyTorch's own partitioners about a joint graph."""

import pytest

torch = pytest.importorskip("torch")

from torch import fx  # noqa: E402
from torch.fx.experimental._backward_state import BackwardState  # noqa: E402
from torch.fx.experimental.symbolic_shapes import ShapeEnv  # noqa: E402

from commsched.torch.private import partition as private  # noqa: E402


def graph_with(value):
    """A graph that returns its only input, which holds `value`."""
    graph = fx.Graph()
    node = graph.placeholder("given")
    node.meta["val"] = value
    graph.output((node,))
    return fx.GraphModule(torch.nn.Module(), graph), node


def test_the_state_of_a_backward_hook_is_left_to_pytorch():
    gm, _ = graph_with(BackwardState())
    assert "'given' is the state of a compiled backward hook" in (
        private.refusal(gm)
    )
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
        graph.call_function(
            torch.ops.aten._assert_scalar.default, (node, "too small")
        )
        graph.output((node,) if read else ())
        assert private.is_number(node) == read
