# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models under FSDP2's `fully_shard` or `DistributedDataParallel`: adopted, they train
as before."""

import pytest

torch = pytest.importorskip("torch")

import fully_shard_steps as steps
from ranks import run_ranks
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule, fully_shard

import commsched.torch as cs

BY_RANKS = {
    ranks: [
        case
        for case, (_, _, shape) in steps.CASES.items()
        if torch.tensor(shape).prod() == ranks
    ]
    for ranks in (2, 4)
}
#: Of the collectives that have to be in the graphs.
KINDS = {"DDP": ("all_reduce",), "replicated": ("all_gather", "all_reduce")}


@pytest.fixture(scope="module", params=BY_RANKS)
def compared(request):
    cases = BY_RANKS[request.param]
    return run_ranks(
        steps.compare_all, request.param, timeout=200, args=(cases, "eager")
    )


def test_steps_have_equal_bits_and_their_collectives_in_the_graph(compared):
    for by_case in compared:
        for case, (differing, said) in by_case.items():
            assert not differing, f"{case}: {differing}"
            for kind in KINDS.get(case, ("all_gather", "reduce_scatter")):
                assert kind in said, f"{case}: {said}"


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
    assert model[0].weight.shape == (4, 4)
    assert type(model[0].weight) is torch.Tensor
    cs.release(model)
    assert (type(model), dict(vars(model)), dict(model.named_parameters())) == before
    assert [model._forward_pre_hooks, model._forward_hooks] == hooks


def test_hooks_of_the_user_stay(mesh):
    model = sharded(mesh)
    seen = []
    model[0].register_forward_hook(lambda *_: seen.append("inner"))
    model.register_forward_hook(lambda *_: seen.append("outer"))
    cs.adopt(model)(torch.ones(1, 4))
    assert seen == ["inner", "outer"]


def test_what_cannot_be_adopted_stays_and_is_named(mesh):
    model = nn.Sequential(sharded(mesh, offload_policy=CPUOffloadPolicy(False)),
                          sharded(mesh))
    with pytest.warns(UserWarning, match="0 is not adopted.*'weight' of 0.0: it is "
                                         "offloaded"):
        cs.adopt(model)
    assert isinstance(model[0], FSDPModule)
    assert not isinstance(model[1], FSDPModule)


def test_a_model_without_values_is_an_error(mesh):
    with torch.device("meta"):
        empty = fully_shard(nn.Linear(4, 4), mesh=mesh)
    model = nn.Sequential(sharded(mesh), empty)
    with pytest.raises(ValueError, match="'weight' of 1: it has no values yet"):
        cs.adopt(model)
    # Nothing is adopted then.
    assert isinstance(model[0], FSDPModule)


def test_gradients_that_are_not_averaged_stay(mesh):
    model = sharded(mesh)
    model.set_requires_gradient_sync(False)
    with pytest.warns(UserWarning, match="its gradients are not reduced now"):
        cs.adopt(model)
    assert isinstance(model, FSDPModule)


def test_a_model_that_is_not_sharded_is_an_error(mesh):
    with pytest.raises(ValueError, match="no module of Linear is under fully_shard$"):
        cs.adopt(nn.Linear(2, 2))
    model = cs.adopt(sharded(mesh))
    with pytest.raises(ValueError, match="or they are adopted already"):
        cs.adopt(model)


def test_gradients_cannot_stay_unreduced(mesh):
    model = cs.adopt(sharded(mesh))
    model.set_requires_gradient_sync(True)
    model.set_reshard_after_forward(False)
    with pytest.raises(RuntimeError, match="reduced in its graph"):
        model.set_requires_gradient_sync(False)


@pytest.fixture
def replica(fake_world):
    fake_world(2)
    return lambda model, **options: nn.parallel.DistributedDataParallel(
        model, **options
    )


@pytest.mark.parametrize(
    "model, options, obstacle",
    [
        (nn.Linear(2, 2), {"find_unused_parameters": True}, "find_unused_parameters"),
        (nn.BatchNorm1d(2), {}, "it broadcasts buffers"),
    ],
)
def test_a_replica_that_cannot_be_adopted_says_why(replica, model, options, obstacle):
    with pytest.raises(ValueError, match=f"cannot be adopted: {obstacle}"):
        cs.adopt(replica(model, **options))


def test_a_replica_is_given_back(replica):
    model = replica(nn.Linear(2, 2))
    kept = type(model), dict(model.named_parameters())
    cs.adopt(model)
    with pytest.raises(RuntimeError, match="no_sync"):
        model.no_sync()
    with pytest.raises(ValueError, match="adopted already"):
        cs.adopt(model)
    cs.release(model)
    assert (type(model), dict(model.named_parameters())) == kept
