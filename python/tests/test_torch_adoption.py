# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models under FSDP2's `fully_shard` or `DistributedDataParallel`: adopted, they train
as before."""

import contextlib
import copy
import functools
import gc
import math
import pickle
import warnings
import weakref

import pytest
import torch
import torch.nn.functional as F
import commsched.torch as cs
import fully_shard_steps as steps
import seeds
from commsched.torch import reads
from commsched.torch.compiling import records
from commsched.torch.compiling.backend import commsched
from commsched.torch.compiling.shared_reads import list_reads
from ranks import run_ranks
from torch import nn
from torch._dynamo.testing import CompileCounter
from torch.distributed import BuiltinCommHookType
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from torch.distributed.tensor import DTensor
from torch.utils.checkpoint import checkpoint

#: Cases that have most of what others have one by one; of those some take turns.
ALWAYS = (
    "plain",
    "accumulated, bfloat16",
    "DDP, accumulated",
    "replicated, accumulated, bfloat16",
    "sequence parallel, accumulated, bfloat16, replicated",
)
IN_TURN = {2: 3, 4: 1}


def cases_of(ranks):
    names = [n for n, case in steps.CASES.items() if math.prod(case.shape) == ranks]
    others = [name for name in names if name not in ALWAYS]
    chosen = seeds.turns(others, IN_TURN[ranks])
    return [name for name in names if name in ALWAYS or name in chosen]


@pytest.fixture(scope="module", params=IN_TURN)
def compared(request):
    cases = cases_of(request.param)
    return run_ranks(
        steps.compare_all, request.param, timeout=400, args=(cases, "eager")
    )


def test_steps_have_equal_bits_and_their_collectives_in_the_graph(compared):
    for by_case in compared:
        for case, (differing, said) in by_case.items():
            assert not differing, f"{case}: {differing}"
            for kind in steps.CASES[case].kinds:
                assert kind in said, f"{case}: {said}"


@pytest.fixture(scope="module")
def checked():
    return run_ranks(steps.check_all, 2, timeout=400)


@pytest.mark.parametrize("case", range(2), ids=["interrupted", "half"])
def test_steps_that_raise_other_meshes_and_half_models_have_equal_bits(checked, case):
    for _, cases, *_ in checked:
        (told, states), (told_adopted, states_adopted) = cases[case]
        assert told_adopted == told
        for values, others in zip(states, states_adopted):
            assert [name for name in values
                    if not torch.equal(values[name], others[name])] == []


def test_what_was_accumulated_counts_once_with_several_reads(checked):
    for found, *_ in checked:
        for (is_replica, way), gradients in found.items():
            for one, other in zip(found[is_replica, "plain"], gradients):
                # Its uses are reduced one by one, which rounds otherwise.
                torch.testing.assert_close(other, one, msg=f"{is_replica}, {way}")


def test_ranks_that_adopt_other_parameters_are_told(checked):
    # Whoever is first does not wait.
    (message,) = [found for *_, (found, _) in checked if found]
    first, second = sorted(message[5:message.index(" adopt")].split(" and rank "))
    assert (first, second) == ("0", "1") and "over 2 ranks: '" in message
    assert "'0.weight' on rank 0" in message and "'1.weight' on rank 1" in message
    *_, (_, message) = checked[0]
    assert message == ("rank 0 waited 0.2 s in a forward of its Linear for 1 of 2 ranks, "
                       "of which rank 1 is the first, to adopt that model, too")


def test_a_replica_reduces_what_is_used_without_reading_it(checked):
    for _, _, found, _ in checked:
        gradients, said = zip(*found)
        for others in gradients[1:]:
            torch.testing.assert_close(others, gradients[0])
        assert [len(messages) for messages in said] == [0, 1, 1]
        assert "the parameter 'weight' of a Hidden, used but not" in said[1][0]


@pytest.fixture
def mesh(fake_world):
    fake_world(2)
    return init_device_mesh("cpu", (2,))


def sharded(mesh, **options):
    return fully_shard(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), mesh=mesh,
                       **options)


def test_an_adopted_model_is_given_back(mesh):
    model = sharded(mesh)
    before = (type(model), dict(vars(model)), dict(model.named_parameters()))
    hooks = [dict(h) for h in (model._forward_pre_hooks, model._forward_hooks)]
    cs.adopt(model)
    assert not isinstance(model, FSDPModule)
    assert type(model).__name__ == "Sequential"
    assert not model._forward_pre_hooks and not model._forward_hooks
    assert model[0].weight is model[0]._parameters["weight"]
    cs.release(model)
    assert (type(model), dict(vars(model)), dict(model.named_parameters())) == before
    assert [model._forward_pre_hooks, model._forward_hooks] == hooks


@pytest.mark.parametrize("is_patched", [False, True])
def test_hooks_and_forwards_of_the_user_see_the_types_of_fully_shard(mesh, is_patched):
    seen, models = [], [nn.Sequential(nn.Linear(4, 4)) for _ in range(2)]
    for model in models:
        inner, found = model[0], []
        seen.append(found)
        if is_patched:
            inner.forward = lambda x, m=inner, f=found: [
                f.append(x.dtype), F.linear(x, m.weight, m.bias)][1]
        else:
            inner.register_forward_hook(lambda m, a, o, f=found: f.append(o.dtype))
        policy = MixedPrecisionPolicy(torch.bfloat16, output_dtype=torch.float64)
        fully_shard(inner, mesh=mesh, mp_policy=policy)
        if not is_patched:
            inner.register_forward_pre_hook(lambda m, a, f=found: f.append(a[0].dtype))
            inner.register_forward_hook(lambda m, a, o, f=found: f.append(o.dtype))
        fully_shard(model, mesh=mesh)
    changes = (nn.Module.eval, cs.adopt, cs.release)
    for change, model in zip(changes, models + models[1:]):
        assert change(model)(torch.ones(1, 4)).dtype == torch.float64
    assert seen[1] == seen[0] * 2


def test_what_cannot_be_adopted_stays_and_is_named(mesh):
    model = nn.Sequential(sharded(mesh, offload_policy=CPUOffloadPolicy(False)),
                          fully_shard(nn.Embedding(2, 2, max_norm=1.0), mesh=mesh),
                          sharded(mesh))
    with pytest.warns(UserWarning, match="0 is not adopted.*'weight' of 0.0: it is "
                                         "offloaded"), \
         pytest.warns(UserWarning, match="'weight' of 1: its module has a max_norm"):
        cs.adopt(model)
    assert [isinstance(m, FSDPModule) for m in model] == [True, True, False]
    # What is around an adopted module does not run it.
    around = fully_shard(nn.Sequential(model[2], nn.Linear(4, 4)), mesh=mesh)
    assert around(torch.ones(1, 4)).shape == (1, 4)


def test_what_stays_around_an_adopted_module_says_when_to_reduce(mesh):
    model = nn.Sequential(sharded(mesh), nn.Linear(4, 4))
    cls = type(fully_shard(model, mesh=mesh))
    model[1].weight.register_hook(lambda g: g)
    for _ in range(2):
        with pytest.warns(UserWarning, match="the model is not adopted"):
            cs.adopt(model)
    model.set_requires_gradient_sync(False)
    model(torch.ones(1, 4)).sum().backward()
    assert model[0][0].weight.grad is None
    model.set_requires_gradient_sync(True)
    with pytest.raises(ValueError, match="gradients that are not reduced yet"):
        cs.release(model)
    model.reset_iter_state()
    assert type(cs.release(model)) is cls


def test_a_model_without_values_gets_them_later(mesh):
    with torch.device("meta"):
        model = cs.adopt(sharded(mesh))
    with pytest.raises(RuntimeError, match="'weight' of a Linear has no values"):
        model(torch.ones(1, 4))
    model.set_requires_gradient_sync(False)
    model.to_empty(device="cpu")
    for parameter in model.parameters():
        nn.init.ones_(parameter)
    nn.init.constant_(model[0].weight, 2.0)
    # The fake ranks gather nothing; this rank's rows are whole.
    output = model(torch.ones(1, 4))[0, 0]
    output.backward()
    assert output == 4 * (4 * 2 + 1) + 1 and model[0].weight.grad is None


def test_an_adopted_model_is_converted(mesh):
    model = cs.adopt(sharded(mesh)).to(torch.bfloat16)
    output = model(torch.ones(1, 4, dtype=torch.bfloat16))
    output.sum().backward()
    assert {output.dtype, *(p.grad.dtype for p in model.parameters())} == {
        torch.bfloat16
    }


def test_parameters_are_gathered_in_forwards_only(mesh):
    shapes = []

    class Layer(nn.Linear):
        def forward(self, x):
            shapes.append(self.weight.shape)
            return checkpoint(lambda x: x @ self.weight, x, use_reentrant=False)

    layer = cs.adopt(fully_shard(Layer(4, 4), mesh=mesh))
    assert isinstance(layer.weight, DTensor)
    loss = layer(torch.ones(1, 4)).sum()
    assert shapes == [(4, 4)]
    loss.backward()
    assert layer.weight.grad is not None
    layer.unshard()
    assert type(layer.weight) is torch.Tensor
    layer.reshard()
    assert isinstance(layer.weight, DTensor)
    # Transforms of torch.func do not have DTensors.
    compiled = torch.compile(lambda x: torch.vmap(layer)(x), backend="aot_eager")
    for call in (torch.vmap(layer), compiled):
        assert call(torch.ones(2, 1, 4)).shape == (2, 1, 4)


def test_functional_call_computes_with_what_it_is_given(mesh, replica):
    for model in (sharded(mesh), replica(nn.Linear(4, 4))):
        model = getattr(cs.adopt(model), "module", model)
        given = {name: torch.ones(p.shape) for name, p in model.named_parameters()}
        gradients = torch.func.grad(
            lambda given: torch.func.functional_call(model, given, torch.ones(4)).sum()
        )(given)
        assert all(g.eq(g.max()).all() and g.max() > 0 for g in gradients.values())


def test_a_forward_that_changes_what_it_reads_is_an_error(mesh, replica):
    class Halved(nn.Linear):
        def forward(self, x):
            self.weight.data = self.weight.data / 2
            return super().forward(x)

    model = cs.adopt(replica(Halved(4, 4)))
    model(torch.ones(1, 4))
    with pytest.raises(RuntimeError, match="has set the .* parameter 'weight' of a Hal"):
        model(torch.ones(1, 4))

    @torch.compile(backend="commsched")
    def clamp(layer):
        layer.weight.clamp_(0, 1)

    with torch.no_grad(), pytest.raises(RuntimeError, match="weight.* by clamp_, but"):
        clamp(cs.adopt(fully_shard(nn.Linear(4, 4), mesh=mesh)))


def test_adopted_models_are_not_copied(mesh, replica):
    model = cs.adopt(replica(nn.Sequential(nn.Linear(2, 2))))
    with pytest.raises(TypeError, match="a DistributedDataParallel that is adopted ca"):
        copy.deepcopy(model.module)
    model = cs.adopt(sharded(mesh))
    for function in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a Linear that is adopted cannot be copied"):
            function(model[0])
    assert copy.deepcopy(model.state_dict()).keys() == model.state_dict().keys()


def test_adopted_models_are_freed(mesh, replica):
    for make in (lambda: sharded(mesh), lambda: replica(nn.Linear(4, 4))):
        model = cs.adopt(make())
        model(torch.ones(1, 4)).sum().backward()
        known = weakref.ref(model)
        del model
        gc.collect()
        assert known() is None


def test_a_model_that_is_not_sharded_is_an_error(mesh):
    with pytest.raises(ValueError, match="no module of Linear is under fully_shard$"):
        cs.adopt(nn.Linear(2, 2))
    model = cs.adopt(sharded(mesh))
    with pytest.raises(ValueError, match="or they are adopted already"):
        cs.adopt(model)


def test_what_would_change_collectives_is_an_error(mesh):
    model = cs.adopt(sharded(mesh))
    model.set_reshard_after_forward(False)
    model.unshard(async_op=True).wait()
    optimizer = torch.optim.SGD(model.parameters())
    for reshards in (True, False):
        model.set_reshard_after_backward(reshards)
        model(torch.ones(1, 4)).sum().backward()
        with contextlib.nullcontext() if reshards else pytest.raises(
            RuntimeError, match="'weight' of a Linear after set_reshard_after_backward"
        ):
            optimizer.step()
    with pytest.raises(AttributeError, match="set_gradient_divide_factor changes"):
        model.set_gradient_divide_factor(1.0)
    with pytest.raises(AttributeError, match="has no attribute 'set_nothing'"):
        model.set_nothing()
    # As pruning does it; other models do not mind.
    del model[0].weight
    assert None in [read.parameter for read in list_reads()]
    with pytest.raises(AttributeError, match="'weight' of a Linear is gathered or redu"):
        model[0].weight = torch.ones(4, 4)
    model[1].bias = None
    model.set_requires_gradient_sync(False)
    assert model[1](torch.ones(1, 4)).shape == (1, 4)
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'weight'"):
        model(torch.ones(1, 4))


def test_a_module_that_is_no_part_any_more_is_no_obstacle(mesh):
    model = sharded(mesh)
    del model[1]
    cs.adopt(model)(torch.ones(1, 4)).sum().backward()
    assert model[0].weight.grad is not None


def test_unreduced_gradients_are_not_lost(mesh):
    model = cs.adopt(sharded(mesh))
    seen = []
    model[0].weight.register_post_accumulate_grad_hook(seen.append)

    def accumulate():
        model.set_requires_gradient_sync(False)
        model(torch.ones(1, 4)).sum().backward()

    # A step that raises leaves none.
    accumulate()
    model.reset_iter_state()
    model.set_requires_gradient_sync(True)
    cs.release(model)
    cs.adopt(model)
    accumulate()
    assert model[0].weight.grad is None
    with pytest.raises(ValueError, match="'weight' of a Linear has gradients"):
        cs.release(model)
    # A parameter that the last backward does not use is reduced after it.
    model.set_requires_gradient_sync(True)
    model[1](torch.ones(1, 4)).sum().backward()
    assert all(p.grad is not None for p in [*model.parameters(), *seen]) and seen
    # So is what a forward kept.
    model.set_requires_gradient_sync(False)
    loss = model(torch.ones(1, 4)).sum()
    model.set_requires_gradient_sync(True)
    seen.clear()
    with pytest.warns(cs.CommSchedWarning, match="kept in a forward, but its b"):
        loss.backward()
    assert seen
    # What is frozen meanwhile is reduced again later.
    model.zero_grad()
    for reduces in (False, True):
        model.set_requires_gradient_sync(reduces)
        model.requires_grad_(reduces)
    model(torch.ones(1, 4)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    cs.release(model)


def test_methods_that_are_forward_methods_stay(mesh):
    class Model(nn.Linear):
        def encode(self, x):
            return self.weight.shape, (x @ self.weight).dtype

    policy = MixedPrecisionPolicy(torch.bfloat16)
    model = fully_shard(Model(4, 4), mesh=mesh, mp_policy=policy)
    register_fsdp_forward_method(model, "encode")
    method = model.encode
    cs.adopt(model)
    assert model.encode(torch.ones(1, 4)) == ((4, 4), torch.bfloat16)
    cs.release(model)
    assert model.encode == method


@pytest.mark.parametrize("what, change", [
    ("it has hooks", lambda m: m[0].weight.register_hook(lambda g: g)),
    ("it has a hook", lambda m: m.set_all_reduce_hook(lambda g: None)),
    ("its gradients are not reduced now",
     lambda m: m.set_requires_gradient_sync(False)),
    ("its mesh has ranks in another order", None),
])
def test_unusual_reductions_stay(mesh, what, change):
    model = sharded(mesh if change else DeviceMesh("cpu", [1, 0]))
    if change:
        change(model)
    with pytest.warns(UserWarning, match=what):
        cs.adopt(model)
    assert isinstance(model, FSDPModule)


def test_a_parameter_that_two_groups_have_is_an_error(mesh):
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].weight = model[0].weight
    for layer in model:
        fully_shard(layer, mesh=mesh)
    with pytest.raises(ValueError, match="'weight' of 0 and .* of 1 were one before"):
        cs.adopt(model)
    assert isinstance(model[0], FSDPModule)


@pytest.fixture
def replica(fake_world):
    fake_world(2)
    return lambda model, **options: nn.parallel.DistributedDataParallel(
        model, **options
    )


class Devices(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return [x.device.type, *(self.inner(torch.ones(1)) if self.inner else [])]


def test_inputs_move_to_the_device_of_the_root(replica):
    model = nn.Sequential(Devices(Devices(None)))
    mesh = init_device_mesh("cpu", (2,))
    for module in reversed(list(model.modules())):
        fully_shard(module, mesh=mesh)._get_fsdp_state()._device = torch.device("meta")
    assert cs.adopt(model)(torch.ones(1)) == ["meta", "cpu"]
    model = cs.adopt(replica(Devices(nn.Linear(1, 1))))
    model.device_type, model.device_ids = "meta", [0]
    assert torch.compile(model, backend="eager")(torch.ones(1))[0] == "meta"


@pytest.mark.parametrize("options, change, obstacle", [
    ({"find_unused_parameters": True}, lambda m: None, "find_unused_parameters"),
    ({}, lambda m: m.register_comm_hook(None, allreduce_hook), "a communication"),
    ({}, lambda m: m._register_builtin_comm_hook(BuiltinCommHookType(1)), "a communic"),
    ({}, lambda m: setattr(m, "require_backward_grad_sync", False), "its gradie"),
    ({}, lambda m: setattr(m.module[0], "sparse", True), ".* of '0': its gradient is"),
    ({}, lambda m: setattr(m.module[0], "max_norm", 1.0), ".* of '0': .* a max_norm"),
    ({}, lambda m: setattr(m, "_use_python_reducer", True), ".*optimize_ddp was"),
    ({}, lambda m: setattr(m.module[0].weight, "_st_info", 0), "'0' is distributed, a"),
    ({}, lambda m: m.module[0].weight.register_hook(lambda g: g), "a parameter of '0'"),
    ({}, lambda m: m.module[0].weight.register_post_accumulate_grad_hook(print),
     "a parameter of '0' has hooks, which see what is not reduced"),
])
def test_a_replica_that_cannot_be_adopted_says_why(replica, options, change, obstacle):
    model = replica(nn.Sequential(nn.Embedding(2, 2)), **options)
    change(model)
    with pytest.raises(ValueError, match=f"cannot be adopted: {obstacle}"):
        cs.adopt(model)


def test_a_replica_is_given_back(replica):
    model = replica(nn.Linear(2, 2))
    kept = type(model), dict(model.named_parameters())
    cs.adopt(model)
    with pytest.raises(ValueError, match="adopted already"):
        cs.adopt(model)
    for use in (
        model.join,
        lambda: model.register_comm_hook(None, allreduce_hook),
        lambda: model.reducer.prepare_for_backward([]),
        model._set_static_graph,
    ):
        with pytest.raises(RuntimeError, match="join, hooks .*, _set_static_graph, and"):
            use()
    with torch.no_grad():
        torch.export.export(model.module, (torch.ones(1, 2),))
    with pytest.raises(RuntimeError, match="a Linear is called by itself"):
        model.module(torch.ones(1, 2))
    with model.no_sync():
        loss = model.module(torch.ones(1, 2)).sum()
    with pytest.raises(RuntimeError, match="in a forward inside of no_sync.., but the"):
        loss.backward()
    cs.release(model)
    model.module(torch.ones(1, 2))
    assert (type(model), dict(model.named_parameters())) == kept
    # As PyTorch 2.11 has it.
    del model.forward_sync_buffers
    with pytest.warns(UserWarning, match="other interfaces .*'forward_sync_buffers'"):
        assert type(cs.adopt(model)) is kept[0]


def test_a_replica_with_buffers_runs_twice_before_a_backward(replica):
    model = cs.adopt(replica(nn.BatchNorm1d(2)))
    with torch.autograd.set_detect_anomaly(True):
        (model(torch.eye(2)) + model(torch.ones(2, 2))).sum().backward()
    assert model.module.num_batches_tracked == 2


# -- Adopted models with blocks: compiled as a whole, block by block, with graph breaks
# and with blocks that are computed again.


EAGER = {"backend": "commsched", "options": {"inner": "eager", "strict": True}}
BLOCKS = 10  # More than Dynamo compiles one function for (recompile_limit).


class Block(nn.Module):
    def __init__(self, breaks=False):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.breaks = breaks

    def forward(self, x):
        x = torch.tanh(self.linear(x))
        if self.breaks:
            torch._dynamo.graph_break()
        return x


@pytest.fixture
def make(fake_world):
    """Makes an adopted model of blocks."""
    fake_world(2)

    def make(*blocks):
        mesh = init_device_mesh("cpu", (2,))
        for block in blocks:
            fully_shard(block, mesh=mesh)
        return cs.adopt(fully_shard(nn.Sequential(*blocks), mesh=mesh))

    return make


def run(model):
    x = torch.ones(2, 8, requires_grad=True)
    model(x).sum().backward()


def scheduled():
    return [record.kind for record in records.records() if record.plan]


def test_all_blocks_run_one_compiled_graph(make):
    model = make(*(Block() for _ in range(BLOCKS)))
    graphs, ran = [], []

    def backend(gm, _):
        graphs.append(gm)

        def run_graph(*inputs):
            ran.append(gm)
            return gm(*inputs)

        return run_graph

    for block in model:
        block.compile(backend=backend)
    run(model)
    assert len(graphs) == 1 and len(ran) == BLOCKS


def test_compiled_by_block_is_said_once(make, opt_program):
    model = make(Block(), Block(), nn.Sequential(Block()))
    with pytest.warns(cs.CommSchedWarning, match="2 of the 6 parameters") as seen:
        for block in model:
            block.compile(**EAGER)
        run(model)
    assert len([w for w in seen if "one by one" in str(w.message)]) == 1
    assert set(scheduled()) == {"forward", "backward"}


def test_graph_breaks_are_said(make, opt_program):
    step = torch.compile(make(Block(breaks=True), Block(breaks=True)), **EAGER)
    with pytest.warns(cs.CommSchedWarning, match="without graph breaks"):
        run(step)
    assert scheduled() == ["forward", "backward"]  # Of both blocks.


class Looped(Block):
    def forward(self, x):
        for _ in range(2):  # Dynamo compiles no part of it.
            x = self.linear(x)
            torch._dynamo.graph_break()
        return x


@pytest.mark.parametrize(
    "settings",
    [EAGER, {"backend": functools.partial(commsched, options=EAGER["options"])}],
)
def test_a_model_of_which_nothing_is_compiled_is_said_once(
    make, replica, opt_program, settings
):
    for model in (make(Looped()), cs.adopt(replica(Looped())), make(Looped(), Block())):
        run(model)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", cs.CommSchedWarning)
            for _ in range(2):
                run(torch.compile(model, **settings))
        (message,) = [str(w.message) for w in said if w.category is cs.CommSchedWarning]
        if isinstance(model, nn.Sequential) and len(model) > 1:
            assert "reads 2 of the 4 parameters" in message
            continue
        assert f"nothing of this {type(model).__name__}: torch.compile has" in message
        assert "Dynamo cannot go on, as in a loop: Call to `torch._dynamo.gr" in message
        # A graph for each read would gain nothing.
        assert scheduled() == [] and "test_torch_adoption.py:" in message


@pytest.mark.parametrize("compile", [lambda model: model,
                                     lambda model: torch.compile(model, **EAGER)])
def test_what_a_replica_does_otherwise_is_said(replica, opt_program, compile):
    model = cs.adopt(replica(Block()))
    model.module.linear.weight.register_post_accumulate_grad_hook(lambda p: None)
    with pytest.warns(cs.CommSchedWarning, match="'weight' of a Linear has got a hook"), \
         pytest.warns(cs.CommSchedWarning, match="a gradient once more behind one for"):
        loss = compile(model)(torch.ones(1, 8)).sum()
        loss.backward(retain_graph=True)
        loss.backward()

    class Half(Block):
        def forward(self, x):
            return checkpoint(lambda x: x + self.linear.bias, x, use_reentrant=False)

    call = compile(cs.adopt(replica(Half())))
    run(call)
    message = "rank 0: the last .* no gradient to 1 of 2 parameters: 'linear.weight'"
    with pytest.raises(RuntimeError, match=message):
        run(call)


def test_where_a_replica_is_averaged_is_said(replica, monkeypatch):
    def fail(*_):
        raise RuntimeError("gloo")

    monkeypatch.setattr(reads, "_reduce", fail)
    with pytest.raises(RuntimeError, match="gloo") as raised:
        run(cs.adopt(replica(Block())))
    (note,) = getattr(raised.value, "__notes__", ["rank 0 where ... 'bias' of"])
    assert "rank 0 where" in note and "'bias' of" in note


@pytest.mark.parametrize("kind", ["sharded", "tied", "replica"])
def test_models_of_several_classes_are_not_counted_together(mesh, kind):
    run_all = []
    for _ in range(BLOCKS):
        model = type("Model", (Block,), {})()
        if kind == "tied":
            model.other = model.linear
        model = nn.parallel.DistributedDataParallel(model) if kind == "replica" else (
            fully_shard(model, mesh=mesh))
        run_all.append(torch.compile(cs.adopt(model), backend="eager", fullgraph=True))
    for step in run_all:
        run(step)


def test_a_whole_model_and_another_are_no_parts(make, opt_program):
    with warnings.catch_warnings():
        warnings.simplefilter("error", cs.CommSchedWarning)
        run(torch.compile(make(Block(), Block()), **EAGER))
        run(torch.compile(make(Block()), **EAGER))
    assert scheduled() == ["forward", "backward"] * 2


class Sliced(Block):
    """Takes the same part of a parameter twice, once to compute it again."""

    def forward(self, x):
        x = x * self.linear.weight[:1, :]
        return checkpoint(lambda x: x * self.linear.weight[:1, :], x, use_reentrant=False)


def test_a_parameter_of_which_parts_are_used_twice_is_gathered_once(make, opt_program):
    run(torch.compile(make(Sliced()), **EAGER))
    assert [r.before["num_collectives"] for r in records.records()] == [1, 1]


class Detached(Block):
    """Reads one parameter without recording gradients only, and others so at first."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x):
        with self.mode():
            scale = super().forward(x) * self.scale
        return super().forward(x) + scale


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_what_is_read_without_recording_gradients(make, replica, opt_program, mode):
    Detached.mode = mode
    for model in (make(Detached()), cs.adopt(replica(Detached()))):
        run(torch.compile(model, **EAGER))
        assert [p.grad is None for p in model.parameters()] == [True, False, False]


def test_the_step_of_a_replica_is_compiled_once(replica):
    counter = CompileCounter()
    step = torch.compile(cs.adopt(replica(Block())), backend=counter)
    for _ in range(3):
        run(step)
    assert counter.frame_count == 1


class Random(Block):
    """Draws numbers, and is computed again in the backward."""

    def forward(self, x):
        return checkpoint(self.draw, x, use_reentrant=False)

    def draw(self, x):
        return nn.functional.dropout(super().forward(x), 0.5)


@pytest.mark.parametrize(
    "settings",
    [
        {"backend": "aot_eager"},
        EAGER,
        {**EAGER, "options": {**EAGER["options"], "partition": "min-cut"}},
    ],
    ids=["aot", "commsched", "partitioner"],
)
def test_states_of_random_generators_are_saved_beside_meshes(
    make, opt_program, settings
):
    run(torch.compile(make(Random(), Random()), dynamic=False, **settings))
