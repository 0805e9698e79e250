# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that torch.compile makes: those of AOT autograd, and those that
Inductor shows to its custom passes and lowers."""

import dataclasses
import re

import pytest
import torch
from torch._higher_order_ops import effects
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch._higher_order_ops import triton_kernel_wrap as wrap
import adopted_parallelisms
import captures
import parallelisms
import seeds
import torch.distributed._functional_collectives as funcol
from graphs import build, lines, names as names_of

from commsched.torch import GraphImportError
from commsched.torch.importer.ordering import put_in_order
from commsched.torch.private import names

BACKENDS = sorted(captures.BACKENDS)
#: In turn with the seed.
every_backend = pytest.mark.parametrize("backend", seeds.turns(BACKENDS, 1))


@pytest.fixture
def group(fake_world):
    """Two ranks that are not there."""
    fake_world(2)
    return torch.distributed.group.WORLD


@pytest.fixture
def one_layer(group, monkeypatch):
    monkeypatch.setattr(parallelisms, "LAYERS", 1)


def read(imported, capture):
    """Imports everything of a capture; returns the text of what the passes
    see."""
    if capture.lowered:
        imported(*capture.specs(capture.lowered))
    return imported(*capture.specs())


def modules(text, kind):
    """Returns the module of each operation `kind`, in order."""
    found = []
    for line in text.splitlines():
        if f"commsched.{kind} " in line:
            path = re.search('commsched.module = "([^"]*)"', line)
            found.append(path and path[1])
    return found


#: Of one layer: starts of the forward and of the backward, kinds of collectives.
STARTS = {
    "simple FSDP": (9, 9, {"all_gather", "reduce_scatter"}),
    "simple FSDP, bf16 gathers": (9, 9, {"all_gather", "reduce_scatter"}),
    "replicated parameters": (0, 9, {"all_reduce"}),
    "tensor parallelism": (1, 1, {"all_reduce"}),
    "sequence parallelism": (2, 2, {"all_gather", "reduce_scatter"}),
    "context parallelism": (2, 2, {"all_to_all"}),
    "dynamic shapes": (9, 9, {"all_gather", "reduce_scatter"}),
    "activation checkpointing": (1, None, {"all_reduce"}),
    "dropout and buffers": (11, 11, {"all_gather", "reduce_scatter"}),
}


@pytest.mark.parametrize(
    "backend, name",
    seeds.turns(
        [("inductor", name) for name in STARTS] + [("aot", "dynamic shapes")], 4
    ),
)
def test_parallelism(one_layer, imported, backend, name):
    step = parallelisms.CASES[name]()
    capture = captures.graphs_of_step(step, backend)
    text = read(imported, capture)
    forward, backward = text.split("func.func")[1:]
    for half, count in zip((forward, backward), STARTS[name], strict=False):
        assert count in (half.count("-> !commsched.future"), None)
    kinds = set(re.findall(r"= commsched\.(\w+)", text)) - {"compute", "wait"}
    assert kinds == STARTS[name][2]


@pytest.mark.parametrize("name", ["graph breaks", "one graph per block"])
def test_graph_breaks_give_graphs_of_their_own(group, imported, name):
    capture = captures.graphs_of_step(parallelisms.CASES[name]())
    assert len(capture.graphs) >= 4
    text = read(imported, capture)
    assert text.count("func.func") == len(capture.graphs)
    assert text.count("commsched.reduce_scatter") >= 16


@every_backend
def test_experts(one_layer, imported, backend):
    """Each exchange, forward and backward, depends on the numbers of its rows."""
    step = parallelisms.CASES["expert parallelism"]()
    text = imported(*captures.graphs_of_step(step, backend).specs())
    exchanges = [l for l in text.splitlines() if ".all_to_all %" in l]
    assert len(exchanges) == 5
    assert sum("future<tensor<?x32xf32>>" in l for l in exchanges) == 4
    assert text.count('"commsched.splits"') == 8
    assert all('module = "layers.0.mlp", commsched.name' in l for l in exchanges)


def test_all_reduces_of_compiled_autograd(one_layer, imported):
    """The backward of DDP with its Python reducer is one inference graph,
    whose all-reduces Inductor merges by itself."""
    step = parallelisms.CASES["DDP, python_reducer"]()
    capture = captures.graphs_of_step(step, "inductor")
    assert [kind for kind, _ in capture.graphs] == ["forward", "inference"]
    assert read(imported, capture).count("commsched.all_reduce") == 1


def test_collectives_of_fully_shard_are_not_in_its_graphs(group, imported):
    step = adopted_parallelisms.fsdp2()
    # Without being adopted.
    step.compile = lambda compiler: compiler(step.function)
    capture = captures.graphs_of_step(step)
    assert len(capture.graphs) == 4
    assert "future" not in imported(*capture.specs())


@every_backend
def test_modules_of_collectives(group, imported, backend):
    """Both halves name the modules that the model has, the backward even if
    its forward is not at hand."""
    step = parallelisms.CASES["simple FSDP"]()
    capture = captures.graphs_of_step(step, backend)
    specs = [dataclasses.replace(s, forward=None) for s in capture.specs()]
    text = imported(*specs)
    expected = [f"layers.{i}.norm1" for i in (0, 1)]
    gathers = modules(text, "all_gather")
    assert [m for m in gathers if m.endswith("norm1")] == expected
    assert gathers[-1] == "norm" and None not in gathers
    scatters = modules(text, "reduce_scatter")
    assert [m for m in scatters if m.endswith("norm1")] == expected[::-1]
    computations = modules(text, "compute")
    assert sum(m is None for m in computations) <= 20


@every_backend
def test_waits_of_lists(group, imported, backend):
    """Coalesced collectives; newer versions wait for all of them at once."""
    def f(x, y):
        a, b = funcol.all_reduce_coalesced([x, y], "sum", group)
        c, d = funcol.all_gather_into_tensor_coalesced([x, y], group)
        return a + b, c - d

    x, y = torch.randn(4, 6), torch.randn(4, 6)
    text = read(imported, captures.graphs_of(f, x, y, backend=backend))
    assert len(re.findall(r"= commsched.wait %", text)) == 2
    assert "tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>" in text


def test_one_wait_of_several_collectives(group, imported):
    c10d = torch.ops._c10d_functional
    if not hasattr(c10d, "wait_tensors"):
        pytest.skip("this version of PyTorch has no wait_tensors")

    def uses(g, x):
        reduce = (x, "sum", "0")
        a = g.add("a", c10d.all_reduce, reduce, g.like(x))
        b = g.add("b", c10d.all_reduce, reduce, g.like(x))
        both = g.add("both", c10d.wait_tensors, ([a, b],), [a, b])
        return g.item("first", both, 0), g.item("second", both, 1)

    text = imported(build([("x", (4,))], uses), groups={"0": 2})
    assert '= commsched.wait %a {commsched.name = "both"}' in text
    assert '= commsched.wait %b {commsched.name = "both.1"}' in text
    assert "return %both, %both_1" in text


def test_buckets_of_inductor(group, imported):
    """Copies in and out are operators of Inductor's; the gather is written
    into their buffer."""
    def f(x, y):
        g, h = (funcol.all_gather_tensor(t, 0, group) for t in (x, y))
        return [funcol.reduce_scatter_tensor(t * 2, "sum", 0, group) for t in (g, h)]

    config = {"bucket_all_gathers_fx": "all", "bucket_reduce_scatters_fx": "all"}
    custom = {key.replace("_fx", "_bucket_mode"): "custom_ops" for key in config}
    for settings in (config, {**config, **custom}):
        capture = captures.graphs_of(
            f, torch.randn(4, 6), torch.randn(4, 6),
            backend="inductor", config=settings,
        )
        text = imported(*capture.specs(capture.lowered))
        assert re.search(r"commsched.all_gather %\w+ on @pg_0 .* into %", text)
        assert text.count("commsched.reduce_scatter") == 1


@torch.library.custom_op("importer_test::add_to", mutates_args=("out",))
def add_to(x: torch.Tensor, out: torch.Tensor) -> None:
    out.add_(x)


def test_operators_that_write_and_are_made_functional(group, imported):
    def f(x):
        y = x + 1
        add_to(x, y)
        reduced = funcol.all_reduce(y, "sum", group)
        return reduced + y

    for backend in BACKENDS:
        capture = captures.graphs_of(f, torch.randn(4), backend=backend)
        text = imported(*capture.specs())
        assert '"higher_order.auto_functionalized_v2"(%arg0_1, %add)' in text
        assert "commsched.all_reduce %auto_functionalized_v2 on" in text
    text = imported(*capture.specs(capture.lowered))
    (call,) = [l for l in text.splitlines() if "importer_test.add_to" in l]
    assert "(%arg0_1, %add)" in call and "mutates = array<i64: 1>" in call


@torch.library.custom_op("importer_test::say", mutates_args=())
def say(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@say.register_fake
def _(x):
    return torch.empty_like(x)


@every_backend
def test_effects_are_ordered_by_their_tokens(group, imported, backend):
    registered = effects._register_effectful_op(
        "importer_test::say", effects._EffectType.ORDERED
    )

    def f(x):
        first = say(x)
        reduced = funcol.all_reduce(x, "sum", group)
        return say(reduced) + first

    try:
        capture = captures.graphs_of(f, torch.randn(4), backend=backend)
    finally:
        registered.destroy()
    text = read(imported, capture)
    assert '"higher_order.with_effects"(%with_effects#0, %wait_tensor)' in text


@every_backend
def test_loops_and_branches_are_left_whole(group, imported, backend):
    def branch(x):
        def taken(x):
            return funcol.all_reduce(x.sin(), "sum", group) + 1

        return torch.cond(x.sum() > 0, taken, lambda x: x.cos(), (x,))

    def loop(x):
        start = (torch.tensor(0), x)
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.sin()), start)[1]

    def sums(x):
        return scan(lambda c, x: (c + x, c * x), x[0], x)[1]

    x = torch.randn(4, 4)
    for function, operators in (
        (branch, ["cond"]),
        (loop, ["while_loop"]),
        (sums, ["scan", "while_loop"]),
    ):
        capture = captures.graphs_of(function, x, backend=backend, fullgraph=True)
        text = read(imported, capture)
        assert any(f'"higher_order.{name}"' in text for name in operators)
        assert "future" not in text
        assert ("random" in text) == (function is branch)


@every_backend
def test_numbers_of_eight_bits(group, imported, backend):
    def f(x):
        small = x.to(torch.float8_e4m3fn)
        one = torch.ones(())
        whole = funcol.all_gather_tensor(small, 0, group)
        return torch._scaled_mm(whole, small.t(), one, one, out_dtype=torch.bfloat16)

    text = read(imported, captures.graphs_of(f, torch.randn(16, 16), backend=backend))
    assert "!commsched.future<tensor<32x16xf8E4M3FN>>" in text
    assert f"flops = {2.0 * 32 * 16 * 16} : f64" in text


@every_backend
def test_outputs_that_are_no_tensors(imported, backend):
    def f(x, n):
        return x * n, None, (x.shape[0], [x + 1]), n + 1

    capture = captures.graphs_of(
        f, torch.randn(4, 3, requires_grad=True), 3,
        backend=backend, dynamic=True,
    )
    text = read(imported, capture)
    assert "-> (tensor<4x3xf32>, tensor<4x3xf32>" in text


@every_backend
def test_sizes_of_zero_complex_numbers_and_strides(group, imported, backend):
    def f(x, z):
        empty = funcol.all_gather_tensor(x[:0], 0, group)
        turned = funcol.all_reduce(x.t(), "sum", group)
        rows = funcol.all_gather_tensor(x, 1, group)
        numbers = funcol.all_gather_tensor(z, 0, group)
        return empty.sum() + turned.sum() + rows.sum(), numbers * 2

    capture = captures.graphs_of(
        f, torch.randn(4, 6), torch.randn(4, dtype=torch.complex64),
        backend=backend,
    )
    text = read(imported, capture)
    assert "!commsched.future<tensor<0x6xf32>>" in text
    assert "!commsched.future<tensor<6x4xf32>>" in text
    assert "!commsched.future<tensor<8xcomplex<f32>>>" in text


def test_random_numbers_of_inductor(imported):
    def f(x):
        return torch.rand(4, 4) + torch.nn.functional.dropout(x, 0.2)

    capture = captures.graphs_of(
        f, torch.randn(4, 4, requires_grad=True), backend="inductor",
        config={"fallback_random": False},
    )
    text = read(imported, capture)
    (seeds,) = [l for l in text.splitlines() if "prims.inductor_seeds" in l]
    assert ", random}" in seeds
    assert text.count('"prims.inductor_random"') == 2


def kernel_call(g, wrapper, x, y, constants, **more):
    """A call of a kernel on x and y, before its launch is known."""
    call = {
        "kernel_idx": 0,
        "constant_args_idx": constants,
        "grid": [(1, 1, 1)],
        "tma_descriptor_metadata": {},
        "kwargs": {"a": x, "b": y},
        **more,
    }
    return g.add("kernel", wrapper, (), None, call)


def test_triton_kernel(imported, monkeypatch):
    """A kernel writes what its call names, or what Triton finds that it
    writes; where that is unknown, every operand."""
    def functional(g, x, y):
        operator = wrap.triton_kernel_wrapper_functional
        call = kernel_call(g, operator, x, y, 0, tensors_to_clone=["b"])
        call.meta["val"] = {"b": g.like(y)}
        return g.item("out", call, "b")

    text = imported(build([("x", (4,)), ("y", (4,))], functional))
    assert '"higher_order.triton_kernel_wrapper_functional"(%x, %y)' in text
    assert "mutates" not in text and "return %kernel" in text

    def in_place(g, x, y):
        kernel_call(g, wrap.triton_kernel_wrapper_mutation, x, y, 1)
        return x

    def written(kernel, constants, arguments, descriptors):
        assert (kernel, constants) == (0, 1) and sorted(arguments) == ["a", "b"]
        assert all(isinstance(v, torch.Tensor) for v in arguments.values())
        return ["b"]

    monkeypatch.setattr(names, "get_mutated_tensors", written, raising=False)
    (call,) = lines(imported(build([("x", (4,)), ("y", (4,))], in_place)))
    assert "(%x, %y)" in call and "mutates = array<i64: 1>" in call


def test_graph_out_of_order(imported):
    aten = torch.ops.aten

    def uses(g, x):
        a = g.add("a", aten.neg, (x,), x)
        b = g.add("b", aten.sin, (x,), x)
        c = g.add("c", aten.cos, (a,), x)
        return g.add("d", aten.add.Tensor, (b, c), x)

    graph = build([("x", (4,))], uses)
    nodes = {node.name: node for node in graph.graph.nodes}
    assert not put_in_order(graph.graph)
    nodes["b"].append(nodes["a"])
    nodes["x"].append(nodes["d"])
    nodes["d"].append(nodes["c"])
    with pytest.raises(GraphImportError, match="node 'd'.*uses node 'b'"):
        imported(graph)
    assert put_in_order(graph.graph)
    graph.graph.lint()
    assert names_of(graph) == ["x", "b", "a", "c", "d", "output"]
    assert len(lines(imported(graph))) == 4
    # A node that an input and a late node make ready.
    nodes["d"].args = (nodes["c"], nodes["x"])
    for before, name in zip("dca", "cax"):
        nodes[before].append(nodes[name])
    assert put_in_order(graph.graph)
    assert names_of(graph) == ["x", "a", "c", "d", "b", "output"]
