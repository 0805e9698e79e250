# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of Traceable FSDP2: unsharded parameters, whose storage is grown,
filled and freed around their use."""

import copy
import operator
import re

import pytest
import torch
import torch._inductor  # registers torch.ops.inductor
import torch.distributed.fsdp  # registers torch.ops.fsdp
import torch.distributed.fsdp._fully_shard._fsdp_collectives
import torch.distributed.fsdp._fully_shard._fsdp_param
from commsched import opt
from commsched.torch import GraphSpec, ImportOptions, import_graph_module
from commsched.torch.rewriting import RewriteError, apply_plan, make_plan
from graphs import build, fake_trace, lines, names, node_of as node

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

    def copied_in(self, name):
        """The part of a buffer that has the shard, and the buffer."""
        g, shard = self.g, self.shard
        whole = g.like(shard, (128,))
        buffer = g.add(f"buffer_{name}", aten.empty.memory_format, ([128],), whole)
        args = ([shard], buffer, [32], 32, 0)
        value = (g.like(shard, (32,)), buffer)
        pair = g.add(f"copy_in_{name}", fsdp.all_gather_copy_in, args, value)
        return g.item(f"slice_{name}", pair, 0), pair

    def view(self, name, source, shape):
        return self.g.add(name, aten.view, (source, shape),
                          source.meta["val"].view(shape))

    def gather(self, name):
        """Copy-in, gather into the buffer, and copy-out."""
        g = self.g
        slice_, pair = self.copied_in(name)
        out = g.item(f"out_{name}", pair, 1)
        whole = g.add(
            f"gather_{name}", c10d.all_gather_into_tensor_out,
            (slice_, 4, self.group), out, {"out": out},
        )
        whole = g.add(f"wait_{name}", c10d.wait_tensor, (whole,), out)
        full = g.add(f"full_{name}", aten.empty.memory_format, ([16, 8],),
                     g.like(self.shard, (16, 8)))
        flat = self.view(f"flat_{name}", full, [4, -1])
        rows = self.view(f"rows_{name}", whole, [4, -1])
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


def test_read_once_between_changes(text_of):
    """A layer that is used twice: each range reads its own contents."""

    def body(step, p, x):
        full = step.gather("0")
        step.grow("grow_0", p)
        step.fill("fill_0", p, full)
        outputs = [step.linear(f"y{i}", x, p) for i in range(2)]
        step.fill("fill_1", p, full)
        outputs.append(step.linear("y2", x, p))
        step.grow("free", p, 0)
        return outputs

    fill = ["commsched.fsdp_copy %copy_out_0 into %p", "bufferization.to_tensor %p"]
    mm = 'commsched.compute "aten.mm"(%x, %p_tensor'
    assert operations(text_of(body))[6:] == [
        *fill, f"{mm})", f"{mm})", *fill, f"{mm}_1)",
        "commsched.resize_storage %p bytes(0)",
    ]


def test_view_that_is_taken_before_the_fill(text_of):
    """A view sees what comes into the storage later, every time."""

    def body(step, p, x):
        g, full = step.g, step.gather("0")
        half = g.add("half", aten.slice.Tensor, (p, 0, 0, 8), p.meta["val"][:8])
        view = g.add("view", aten.t, (half,), half.meta["val"].t())
        step.grow("grow", p)
        outputs = []
        for index in range(2):
            step.fill(f"fill_{index}", p, full)
            outputs.append(g.add(f"y{index}", aten.neg, (view,), g.like(view)))
        return outputs

    again = [
        "commsched.fsdp_copy %copy_out_0 into %p",
        "bufferization.to_tensor %p",
        'commsched.compute "aten.slice.Tensor"(%p_tensor{0})',
        'commsched.compute "aten.t"(%half{0})',
        'commsched.compute "aten.neg"(%view{0})',
    ]
    assert operations(text_of(body))[6:] == [
        line.format(suffix) for suffix in ("", "_1") for line in again
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
    parts = step.g.add("parts", aten.split.Tensor, (p, 8), list(p.meta["val"].split(8)))
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
    whole = step.g.wait("w", step.g.gather("ag", step.shard, 4, "dp"))
    step.g.add("copy_out", fsdp.split_with_sizes_copy, (whole, [32]), None, {"out": [p]})
    return step.linear("y", x, p)


@pytest.mark.parametrize("body, expected", [
    (resize_of_a_view, True),
    (write_of_what_was_computed, False),
    (write_of_an_element, True),
    (write_through_a_view, True),
    (copy_out_into_the_parameter, True),
])
def test_other_writes_are_computations(text_of, body, expected):
    text = text_of(body)
    assert is_computed(text) == expected
    if body is copy_out_into_the_parameter:
        (copy,) = [line for line in lines(text) if "split_with_sizes_copy" in line]
        assert "(%w, %p)" in copy and "mutates = array<i64: 1>" in copy


def test_two_arguments_of_one_storage(imported):
    def body(g, p, q):
        q.meta["val"] = p.meta["val"].t()
        g.add("grow", resize_, (p, FULL))
        return g.add("n", aten.neg, (q,), g.like(q))

    text = imported(build([("p", (16, 8)), ("q", (8, 16))], body))
    assert is_computed(text) and is_computed(text, "q")


@pytest.mark.parametrize("fills", [1, 2])
def test_views_in_a_list(text_of, fills):
    """They are taken once, which is not enough if the storage is filled
    twice."""

    def body(step, p, x):
        g, full = step.g, step.filled(p)
        parts = list(p.meta["val"].split(8))
        parts = g.add("parts", aten.split.Tensor, (p, 8), parts)
        first = g.item("first", parts, 0)
        y = g.add("y", aten.neg, (first,), g.like(first))
        if fills == 2:
            step.fill("again", p, full)
        return y, g.add("z", aten.neg, (first,), g.like(first))

    assert is_computed(text_of(body)) == (fills == 2)


def test_size_that_nobody_knows(imported):
    """A size that is read from memory."""

    def body(g, p, n):
        size = g.graph.call_function(aten.item.default, (n,))
        g.add("grow", resize_, (p, size))
        return g.add("neg", aten.neg, (p,), g.like(p))

    text = imported(build([("p", (16, 8)), ("n", (), torch.int64)], body))
    assert is_computed(text)


# -- The bucket copies of FSDP and of Inductor's bucketing passes.


def kinds(text):
    return [
        line.removeprefix(line.partition("commsched.")[0]).split()[0][10:]
        for line in lines(text)
    ]


def test_gather_of_a_bucket(fake_world, imported):
    """Copy-in, gather in place, copy-out: the dialect's own operations, and
    none of the buffers that they replace."""
    group = fake_world(4)

    def f(a, b):
        out = torch.empty(4 * 40, device=a.device)
        source, out = fsdp.all_gather_copy_in([a, b], out, [32, 8], 40, 0)
        full = c10d.all_gather_into_tensor_out(source, 4, group, out=out)
        full = c10d.wait_tensor(full)
        first = torch.empty(128, device=a.device)
        second = torch.empty(32, device=a.device)
        fsdp.split_with_sizes_copy(
            full.view(4, -1), [32, 8], dim=1,
            out=[first.view(4, -1), second.view(4, -1)],
        )
        return first.view(16, 8), second

    text = imported(fake_trace(f, torch.empty(32), torch.empty(8)))
    assert kinds(text) == [
        "all_gather_copy_in", "all_gather", "wait", "compute",
        "split_with_sizes_copy", "compute",
    ]
    copy_in, gather, *_ = lines(text)
    assert copy_in.endswith(
        ": tensor<32xf32>, tensor<8xf32> -> tensor<40xf32>, tensor<160xf32>"
    )
    assert "#0 on @pg_0 dim(0) into %all_gather_copy_in#1 {" in gather
    assert "return %view_3, %split_with_sizes_copy#1" in text

    def goes_on_with_the_allocation(a):
        out = torch.empty(32, device=a.device)
        source, _ = fsdp.all_gather_copy_in([a], out, [8], 8, 0)
        full = c10d.all_gather_into_tensor_out(source, 4, group, out=out)
        return c10d.wait_tensor(full)

    text = imported(fake_trace(goes_on_with_the_allocation, torch.empty(8)))
    assert kinds(text) == ["all_gather_copy_in", "all_gather", "wait"]
    assert " into %all_gather_copy_in#1 {" in text


def test_scatter_of_a_bucket(fake_world, imported):
    group = fake_world(4)

    def f(a, b):
        buffer = torch.empty(160, device=a.device)
        fsdp.chunk_cat([a, b], 0, 4, out=buffer.view(4, -1))
        shard = c10d.reduce_scatter_tensor(buffer, "avg", 4, group)
        return c10d.wait_tensor(shard)

    text = imported(fake_trace(
        f,
        torch.empty(16, 8, dtype=torch.bfloat16),
        torch.empty(7, 4, dtype=torch.bfloat16),
    ))
    assert kinds(text) == ["chunk_cat", "reduce_scatter", "wait"]
    # The second operand is padded to 8 rows, and both are widened.
    assert lines(text)[0].endswith(
        ": tensor<16x8xbf16>, tensor<7x4xbf16> -> tensor<160xf32>"
    )


# -- Graphs of Traceable FSDP2: unsharded parameters, whose storage is grown,
# filled and freed around their use, and FSDP's own copies.


REMOVE = "--commsched-remove-unsharded-param-usage"
REINPLACE = "--commsched-reinplace-all-gather"


def schedule(gm, *passes):
    options = ImportOptions(groups={"dp": 4})
    module = import_graph_module(gm, options=options)
    before, after, _ = opt.run_programs(module, *passes)
    return make_plan(before, after, "main")


def test_copies_of_parameters_are_left_out(opt_program):
    gm = parameter_graph(whole_step)
    plan = schedule(gm, REMOVE)
    assert set(plan.removed) == {"grow", "fill", "free"}
    apply_plan(gm, plan)
    assert not {"grow", "fill", "free"} & set(names(gm))
    assert node(gm, "y").args[1].name == "full_0"
    order = names(gm)
    assert order.index("copy_out_0") < order.index("y")


def test_views_taken_early_view_what_was_copied(opt_program):
    def body(step_, p, x):
        g = step_.g
        view = g.add("view", aten.t, (p,), p.meta["val"].t())
        step_.filled(p)
        y = g.add("y", aten.mm, (view, x), g.like(x, (8, 16)))
        step_.grow("free", p, 0)
        return y

    gm = parameter_graph(body)
    x = node(gm, "x")
    x.meta["val"] = node(gm, "y").meta["val"].new_empty((16, 16))
    apply_plan(gm, schedule(gm, REMOVE))
    assert node(gm, "view").args[0].name == "full_0"


def functional_gather(step_, p, x):
    """A copy-in whose gather allocates what it delivers."""
    g = step_.g
    part, _ = step_.copied_in("0")
    start = g.add("gather", c10d.all_gather_into_tensor, (part, 4, "dp"),
                  g.like(part, (128,)))
    whole = g.add("wait", c10d.wait_tensor, (start,), start)
    return step_.linear("y", x, step_.view("w", whole, [16, 8]))


def test_gathers_deliver_into_the_buffer_of_the_copy_in(opt_program):
    gm = parameter_graph(functional_gather)
    plan = schedule(gm, REINPLACE)
    assert plan.into == (("gather", "copy_in_0", 1),)
    # Not into one that is used.
    used = copy.deepcopy(gm)
    with used.graph.inserting_before(node(used, "y")):
        pair = node(used, "copy_in_0")
        item = used.graph.call_function(operator.getitem, (pair, 1))
        item.meta["val"] = pair.meta["val"][1]
        sin = used.graph.call_function(aten.sin.default, (item,))
        sin.meta["val"] = item.meta["val"]
    before = [(n.name, n.args) for n in used.graph.nodes]
    with pytest.raises(RewriteError, match="cannot deliver into"):
        apply_plan(used, plan)
    assert [(n.name, n.args) for n in used.graph.nodes] == before
    apply_plan(gm, plan)
    (start,) = [
        n for n in gm.graph.nodes
        if n.target is c10d.all_gather_into_tensor_out.default
    ]
    assert start.args[0].name == "slice_0"
    assert start.kwargs["out"].args == (node(gm, "copy_in_0"), 1)
    assert node(gm, "wait").args[0] is start
    assert "gather" not in names(gm)
