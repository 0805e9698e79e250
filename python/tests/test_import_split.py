# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules by which imported operators can be computed in chunks."""

import re

import pytest

torch = pytest.importorskip("torch")

from graphs import fake_trace, lines

from commsched.torch.importer.split_views import reshape_axes


def rule_of(imported, function, *inputs):
    """Returns the rule of the one operator that `function` calls."""
    text = imported(fake_trace(function, *inputs))
    rules = re.findall(r'split = "([^"]*)"', text)
    assert len(rules) <= 1
    return rules[0] if rules else None


@pytest.mark.parametrize(
    "operand, result, text",
    [
        ((8, 1024, 64), (1, 8192, 64), "a b c -> _ (a b) c"),
        ((8192, 64), (8, 1024, 64), "(a b) c -> a b c"),
        ((4, 6), (4, 6), "a b -> a b"),
        ((4, 1, 6), (4, 6, 1, 1), "a _ b -> a b _ _"),
        ((6, 4), (4, 6), "(a 3) _ -> (a 2) _"),
        ((6, 4, 5), (4, 6, 5), "(a 3) _ b -> (a 2) _ b"),
        ((3, 5), (5, 3), None),
        ((12, 2), (4, 6), "(a b) c -> a (b c)"),
        ((), (1, 1), None),
    ],
)
def test_reshapes_keep_the_row_major_order(operand, result, text):
    assert reshape_axes(operand, result).text() == text


@pytest.mark.parametrize(
    "function, inputs, text",
    [
        (torch.mm, [(4, 8), (8, 6)], "a b, b c -> a c"),
        (torch.bmm, [(2, 4, 8), (2, 8, 6)], "a b c, a c d -> a b d"),
        (torch.mul, [(4, 8), (8,)], "a b, b -> a b"),
        (torch.mul, [(4, 8), (4, 1)], "a b, a _ -> a b"),
        (lambda x: x.sum(0), [(4, 8)], "a b -> b"),
        (lambda x: x.sum(), [(4, 8)], "a b ->"),
        (lambda x: x.mean(0), [(4, 8)], "_ a -> a"),
        (lambda x: x.softmax(-1), [(4, 8)], "a _ -> a _"),
        (lambda x: x.amax(0), [(4, 8)], "_ a -> a"),
        (lambda x: x.t(), [(4, 8)], "a b -> b a"),
        (lambda x: x.split(2), [(6, 8)], "(3 a) b -> a b, a b, a b"),
        (lambda x: x.split([2, 4]), [(6, 8)], "_ a -> _ a, _ a"),
        (lambda x: x[2:4], [(6, 8)], "_ a -> _ a"),
        (lambda *x: torch.cat(x), [(3, 8), (3, 8)], "a b, a b -> (2 a) b"),
        (lambda *x: torch.cat(x, 1), [(3, 8), (3, 4)], "a _, a _ -> a _"),
        (lambda *x: torch.stack(x, 1), [(3, 8)] * 2, "a b, a b -> a _ b"),
        (lambda x: x.select(1, 2), [(3, 8)], "a _ -> a"),
        (lambda x: x.unbind(1), [(3, 2)], "a _ -> a, a"),
        (lambda x: x.expand(4, 3, 8), [(3, 1)], "a _ -> b a c"),
    ],
)
def test_operators_have_rules(imported, function, inputs, text):
    tensors = [torch.empty(shape) for shape in inputs]
    assert rule_of(imported, function, *tensors) == text


def attention(dropout):
    def run(q, k, v):
        found = torch.ops.aten._scaled_dot_product_flash_attention(
            q, k, v, dropout
        )
        return found[0], found[1], found[6]

    return fake_trace(run, *[torch.empty(2, 4, 16, 8).bfloat16()] * 3)


def test_states_of_attention_without_dropout_are_apart(imported):
    """No chunk gives a part of them."""
    text = imported(attention(0.0))
    rule = "a b _ _, a b _ _, a b _ _ -> a b _ _, a b _"
    assert f'split = "{rule}"' in text
    (state,) = [l for l in lines(text) if "attention.state" in l]
    assert state.endswith(": () -> (tensor<2xui64>, tensor<ui64>, "
                          "tensor<0xbf16>)")
    text = imported(attention(0.5))
    assert "split = " not in text and ".state" not in text


def test_rules_can_be_left_out(imported):
    graph = fake_trace(torch.mm, torch.empty(4, 8), torch.empty(8, 6))
    assert "split" not in imported(graph, split=False)


def test_frontends_do_not_split():
    """Their ways back know no chunks."""
    from commsched.options import ScheduleOptions
    from commsched.torch.compiling.options import Options

    for options in (ScheduleOptions(), Options()):
        assert "split=off" in options.pipeline_flag()


def test_dimensions_of_unknown_size_are_whole(imported):
    from test_import_sizes import scalar_graph

    def f(x, y):
        n = x.item()
        torch._check(n >= 0)
        return torch.mm(y.new_zeros(n, 8), y).view(-1, 2, 2)

    text = imported(scalar_graph(f))
    rules = re.findall(r'split = "([^"]*)"', text)
    assert rules == ["_ a, a b -> _ b"]
