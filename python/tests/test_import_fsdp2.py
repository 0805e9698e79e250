# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of Traceable FSDP2: unsharded parameters, whose storage is grown,
filled and freed around their use."""

import re

import pytest

torch = pytest.importorskip("torch")

import torch._inductor  # noqa: E402,F401  registers torch.ops.inductor
import torch.distributed.fsdp._fully_shard._fsdp_collectives  # noqa: E402,F401
import torch.distributed.fsdp._fully_shard._fsdp_param  # noqa: E402,F401

from commsched import opt  # noqa: E402
from commsched.torch import GraphSpec  # noqa: E402
from graphs import build, lines  # noqa: E402

aten = torch.ops.aten
c10d = torch.ops._c10d_functional
copy_ = torch.ops.fsdp.copy_
fsdp = torch.ops.fsdp
resize_ = torch.ops.inductor.resize_storage_bytes_

FULL = 16 * 8 * 4


def operations(text):
    """Returns the operations of a function, without results and attributes."""
    found = []
    for line in lines(text):
        line = re.sub(r"\A(%[^=]* = )", "", line)
        found.append(re.sub(r" \{.*?\}", "", line).split(" : ")[0])
    return found


def arguments(text):
    """Returns (type, role) by argument."""
    head = text[text.index("func.func") :].splitlines()[0]
    pattern = r'%([\w.]+): ([^ ]*) \{commsched.role = "(\w+)"\}'
    return {name: (t, role) for name, t, role in re.findall(pattern, head)}


class Step:
    """The parts of a step of FSDP2, on one parameter of 16 x 8."""

    def __init__(self, builder, shard, group):
        self.g, self.shard, self.group = builder, shard, group

    def gather(self, name):
        """Copy-in, gather into the buffer, and copy-out."""
        g = self.g
        buffer = g.add(f"buffer_{name}", aten.empty.memory_format, ([128],),
                       g.like(self.shard, (128,)))
        pair = g.add(
            f"copy_in_{name}", fsdp.all_gather_copy_in,
            ([self.shard], buffer, [32], 32, 0),
            (g.like(self.shard, (32,)), buffer),
        )
        slice_ = g.item(f"slice_{name}", pair, 0)
        out = g.item(f"out_{name}", pair, 1)
        whole = g.add(
            f"gather_{name}", c10d.all_gather_into_tensor_out,
            (slice_, 4, self.group), out, {"out": out},
        )
        whole = g.add(f"wait_{name}", c10d.wait_tensor, (whole,), out)
        full = g.add(f"full_{name}", aten.empty.memory_format, ([16, 8],),
                     g.like(self.shard, (16, 8)))
        flat = g.add(f"flat_{name}", aten.view, (full, [4, -1]),
                     full.meta["val"].view(4, -1))
        rows = g.add(f"rows_{name}", aten.view, (whole, [4, -1]),
                     whole.meta["val"].view(4, -1))
        g.add(f"copy_out_{name}", fsdp.split_with_sizes_copy, (rows, [32]),
              None, {"dim": 1, "out": [flat]})
        return full

    def grow(self, name, param, size=FULL):
        self.g.add(name, resize_, (param, size))

    def fill(self, name, param, source):
        self.g.add(name, copy_, (param, source))

    def filled(self, param):
        """Gathers, grows and fills it; returns what it is filled with."""
        full = self.gather("0")
        self.grow("grow", param)
        self.fill("fill", param, full)
        return full

    def linear(self, name, x, weight):
        return self.g.add(name, aten.mm, (x, weight), self.g.like(x, (4, 8)))


def parameter_graph(body, more=()):
    """A graph with a shard, an unsharded parameter and an input; `body` is
    given a Step, the parameter, the input, and what `more` adds."""

    def make(g, shard, p, x, *others):
        step = Step(g, shard, "dp")
        return body(step, p, x, *others)

    inputs = [("shard", (4, 8)), ("p", (16, 8)), ("x", (4, 16)), *more]
    return build(inputs, make)


@pytest.fixture
def text_of(imported):
    def run(body, more=(), **spec):
        graph = GraphSpec("f", parameter_graph(body, more), **spec)
        return imported(graph, groups={"dp": 4})

    return run


def whole_step(step, p, x):
    """Grown, filled, read and freed."""
    step.filled(p)
    y = step.linear("y", x, p)
    step.grow("free", p, 0)
    return y


def test_step(text_of):
    """All of it is in the dialect."""
    text = text_of(whole_step)
    assert arguments(text)["p"] == ("memref<16x8xf32>", "unsharded_param")
    assert arguments(text)["shard"] == ("tensor<4x8xf32>", "input")
    assert operations(text) == [
        "commsched.all_gather_copy_in %shard on @pg_dp",
        "commsched.all_gather %copy_in_0#0 on @pg_dp dim(0) into %copy_in_0#1",
        "commsched.wait %gather_0",
        'commsched.compute "aten.view"(%wait_0)',
        "commsched.split_with_sizes_copy %rows_0 on @pg_dp",
        "commsched.resize_storage %p bytes(512)",
        "commsched.fsdp_copy %copy_out_0 into %p",
        "bufferization.to_tensor %p",
        'commsched.compute "aten.mm"(%x, %p_tensor)',
        "commsched.resize_storage %p bytes(0)",
    ]
    grow = next(l for l in lines(text) if "resize_storage" in l)
    assert 'commsched.name = "grow"' in grow


def test_removed_in_the_end(text_of, opt_program):
    """What is imported is the pattern that the pass removes."""
    text = opt.run(text_of(whole_step), "--commsched-remove-unsharded-param-usage")
    assert "resize_storage" not in text and "to_tensor" not in text


def test_read_once_between_changes(text_of):
    """A layer that is used twice: each range reads its own contents."""

    def body(step, p, x):
        full = step.gather("0")
        step.grow("grow_0", p)
        step.fill("fill_0", p, full)
        y0 = step.linear("y0", x, p)
        y1 = step.linear("y1", x, p)
        step.fill("fill_1", p, full)
        y2 = step.linear("y2", x, p)
        step.grow("free", p, 0)
        return y0, y1, y2

    tail = operations(text_of(body))[6:]
    assert tail == [
        "commsched.fsdp_copy %copy_out_0 into %p",
        "bufferization.to_tensor %p",
        'commsched.compute "aten.mm"(%x, %p_tensor)',
        'commsched.compute "aten.mm"(%x, %p_tensor)',
        "commsched.fsdp_copy %copy_out_0 into %p",
        "bufferization.to_tensor %p",
        'commsched.compute "aten.mm"(%x, %p_tensor_1)',
        "commsched.resize_storage %p bytes(0)",
    ]


def test_view_that_is_taken_before_the_fill(text_of):
    """A view sees what comes into the storage later, every time."""

    def body(step, p, x):
        full = step.gather("0")
        half = step.g.add("half", aten.slice.Tensor, (p, 0, 0, 8),
                          p.meta["val"][:8])
        view = step.g.add("view", aten.t, (half,), half.meta["val"].t())
        step.grow("grow", p)
        step.fill("fill_0", p, full)
        y0 = step.g.add("y0", aten.neg, (view,), step.g.like(view))
        step.fill("fill_1", p, full)
        y1 = step.g.add("y1", aten.neg, (view,), step.g.like(view))
        return y0, y1

    tail = operations(text_of(body))[6:]
    again = [
        "commsched.fsdp_copy %copy_out_0 into %p",
        "bufferization.to_tensor %p",
        'commsched.compute "aten.slice.Tensor"(%p_tensor)',
        'commsched.compute "aten.t"(%half)',
        'commsched.compute "aten.neg"(%view)',
    ]
    assert tail[:5] == again
    assert tail[5:] == [
        again[0],
        again[1],
        'commsched.compute "aten.slice.Tensor"(%p_tensor_1)',
        'commsched.compute "aten.t"(%half_1)',
        'commsched.compute "aten.neg"(%view_1)',
    ]


@pytest.mark.parametrize("freed", [True, False])
def test_returned_parameter_is_the_callers(text_of, freed):
    """So is a view of it: both are left out, as they may be freed by now."""

    def body(step, p, x):
        step.filled(p)
        view = step.g.add("view", aten.t, (p,), p.meta["val"].t())
        y = step.linear("y", x, p)
        used = step.g.add("used", aten.neg, (view,), step.g.like(view))
        late = step.g.add("late", aten.t, (p,), p.meta["val"].t())
        if freed:
            step.grow("free", p, 0)
        return p, y, view, late, x, used

    text = text_of(body)
    assert "  return %y, %x, %used : " in text
    last = "commsched.resize_storage %p bytes(0)"
    assert (operations(text)[-1] == last) == freed


def test_backward_takes_over_the_role(imported):
    """The backward only frees the parameter that the forward has filled."""

    def forward(step, p, x):
        step.filled(p)
        return step.linear("y", x, p), p

    def backward(g, p, dy):
        dx = g.add("dx", aten.mm, (dy, p), g.like(dy, (4, 8)))
        g.add("free", resize_, (p, 0))
        return dx

    first = parameter_graph(forward)
    second = build([("p", (16, 8)), ("tangents_1", (4, 16))], backward)
    # A graph that reads without resizing, whose forward says what it reads.
    third = build(
        [("p", (16, 8)), ("tangents_1", (4, 16))],
        lambda g, p, dy: g.add("dx", aten.mm, (dy, p), g.like(dy, (4, 8))),
    )
    text = imported(
        GraphSpec("forward", first, "forward"),
        GraphSpec("backward", second, "backward", forward=first),
        GraphSpec("again", third, "backward", forward=first),
        groups={"dp": 4},
    )
    for name in ("forward", "backward", "again"):
        function = text[text.index(f"@{name}(") :]
        assert "%p: memref<16x8xf32> " in function.splitlines()[0]
    assert operations(text[text.index("func.func @again") :])[0] == (
        "bufferization.to_tensor %p"
    )


def test_role_that_is_given(text_of):
    def read(step, p, x):
        return step.linear("y", x, p)

    text = text_of(read, roles={"p": "unsharded_param"})
    assert arguments(text)["p"] == ("memref<16x8xf32>", "unsharded_param")
    assert operations(text)[0] == "bufferization.to_tensor %p"

    def free(step, p, x):
        step.grow("free", p, 0)
        return x

    text = text_of(free, roles={"p": "parameter"})
    assert arguments(text)["p"] == ("tensor<16x8xf32>", "parameter")
    assert operations(text) == [
        'commsched.compute "inductor.resize_storage_bytes_"(%p)'
    ]


def test_scalar_parameter(imported):
    """A memref without dimensions."""

    def body(g, p, x):
        g.add("grow", resize_, (p, 4))
        g.add("fill", copy_, (p, x))
        return g.add("n", aten.neg, (p,), g.like(p))

    text = imported(build([("p", ()), ("x", ())], body))
    assert arguments(text)["p"] == ("memref<f32>", "unsharded_param")


def test_gradient_bucket(imported):
    """The backward's side: chunk, scatter, view the shard."""

    def body(g, dp):
        buffer = g.add("buffer", aten.empty.memory_format, ([128],),
                       g.like(dp, (128,)))
        rows = g.add("rows", aten.view, (buffer, [4, -1]),
                     buffer.meta["val"].view(4, -1))
        g.add("cat", fsdp.chunk_cat, ([dp], 0, 4), None, {"out": rows})
        shard = g.add("rs", c10d.reduce_scatter_tensor,
                      (buffer, "avg", 4, "dp"), g.like(dp, (32,)))
        shard = g.add("w", c10d.wait_tensor, (shard,), shard)
        return g.add("grad", aten.view, (shard, [4, 8]),
                     shard.meta["val"].view(4, 8))

    text = imported(build([("dp", (16, 8))], body), groups={"dp": 4})
    assert operations(text) == [
        "commsched.chunk_cat %dp on @pg_dp",
        "commsched.reduce_scatter %cat on @pg_dp reduction(avg) dim(0)",
        "commsched.wait %rs",
        'commsched.compute "aten.view"(%w)',
    ]


# -- what the dialect does not say is a computation, on a tensor --------------


def is_computed(text, name="p"):
    """Returns whether an argument is a tensor, and nothing is said of its
    storage."""
    return (
        arguments(text)[name][0].startswith("tensor<")
        and "commsched.resize_storage" not in text
        and "commsched.fsdp_copy" not in text
    )


def test_other_size(text_of):
    """A storage with padding behind the parameter."""

    def body(step, p, x):
        step.grow("grow", p, FULL + 64)
        step.fill("fill", p, step.gather("0"))
        return step.linear("y", x, p)

    text = text_of(body)
    assert is_computed(text)
    assert 'compute "inductor.resize_storage_bytes_"(%p)' in text
    assert 'compute "fsdp.copy_"(%p, %copy_out_0)' in text


@pytest.mark.parametrize("shape, dtype", [
    ((8,), torch.float32), ((16, 8), torch.bfloat16),
])
def test_fill_that_broadcasts_or_converts(text_of, shape, dtype):
    def body(step, p, x, source):
        step.grow("grow", p)
        step.fill("fill", p, source)
        return step.linear("y", x, p)

    assert is_computed(text_of(body, [("source", shape, dtype)]))


def resize_of_a_view(step, p, x):
    view = step.g.add("view", aten.t, (p,), p.meta["val"].t())
    step.grow("grow", view)
    return step.linear("y", x, p)


def write_of_what_was_computed(step, p, x):
    """No write of the parameter, though the parameter is read for it."""
    step.grow("grow", p)
    y = step.g.add("y", aten.neg, (p,), step.g.like(p))
    return step.g.add("z", aten.add_.Tensor, (y, p), y)


def write_of_an_element(step, p, x):
    step.grow("grow", p)
    parts = step.g.add("parts", aten.split.Tensor, (p, 8),
                       list(p.meta["val"].split(8)))
    second = step.g.item("second", parts, 1)
    step.g.add("add", aten.add_.Tensor, (second, 1), second)
    return step.linear("y", x, p)


def write_through_a_view(step, p, x):
    """As an optimizer changes the parameter."""
    step.grow("grow", p)
    view = step.g.add("view", aten.t, (p,), p.meta["val"].t())
    step.g.add("add", aten.add_.Tensor, (view, 1), view)
    return step.linear("y", x, p)


def copy_out_into_the_parameter(step, p, x):
    step.grow("grow", p)
    step.g.add("copy_out", fsdp.split_with_sizes_copy, (x, [64]), None,
               {"out": [p]})
    return step.linear("y", x, p)


@pytest.mark.parametrize("body, expected", [
    (resize_of_a_view, True),
    (write_of_what_was_computed, False),
    (write_of_an_element, True),
    (write_through_a_view, True),
    (copy_out_into_the_parameter, True),
])
def test_other_writes_are_computations(text_of, body, expected):
    assert is_computed(text_of(body)) == expected


def test_two_arguments_of_one_storage(imported):
    def body(g, p, q):
        q.meta["val"] = p.meta["val"].t()
        g.add("grow", resize_, (p, FULL))
        return g.add("n", aten.neg, (q,), g.like(q))

    text = imported(build([("p", (16, 8)), ("q", (8, 16))], body))
    assert is_computed(text) and is_computed(text, "q")


def test_views_in_a_list(text_of):
    """They are taken once, which is not enough if the storage is filled
    twice."""

    def body(fills):
        def make(step, p, x):
            full = step.filled(p)
            parts = step.g.add("parts", aten.split.Tensor, (p, 8),
                               list(p.meta["val"].split(8)))
            first = step.g.item("first", parts, 0)
            y = step.g.add("y", aten.neg, (first,), step.g.like(first))
            for index in range(1, fills):
                step.fill(f"fill_{index}", p, full)
            z = step.g.add("z", aten.neg, (first,), step.g.like(first))
            return y, z

        return make

    assert not is_computed(text_of(body(1)))
    assert is_computed(text_of(body(2)))


def test_size_that_nobody_knows(imported):
    """A size that is read from memory."""

    def body(g, p, n):
        size = g.graph.call_function(aten.item.default, (n,))
        g.add("grow", resize_, (p, size))
        return g.add("neg", aten.neg, (p,), g.like(p))

    text = imported(build([("p", (16, 8)), ("n", (), torch.int64)], body))
    assert is_computed(text)
