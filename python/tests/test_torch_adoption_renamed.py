# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models stay under `fully_shard` and `DistributedDataParallel`, with one warning,
where PyTorch has renamed what adopting them takes."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel

import commsched.torch as cs
from commsched.torch.private import fsdp, names


@pytest.fixture
def model(fake_world):
    fake_world(2)
    layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    return fully_shard(layers, mesh=init_device_mesh("cpu", (2,)))


def stays(model, match):
    before = {m: (type(m), dict(vars(m))) for m in model.modules()}
    hooks = [dict(model._forward_pre_hooks), dict(model._forward_hooks)]
    with pytest.warns(UserWarning, match=match) as seen:
        assert cs.adopt(model) is model
    assert len(seen) == 1 and type(model).__name__ in str(seen[0].message)
    assert before == {m: (type(m), dict(vars(m))) for m in model.modules()}
    assert hooks == [model._forward_pre_hooks, model._forward_hooks]


@pytest.mark.parametrize("path", names.paths("adoption"))
def test_a_name_that_is_not_there(model, path, monkeypatch):
    def rename(known):
        return f"{known}_renamed" if known == path else known

    used, imported = names.USED["adoption"], names.IMPORTED["adoption"]
    monkeypatch.setitem(names.USED, "adoption", tuple(map(rename, used)))
    monkeypatch.setitem(
        names.IMPORTED, "adoption", {k: rename(v) for k, v in imported.items()}
    )
    stays(model, path.replace("()", "").replace(".", r"\.") + "_renamed")
    assert isinstance(model, FSDPModule)


def test_an_attribute_of_a_group_that_is_not_there(model, monkeypatch):
    def broken(module):
        raise AttributeError("'FSDPParamGroup' has no attribute 'fsdp_params'")

    monkeypatch.setattr(fsdp, "list_parameters", broken)
    stays(model, "no attribute 'fsdp_params'")


def test_an_attribute_of_a_replica_that_is_not_there(fake_world, monkeypatch):
    def broken(replica):
        raise AttributeError("'DistributedDataParallel' has no '_comm_hooks'")

    fake_world(2)
    model = DistributedDataParallel(nn.Linear(4, 4))
    monkeypatch.setattr(fsdp, "find_replica_obstacle", broken)
    stays(model, "no '_comm_hooks'")
