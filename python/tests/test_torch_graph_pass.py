# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pass for frameworks that keep one graph of the whole step."""

import functools

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.regional_inductor import regional_inductor

from commsched.torch import (
    Options,
    OptionsError,
    ScheduleError,
    explain,
    private,
    schedule_pass,
)
from commsched.torch.compiling import graph_pass, inductor, inductor_step, records
from graphs import gather, names as order, scatter
from launch_order import Calls, landmarks, watch_schedules
from ranks import run_ranks

pytestmark = pytest.mark.usefixtures("opt_program")

WIDTH, LAYERS, STEPS = 64, 3, 3


def forward_backward(group, world, x, shards):
    """Returns the loss of sharded linear layers, and an iterator over the
    shards of its gradients."""
    whole = [gather(s, group, world).detach().requires_grad_() for s in shards]
    with torch.enable_grad():
        hidden = x
        for weight in whole:
            hidden = torch.relu(hidden @ weight)
        loss = hidden.square().mean()
        gradients = torch.autograd.grad(loss, whole)
    return loss.detach(), (scatter(g, group, "avg", world) for g in gradients)


def whole_step(group, world, learning_rate=0.1):
    """Forward, loss, backward and optimizer as one function of the input and
    the shards."""

    def step(x, *shards):
        loss, parts = forward_backward(group, world, x, shards)
        for shard, part in zip(shards, parts):
            shard.sub_(part, alpha=learning_rate)
        return loss

    return step


def run_steps(rank):
    """Returns the differences from the graph as it was, whether the order is
    another one, and the record."""
    world, group = dist.get_world_size(), dist.group.WORLD.group_name
    torch.manual_seed(0)
    full = [torch.randn(WIDTH, WIDTH) / 8 for _ in range(LAYERS)]
    shards = [nn.Parameter(w.chunk(world)[rank].clone()) for w in full]
    with torch.no_grad():
        x = torch.randn(8, WIDTH)
        gm = make_fx(whole_step(group, world))(x, *shards)
        plain = make_fx(whole_step(group, world))(x, *shards)
        before = order(gm)
        graph = gm.graph
        result = schedule_pass(target="h100")(gm, [x, *shards], extra=1)
        assert result is gm and gm.graph is graph
        states = []
        for module in (plain, gm):
            torch.manual_seed(rank)
            own = [s.detach().clone() for s in shards]
            losses = [module(torch.randn(8, WIDTH), *own) for _ in range(STEPS)]
            states.append([*losses, *own])
    (record,) = records.records()
    equal = all(torch.equal(a, b) for a, b in zip(*states))
    return equal, order(gm) != before, record.status, record.kind


def test_a_whole_step_is_scheduled_in_place():
    for outcome in run_ranks(run_steps, 2, timeout=90):
        assert outcome == (True, True, "scheduled", "step")


def scramble(graph):
    """Puts a graph into another order, as `regional_inductor` does to larger
    ones: a node comes where something first needs it, from the end."""
    order = dict.fromkeys(graph.find_nodes(op="placeholder"))

    def visit(node):
        for operand in reversed(node.all_input_nodes):
            visit(operand)
        order.setdefault(node)

    visit(graph.output_node())
    private.relink(graph, order)


def run_inductor(rank):
    """Returns what is scheduled while `regional_inductor` compiles a step, as
    torchtitan lets it: the kind of graph, and the number of parameters; then
    what was planned, and what ran."""
    def watch(gm, kind, options, roles, **settings):
        scheduled.append((kind, len(roles)))
        return optimize(gm, kind, options, roles, **settings)

    def restore(self, graph):
        scramble(graph)
        assert landmarks(graph) != traced
        sort(self, graph)
        restored.append(landmarks(graph))

    def step(*inputs):
        loss, parts = forward_backward(group, world, inputs[-1], inputs[:-1])
        return [loss, *parts]

    world, group = dist.get_world_size(), dist.group.WORLD.group_name
    torch.manual_seed(rank)
    shape = WIDTH // world, WIDTH
    inputs = [torch.randn(shape) / 8 for _ in range(LAYERS)]
    inputs.append(torch.randn(8, WIDTH))
    gm = make_fx(step, tracing_mode="fake")(*inputs)
    expected = gm(*inputs)
    fakes = [n.meta["val"] for n in gm.graph.find_nodes(op="placeholder")]
    context = torch._guards.TracingContext(fakes[0].fake_mode)
    scheduled, optimize = [], inductor.optimize_graph
    restored, sort = [], inductor_step.TracedOrder.__call__
    inductor.optimize_graph = watch
    inductor_step.TracedOrder.__call__ = restore
    traced, planned, calls = landmarks(gm.graph), watch_schedules(), Calls()
    options = Options.of({"buckets": "off", "strict": True})
    inductor_step.StepPass(options, LAYERS)(gm)
    with torch._guards.tracing(context):
        with torch._inductor.config.patch(reorder_for_peak_memory=True):
            compiled = regional_inductor(gm, fakes)
    with calls:
        found = compiled(list(inputs))
    torch.testing.assert_close(list(found), expected)
    assert restored == [traced]
    return scheduled, planned, calls.names


def test_inductor_keeps_the_order_of_a_whole_step():
    outcomes = run_ranks(run_inductor, 2, timeout=200)
    for scheduled, planned, ran in outcomes:
        assert scheduled == [("step", LAYERS)]
        assert planned == [ran] and ran.count("wait_tensor") == 2 * LAYERS
        assert ran.count("mm") == 3 * LAYERS - 1


@pytest.fixture
def traced(fake_world):
    group = fake_world(8)
    shards = [nn.Parameter(torch.randn(WIDTH // 8, WIDTH)) for _ in range(LAYERS)]
    inputs = [torch.randn(8, WIDTH), *shards]
    with torch.no_grad():
        return make_fx(whole_step(group, 8))(*inputs), inputs


@pytest.mark.parametrize(
    "given",
    [
        lambda names: None,
        lambda names: set(names[1:]),
        lambda names: lambda node: node.name in names[1:],
    ],
    ids=["inputs", "names", "function"],
)
def test_parameters_are_known(traced, given, monkeypatch):
    gm, inputs = traced
    names = [n.name for n in gm.graph.find_nodes(op="placeholder")]
    seen = []
    monkeypatch.setattr(graph_pass, "optimize_graph", lambda *a, **k: seen.append(a))
    schedule_pass(parameters=given(names))(gm, inputs)
    assert seen[0][3] == dict.fromkeys(names[1:], "parameter")
    schedule_pass(parameters=2)(gm, inputs)
    assert seen[1][3] == dict.fromkeys(names[:2], "parameter")


def test_without_inputs_the_graph_is_scheduled_too(traced):
    gm, _ = traced
    before = order(gm)
    schedule_pass(target="h100")(gm)
    assert order(gm) != before
    assert str(explain()).startswith("step graph\n  scheduled by this rank")


def test_a_wrapped_graph_is_an_error(traced):
    """As by a pass that captures a graph."""
    gm, inputs = traced
    gm.forward = functools.partial(gm.forward)
    before = order(gm)
    with pytest.raises(ScheduleError, match="was replaced by 'partial', which"):
        schedule_pass(target="h100")(gm, inputs)
    assert order(gm) == before


def test_caches_know_a_pass_by_its_options():
    assert schedule_pass().uuid() == schedule_pass().uuid()
    assert schedule_pass().uuid() != schedule_pass(target="b200").uuid()
    with pytest.raises(OptionsError):
        schedule_pass(target="tpu")
