# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of Traceable FSDP2: unsharded parameters, whose storage is grown,
filled and freed around their use, and FSDP's own copies."""

import pytest

torch = pytest.importorskip("torch")

from commsched import opt  # noqa: E402
from commsched.torch import import_graph_module  # noqa: E402
from commsched.torch import ImportOptions  # noqa: E402
from commsched.torch.rewriting import RewriteError, apply_plan  # noqa: E402
from commsched.torch.rewriting import PlanError, make_plan  # noqa: E402
from test_import_fsdp2 import parameter_graph, whole_step  # noqa: E402

aten = torch.ops.aten
c10d = torch.ops._c10d_functional
REMOVE = "--commsched-remove-unsharded-param-usage"
REINPLACE = "--commsched-reinplace-all-gather"


def schedule(gm, *passes):
    options = ImportOptions(groups={"dp": 4})
    module = import_graph_module(gm, options=options)
    before, after, _ = opt.run_programs(module, *passes)
    return make_plan(before, after, "main")


def names(gm):
    return [node.name for node in gm.graph.nodes]


def node(gm, name):
    return next(n for n in gm.graph.nodes if n.name == name)


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

    gm = parameter_graph(lambda s, p, x: body(s, p, x))
    x = node(gm, "x")
    x.meta["val"] = node(gm, "y").meta["val"].new_empty((16, 16))
    plan = schedule(gm, REMOVE)
    apply_plan(gm, plan)
    assert node(gm, "view").args[0].name == "full_0"


def test_two_steps_read_what_each_was_filled_with(opt_program):
    def body(step_, p, x):
        outputs = []
        for index in "01":
            full = step_.gather(index)
            step_.grow(f"grow_{index}", p)
            step_.fill(f"fill_{index}", p, full)
            outputs.append(step_.linear(f"y_{index}", x, p))
            step_.grow(f"free_{index}", p, 0)
        return outputs

    gm = parameter_graph(body)
    apply_plan(gm, schedule(gm, REMOVE))
    assert node(gm, "y_0").args[1].name == "full_0"
    assert node(gm, "y_1").args[1].name == "full_1"


def test_the_order_of_storage_changes_stays(opt_program):
    """Without the pass, resizes and copies are nodes like others."""
    gm = parameter_graph(whole_step)
    before = names(gm)
    plan = schedule(gm, "--commsched-raise-comms")
    assert not plan.removed
    apply_plan(gm, plan)
    order = names(gm)
    assert sorted(order) == sorted(before)
    kept = ["grow", "fill", "y", "free"]
    assert [name for name in order if name in kept] == kept


def functional_gather(step_, p, x):
    """A copy-in whose gather allocates what it delivers."""
    g = step_.g
    buffer = g.add("buffer", aten.empty.memory_format, ([128],),
                   g.like(step_.shard, (128,)))
    pair = g.add(
        "copy_in", torch.ops.fsdp.all_gather_copy_in,
        ([step_.shard], buffer, [32], 32, 0),
        (g.like(step_.shard, (32,)), buffer),
    )
    part = g.item("part", pair, 0)
    start = g.add("gather", c10d.all_gather_into_tensor, (part, 4, "dp"),
                  g.like(part, (128,)))
    whole = g.add("wait", c10d.wait_tensor, (start,), start)
    w = g.add("w", aten.view, (whole, [16, 8]), whole.meta["val"].view(16, 8))
    return step_.linear("y", x, w)


def test_gathers_deliver_into_the_buffer_of_the_copy_in(opt_program):
    gm = parameter_graph(functional_gather)
    plan = schedule(gm, REINPLACE)
    assert plan.into == (("gather", "copy_in", 1),)
    apply_plan(gm, plan)
    (start,) = [
        n for n in gm.graph.nodes
        if n.target is c10d.all_gather_into_tensor_out.default
    ]
    assert start.args[0].name == "part"
    assert start.kwargs["out"].args == (node(gm, "copy_in"), 1)
    assert node(gm, "wait").args[0] is start
    assert "gather" not in names(gm)


def test_a_buffer_that_is_used_is_not_delivered_into(opt_program):
    gm = parameter_graph(functional_gather)
    plan = schedule(gm, REINPLACE)
    pair, y = node(gm, "copy_in"), node(gm, "y")
    with gm.graph.inserting_before(y):
        import operator

        item = gm.graph.call_function(operator.getitem, (pair, 1))
        item.meta["val"] = pair.meta["val"][1]
        used = gm.graph.call_function(aten.sin.default, (item,))
        used.meta["val"] = item.meta["val"]
    before = [(n.name, n.args) for n in gm.graph.nodes]
    with pytest.raises(RewriteError, match="cannot deliver into"):
        apply_plan(gm, plan)
    assert [(n.name, n.args) for n in gm.graph.nodes] == before


def test_an_effect_that_is_left_out_is_no_plan(opt_program):
    def body(step_, p, x):
        g = step_.g
        w = g.add("w", aten.add_.Tensor, (x, 1.0), x)
        return step_.linear("y", w, p)

    gm = parameter_graph(body)
    options = ImportOptions(groups={"dp": 4})
    module = import_graph_module(gm, options=options)
    before, after, _ = opt.run_programs(module)
    (function,) = after.functions
    (written,) = [op for op in function.operations if op.name == "w"]
    (reader,) = [op for op in function.operations if op.name == "y"]
    reader.operands = (written.operands[0], *reader.operands[1:])
    function.operations.remove(written)
    with pytest.raises(PlanError, match="has an effect|became"):
        make_plan(before, after, "main")
