# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules by which imported operators can be computed in chunks."""

import re

import pytest

torch = pytest.importorskip("torch")

from graphs import fake_trace

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
        (lambda x: x.expand(4, 3, 8), [(3, 1)], "a _ -> _ a _"),
    ],
)
def test_operators_have_rules(imported, function, inputs, text):
    tensors = [torch.empty(shape) for shape in inputs]
    assert rule_of(imported, function, *tensors) == text
