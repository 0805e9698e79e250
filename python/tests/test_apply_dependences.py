# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What has to stay behind what, for operators of all kinds."""

import operator

import pytest
import torch
from torch._higher_order_ops.auto_functionalize import auto_functionalized_v2
from torch._higher_order_ops.effects import with_effects
from torch._higher_order_ops.triton_kernel_wrap import triton_kernel_wrapper_mutation

from commsched.torch.rewriting import Plan, apply_plan
from commsched.torch.rewriting.dependences import memory_dependences
from graphs import build

aten = torch.ops.aten
c10d = torch.ops._c10d_functional
INPUTS = [("x", (4,)), ("y", (4,))]


def behind(body, **held):
    """Returns the dependences by name."""
    gm = build(INPUTS, body, **held)
    found = memory_dependences(gm.graph.nodes)
    return {
        node.name: sorted(other.name for other in others)
        for node, others in found.items()
    }


def functional(b, x, y):
    total = b.add("total", aten.add.Tensor, (x, y), b.like(x))
    return b.add("sin", aten.sin, (total,), b.like(x))


def functionalized(b, x, y):
    call = b.add("call", auto_functionalized_v2, (aten.copy_.default,),
                 (b.like(x), b.like(x)), {"src": y, "_all_bases": [x]})
    return b.item("item", call, 1), b.add("sin", aten.sin, (x,), b.like(x))


def views(b, x, y):
    view = b.add("view", aten.view, (x, [2, 2]), x.meta["val"].view(2, 2))
    first = b.add("first", aten.sin, (view,), b.like(view))
    b.add("write", aten.copy_, (x, y), x)
    second = b.add("second", aten.sin, (view,), b.like(view))
    b.add("again", aten.mul_.Scalar, (view, 2), view)
    return first, second, b.add("other", aten.sin, (y,), b.like(y))


def without_values(b, x, y):
    part = b.add("part", aten.view, (x, [2, 2]))
    del part.meta["val"]
    b.add("write", aten.copy_, (x, y), x)
    return b.add("sin", aten.sin, (part,), b.tensor((2, 2)))


def waited_for(b, x, y):
    """Some graphs keep using what they started."""
    start = b.reduce("start", x)
    wait = b.wait("wait", start)
    b.add("write", aten.mul_.Scalar, (wait, 2), wait)
    return b.add("sin", aten.sin, (start,), b.like(x))


def in_place(b, x, y):
    before = b.add("before", aten.sin, (x,), b.like(x))
    start = b.add("start", c10d.all_reduce_, (x, "sum", "g"), x)
    b.add("wait", c10d.wait_tensor, (start,), x)
    return before, b.add("after", aten.sin, (x,), b.like(x))


def list_of_tensors(b, x, y):
    first = b.add("first", aten.sin, (x,), b.like(x))
    b.add("write", aten._foreach_copy_, ([x], [y]), None)
    return first, b.add("second", aten.sin, (x,), b.like(x))


def kernel_of_triton(b, x, y):
    first = b.add("first", aten.sin, (x,), b.like(x))
    b.add("kernel", triton_kernel_wrapper_mutation, (), None,
          {"kernel_idx": 0, "kwargs": {"a": x, "b": y}})
    return first, b.add("second", aten.sin, (x,), b.like(x))


def attention(b, x, y):
    """Attention that drops nothing out draws nothing."""
    view = b.add("view", aten.view, (x, [1, 1, 2, 2]), x.meta["val"].view(1, 1, 2, 2))
    for name, dropout_p in (("kept", 0.0), ("dropped", 0.5)):
        call = b.add(name, aten._scaled_dot_product_flash_attention_for_cpu,
                     (view, view, view, dropout_p), (b.like(view), b.like(view)))
        b.item(f"{name}_value", call, 0)
    return b.add("draw", aten.bernoulli, (y,), b.like(y))


def of_nothing_known(b, x, y):
    """No communication crosses a collective of which nothing is known."""
    done = b.wait("done", b.reduce("first", x))
    fence = b.add("fence", torch.ops.symm_mem.one_shot_all_reduce,
                  (x, "sum", "g"), b.like(x))
    return done, fence, b.wait("last", b.reduce("second", y))


@pytest.mark.parametrize("body, expected", [
    (functional, {}),
    (functionalized, {}),
    (views, {"write": ["first", "view"], "second": ["write"],
             "again": ["second", "write"]}),
    (without_values, {"sin": ["write"]}),
    (waited_for, {"sin": ["write"]}),
    (in_place, {"start": ["before"]}),
    (list_of_tensors, {"write": ["first"], "second": ["write"]}),
    (kernel_of_triton, {"kernel": ["first"], "second": ["kernel"]}),
    (attention, {"draw": ["dropped"]}),
    (of_nothing_known, {"fence": ["done", "first"], "second": ["fence"],
                        "last": ["fence"]}),
])
def test_reads_and_writes(body, expected):
    found = behind(body)
    assert expected.items() <= found.items() and (expected or not found)
    if body is in_place:
        assert "start" in found["after"]
    if body is attention:
        assert found == expected


def test_tokens_of_effects_are_arguments():
    def body(b, x, y):
        calls, token = [], x
        for name in ("one", "two"):
            call = b.add(name, with_effects, (token, aten.sin.default, y),
                         (b.tensor((0,)), b.like(y)))
            token = b.item(f"token_{name}", call, 0)
            calls.append(b.item(f"value_{name}", call, 1))
        return token, *calls

    gm = build(INPUTS, body)
    apply_plan(gm, Plan(("two", "one")))
    names = [node.name for node in gm.graph.nodes]
    assert names.index("one") < names.index("two")


def test_graphs_that_write_inside():
    def write(b, a):
        b.add("inner", aten.mul_.Scalar, (a, 2), a)
        return (b.add("cos", aten.cos, (a,), b.like(a)),)

    def body(b, x, y):
        first = b.add("first", aten.sin, (x,), b.like(x))
        call = b.invoke("call", "region", x, value=(b.like(x),))
        item = b.item("item", call, 0)
        return first, item, b.add("second", aten.sin, (x,), b.like(x))

    found = behind(body, region=build([("a", (4,))], write))
    assert found["call"] == ["first"] and found["second"] == ["call"]


def test_chains_of_effects():
    def body(b, x, y):
        draws = [b.add(f"draw_{i}", aten.bernoulli, (x,), b.like(x)) for i in range(3)]
        for i in range(2):
            b.add(f"check_{i}", aten._assert_async.msg, (x, "no"))
        sends = [
            b.add(f"send_{i}", c10d.isend, (x, 1, 0, "g"), b.like(x))
            for i in range(2)
        ]
        return [*draws, *sends]

    found = behind(body)
    assert found["draw_1"] == ["draw_0"] and found["draw_2"] == ["draw_1"]
    assert found["check_1"] == ["check_0"] and "check_0" not in found
    assert found["send_1"] == ["send_0"]


def test_time_is_linear_in_the_nodes():
    """Readers of one storage between writes are not compared in pairs."""

    def edges(count):
        def body(b, x, y):
            for i in range(count):
                b.add(f"sin_{i}", aten.sin, (x,), b.like(x))
                if i % 10 == 0:
                    b.add(f"write_{i}", aten.copy_, (x, y), x)
            return x

        gm = build(INPUTS, body)
        found = memory_dependences(gm.graph.nodes)
        return sum(map(len, found.values()))

    assert edges(400) < 2.2 * edges(200)
    assert operator.lt(edges(400), 1000)
