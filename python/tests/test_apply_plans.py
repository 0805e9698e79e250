# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of other graphs, symbolic sizes, and what a plan cannot say."""

import pytest
import torch
from commsched.torch.rewriting import RewriteError
from commsched.torch.rewriting.buckets import _Merger
from commsched import opt
from commsched.torch import ImportOptions, apply, import_graph_module
from commsched.torch.rewriting import Plan, PlanError, apply_plan, make_plan
from commsched.torch.rewriting.inlining import place_calls
from graphs import build, fake_trace, gather, names, node_of, reduce, scatter
from simulated import simulate

aten = torch.ops.aten
c10d = torch.ops._c10d_functional
KINDS = ("all-gather", "reduce-scatter", "all-reduce")


def merging(mode):
    return [f"--commsched-bucket-{kind}=mode={mode}" for kind in KINDS]


def programs(gm, *passes):
    module = import_graph_module(gm, options=ImportOptions({"g": 2}))
    return opt.run_programs(module, *passes)


def step(x, y):
    a, b = gather(x.sin()), gather(y)
    c, d = scatter(a * 2), scatter(b + 1)
    return [a, b, c, d, reduce(c), reduce(d.t())]


@pytest.mark.parametrize("mode", ["copy", "coalesced"])
def test_sizes_that_are_symbols(opt_program, mode):
    inputs = [torch.rand(6, 5), torch.rand(4, 3)]
    others = [torch.rand(8, 5), torch.rand(10, 7)]
    gm = fake_trace(step, *inputs, tracing_mode="symbolic")
    wanted = [simulate(gm, given) for given in (inputs, others)]
    plan = make_plan(*programs(gm, *merging(mode))[:2], "main")
    assert len(plan.buckets) == 3
    apply_plan(gm, plan)
    found = [simulate(gm, given) for given in (inputs, others)]
    for a, b in zip(wanted, found):
        assert all(map(torch.equal, a, b))


def padded(rows, width=5):
    """Parameters of which this rank has `rows` of 3; the rest is padding."""

    def body(b, x, y):
        source = x
        if rows < 3:
            source = b.add(
                "pad", aten.constant_pad_nd, (x, [0, 0, 0, 3 - rows]),
                b.like(x, (3, width)),
            )
        outs = []
        for name, sent in (("x", source), ("y", y)):
            wait = b.wait(f"wait_{name}", b.gather(f"start_{name}", sent))
            outs.append(b.add(f"sin_{name}", aten.sin, (wait,), b.like(wait)))
        return outs

    return build([("x", (rows, width)), ("y", (3, width))], body)


@pytest.mark.parametrize("mode", ["copy", "coalesced"])
@pytest.mark.parametrize("own, other", [(3, 2), (2, 3)])
def test_plans_of_ranks_with_other_padding_and_sizes(opt_program, mode, own, other):
    plan = make_plan(*programs(padded(own), *merging(mode))[:2], "main")
    assert len(plan.buckets) == 1
    gm = padded(other, width=7)
    inputs = [torch.rand(other, 7), torch.rand(3, 7)]
    wanted = simulate(gm, inputs)
    apply_plan(gm, Plan.from_json(plan.to_json()))
    assert all(map(torch.equal, wanted, simulate(gm, inputs)))
    starts = [n for n in gm.graph.nodes if "all_gather" in str(n.target)]
    assert len(starts) == 1
    if other < 3:
        # Directly before what needs it, or what packs that.
        following = node_of(gm, "pad").next
        assert following.all_input_nodes[0].name == "pad"


def test_apply_takes_what_run_programs_returns(opt_program):
    gm = padded(3)
    assert apply(gm, programs(gm, "--commsched-raise-comms")) is gm
    assert names(gm).index("start_y") < names(gm).index("wait_x")
    with pytest.raises(PlanError, match="no function @other"):
        apply(gm, programs(gm), "other")


def test_new_nodes_are_described_like_their_members(opt_program):
    gm = padded(3)
    for node in gm.graph.nodes:
        node.meta["nn_module_stack"] = {"a": (f"layer.{node.name}", object)}
        node.meta["stack_trace"] = f"line of {node.name}"
    old = set(gm.graph.nodes)
    apply(gm, programs(gm, *merging("copy")))
    for node in gm.graph.nodes:
        if node not in old:
            assert node.meta["stack_trace"].startswith("line of ")
            assert "nn_module_stack" in node.meta
            assert "start_" in node.name or "wait_" in node.name
    out = node_of(gm, "sin_y").args[0]
    assert out.name == "wait_y_of_bucket"
    assert out.meta["stack_trace"] == "line of wait_y"


@pytest.mark.parametrize("other", [None, torch.float64])
def test_casts_to_a_larger_type_become_one(opt_program, monkeypatch, other):
    def casts(x, y):
        return [scatter(a.to(torch.float32)) for a in (x, y)]

    inputs = [torch.rand(4, 2).half(), torch.rand(6).half()]
    gm = fake_trace(casts, *inputs)
    wanted = simulate(gm, inputs)
    plan = make_plan(*programs(gm, *merging("copy"))[:2], "main")
    if other is not None:
        convert = _Merger._convert

        def fault(self, packed, casts):
            made = convert(self, packed, casts)
            made.kwargs = {"dtype": other}
            return made

        monkeypatch.setattr(_Merger, "_convert", fault)
        with pytest.raises(RewriteError, match="not converted so before"):
            apply_plan(gm, plan)
    else:
        apply_plan(gm, plan)
        names = [n.target for n in gm.graph.nodes]
        assert names.count(aten._to_copy.default) == 1
    assert all(map(torch.equal, wanted, simulate(gm, inputs)))


def test_what_no_plan_can_say_is_an_error(opt_program):
    def rename(function):
        function.operations[-1].name = "other"

    def give_another_type(function):
        function.operations[-1].results = function.operations[0].results

    def drop_operand(function):
        function.operations[-1].operands = ()

    def drop_write(function):
        write, reader = function.operations
        reader.operands = write.operands[:1]
        function.operations.remove(write)

    def writes(b, x):
        w = b.add("w", aten.add_.Tensor, (x, 1.0), x)
        return b.add("y", aten.neg, (w,), b.like(x))

    for change, match in [
        (rename, "which no plan can say"),
        (give_another_type, "other types"),
        (drop_operand, "has 0"),
        (drop_write, "has an effect|became"),
    ]:
        gm = build([("x", (4,))], writes) if change is drop_write else padded(3)
        before, after, _ = programs(gm)
        change(after.functions[0])
        with pytest.raises(PlanError, match=match):
            make_plan(before, after, "main")


def test_sums_before_reduce_scatter_are_refused(opt_program):
    def sums(x, y):
        return scatter(x) + scatter(y)

    gm = fake_trace(sums, torch.rand(4, 2), torch.rand(4, 2))
    passes = "--commsched-bucket-reduce-scatter=mode=copy sum-first"
    run = programs(gm, passes)
    with pytest.raises(PlanError, match="other types"):
        make_plan(run.before, run.after, "main")


# -- Names are for people: plans hold whatever operations are called.


# Names that a merged, a split or an imported operation could have.
GATHERS = """
commsched.group @g size(2) ranks_per_node(2)
func.func @main(%x: tensor<4xf32>, %y: tensor<4xbf16>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {{
  %c = arith.extf %y {{commsched.name = "{cast}"}} : tensor<4xbf16> to tensor<4xf32>
  %a = commsched.all_gather %x on @g dim(0) {{commsched.name = "{a}"}} : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %b = commsched.all_gather %c on @g dim(0) {{commsched.name = "{b}"}} : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %v = commsched.wait %a {{commsched.name = "{v}"}} : !commsched.future<tensor<8xf32>>
  %w = commsched.wait %b {{commsched.name = "{w}"}} : !commsched.future<tensor<8xf32>>
  %s = math.sin %v {{commsched.name = "{s}"}} : tensor<8xf32>
  return %v, %w, %s : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}}
"""
PLAIN = dict(a="a", b="b", v="v", w="w", s="s", cast="c")
ODD = (
    dict(a="p+q", b="r.copy_in", v="p.wait", w="w.1", s="s.chunk0", cast="c."),
    # What the bucket, its copy-in, copy-out and wait are called.
    dict(a="x", b="y", v="w", w="x+y.copy_in", s="x+y", cast="x+y.copy_out"),
    dict(a="x.0", b="x.1", v="x.wait", w="call_x", s="x", cast="x.operand"),
)


def bucketed(names, mode):
    text = GATHERS.format(**names)
    return opt.run_programs(text, f"--commsched-bucket=kinds=all-gather mode={mode}")


@pytest.mark.parametrize("mode", ["copy", "coalesced"])
@pytest.mark.parametrize("names", ODD)
def test_plans_of_odd_names_are_those_of_plain_ones(opt_program, names, mode):
    plain = make_plan(*bucketed(PLAIN, mode)[:2], "main")
    (bucket,) = plain.buckets
    assert bucket.starts == ("a", "b") and bucket.waits == ("v", "w")
    assert bucket.absorbed_casts == ("", "c" if mode == "copy" else "")
    odd = {PLAIN[key]: name for key, name in names.items()}

    def renamed(entries):
        return tuple(odd.get(entry, entry) for entry in entries)

    found = make_plan(*bucketed(names, mode)[:2], "main")
    (other,) = found.buckets
    assert found.order == renamed(plain.order)
    assert other.starts == renamed(bucket.starts)
    assert other.waits == renamed(bucket.waits)
    assert other.absorbed_casts == renamed(bucket.absorbed_casts)
    assert not found.removed and not found.replacements


def test_calls_take_the_place_of_what_they_run_and_of_nothing_else():
    """Both calls run operators whose names begin with the name of both."""

    def region(*names):
        def body(g, x):
            for name in names:
                x = g.add(name, aten.sin, (x,), g.like(x))
            return (x,)

        return build([("a", (4, 4))], body)

    def uses(g, x):
        for name, held in (("wrap", "one"), ("wrap_a", "two")):
            call = g.invoke(name, held, x, value=(g.like(x),))
            x = g.item(f"{name}_item", call, 0)
        return (x,)

    held = {"one": region("a_sin", "cos"), "two": region("sin", "cos")}
    gm = build([("x", (4, 4))], uses, **held)
    order = ("wrap_a_sin", "wrap_a_sin_1", "wrap_a_cos", "wrap_cos")
    assert place_calls(order, gm.graph) == ["wrap_a", "wrap"]
