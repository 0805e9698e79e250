# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names are for people: plans hold whatever operations are called."""

import pytest

torch = pytest.importorskip("torch")

from commsched import opt  # noqa: E402
from commsched.torch.rewriting import PlanError, make_plan  # noqa: E402
from commsched.torch.rewriting.inlining import place_calls  # noqa: E402
from graphs import build  # noqa: E402

aten = torch.ops.aten

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


def test_what_a_pass_made_without_a_bucket_is_an_error(opt_program):
    before, after, _ = bucketed(PLAIN, "copy")
    for op in after.functions[0].operations:
        op.origin = ()
    with pytest.raises(PlanError, match="which no plan can say"):
        make_plan(before, after, "main")


def test_calls_take_the_place_of_what_they_run_and_of_nothing_else():
    """Both calls run operators whose names begin with the name of both."""

    def region(*names):
        def body(g, x):
            for name in names:
                x = g.add(name, aten.sin, (x,), g.like(x))
            return (x,)

        return build([("a", (4, 4))], body)

    root = torch.nn.Module()
    root.one, root.two = region("a_sin", "cos"), region("sin", "cos")

    def uses(g, x):
        op = torch.ops.higher_order.invoke_subgraph
        for name, held in (("wrap", "one"), ("wrap_a", "two")):
            body = g.graph.get_attr(held)
            call = g.add(name, op, (body, held, x), (g.like(x),))
            x = g.item(f"{name}_item", call, 0)
        return (x,)

    gm = build([("x", (4, 4))], uses, root)
    order = ("wrap_a_sin", "wrap_a_sin_1", "wrap_a_cos", "wrap_cos")
    assert place_calls(order, gm.graph) == ["wrap_a", "wrap"]
