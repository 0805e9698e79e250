# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A PyTorch that has renamed what the package uses: nothing is scheduled, one
warning names what is missing, and steps run as without the package."""

import warnings

import pytest
import torch
from commsched.torch.private import scheduler
import commsched.torch as cs
from commsched.torch.compiling import guards, records
from commsched.torch.private import fsdp, names
from graphs import fake_trace, reduce
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel

#: The names of Python that a step with eager kernels needs, and all.
EAGER = guards.COMMON
ALL = (*EAGER, "inductor")


def firsts(*groups):
    """The first name that is imported for each group, and the first that it uses."""
    kinds = (kind for group in groups for kind in (
        [*names.IMPORTED[group].values()], names.USED.get(group)))
    return [kind[0] for kind in kinds if kind]


@pytest.fixture
def rename(monkeypatch):
    """Returns a function that renames what is at a path, for this package."""

    def renamed(path):
        for group in names.IMPORTED.values():
            for name, known in group.items():
                if known == path:
                    monkeypatch.setitem(group, name, f"{path}_renamed")
        for group, known in names.USED.items():
            new = tuple(f"{p}_renamed" if p == path else p for p in known)
            monkeypatch.setitem(names.USED, group, new)

    return renamed


def train(backend, options=None):
    """The losses and the parameters of three steps."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    step = torch.compile(model, backend=backend, options=options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        loss = step(torch.ones(4, 8)).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return [*losses, *(p.detach() for p in model.parameters())]


@pytest.fixture(scope="module")
def plain():
    return {"eager": train("eager"), "inductor": train("inductor")}


def is_as_plain(inner, plain, path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = train("commsched", {"inner": inner})
    own = [w for w in caught if issubclass(w.category, cs.CommSchedWarning)]
    assert len(own) == 1, [str(w.message) for w in caught]
    assert "other interfaces" in str(own[0].message)
    shown = path.replace("()", "")
    assert f"PyTorch has no {shown}_renamed" in str(own[0].message)
    assert all(map(torch.equal, found, plain[inner]))
    (record,) = records.records()
    assert record.status == "failed" and shown in str(record)


@pytest.mark.parametrize("group, path", [
    (group, path) for group in names.IMPORTED for path in names.paths(group)
])
def test_each_name_is_missed(group, path, rename):
    rename(path)
    shown = path.replace("()", "")
    assert names.missing(group) == f"PyTorch has no {shown}_renamed"


@pytest.mark.parametrize("path", firsts(*EAGER))
def test_eager_kernels(path, rename, plain):
    rename(path)
    is_as_plain("eager", plain, path)


@pytest.mark.parametrize("path", [*firsts(*ALL), "torch._inductor.compile_fx.compile_fx"])
def test_inductor(path, rename, plain):
    rename(path)
    if path.endswith(".compile_fx"):  # What would compile without the package.
        plain = {"inductor": plain["eager"]}
    is_as_plain("inductor", plain, path)


def test_optional_names(rename):
    """Nothing else depends on them."""
    for path in names.paths("optional"):
        rename(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", cs.CommSchedWarning)
        train("commsched", {"inner": "eager"})


@pytest.mark.parametrize("path", firsts("partition"))
def test_partitions(path, rename, plain):
    """Only steps that are partitioned need them."""
    rename(path)
    train("commsched", {"inner": "eager"})
    assert "failed" not in {r.status for r in records.records()}
    with pytest.warns(cs.CommSchedWarning, match=f"no {path}_renamed"):
        train("commsched", {"inner": "eager", "partition": "min-cut"})


def test_strict_says_so(rename):
    rename("torch._ops.OpOverload")
    with pytest.raises(Exception, match="PyTorch has no torch._ops.OpOverload"):
        train("commsched", {"inner": "eager", "strict": True})


def test_options_of_inductor(rename, plain):
    rename("torch._inductor.config._pre_fusion_custom_pass")
    with pytest.warns(cs.CommSchedWarning, match="_pre_fusion_custom_pass_"):
        options = cs.inductor_options({"max_fusion_size": 8})
    assert options == {"max_fusion_size": 8}


def test_passes_over_graphs(rename, fake_world):
    group = fake_world(8)
    gm = fake_trace(lambda x: reduce(x @ x, group), torch.randn(4, 4))
    rename("torch._ops.OpOverload")
    before = str(gm.graph)
    with pytest.warns(cs.CommSchedWarning, match="OpOverload_renamed"):
        assert cs.schedule_pass()(gm) is gm
        estimator = cs.runtime_estimator()
        assert {estimator(node) for node in gm.graph.nodes} == {None}
    assert str(gm.graph) == before


@pytest.fixture
def broken_scheduler(monkeypatch):
    """What Inductor's scheduler has, without a name that shows when it runs."""
    def broken(nodes):
        raise AttributeError("'Scheduler' object has no attribute 'names'")

    for name in ("chain", "sort_by_graph", "sort_for_peak_memory"):
        monkeypatch.setattr(scheduler, name, broken)


def test_a_pass_that_fails_in_inductor(broken_scheduler, plain, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    with pytest.warns(cs.CommSchedWarning, match="keep a schedule's order") as seen:
        found = train("commsched")
    assert len(seen) == 1
    assert all(map(torch.equal, found, plain["inductor"]))


ALL_RENAMED = """
import importlib.util, sys, warnings
name = "commsched.torch.private.names"
spec = importlib.util.spec_from_file_location(name, sys.argv[1])
names = sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(names)
for group in names.IMPORTED.values():
    group.update({name: path + "_renamed" for name, path in group.items()})
names.USED = {
    group: tuple(path + "_renamed" for path in paths)
    for group, paths in names.USED.items()
}
import torch
import commsched.torch as cs
for name in cs.__all__:
    getattr(cs, name)
model = torch.nn.Linear(4, 4)
x = torch.ones(2, 4)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for options in ({"inner": "eager"}, {}):
        torch._dynamo.reset()
        step = torch.compile(model, backend="commsched", options=options)
        assert torch.equal(step(x), model(x))
        step(x).sum().backward()
own = [w for w in caught if issubclass(w.category, cs.CommSchedWarning)]
assert len(own) == 1, own
print(own[0].message)
"""


def test_all_names_at_once(run_python):
    """The package can be imported, whatever PyTorch has renamed."""
    done = run_python(ALL_RENAMED, names.__file__)
    assert done.returncode == 0, done.stderr
    assert "PyTorch has no torch._ops.HigherOrderOperator_renamed" in done.stdout


# -- Models stay under `fully_shard` and `DistributedDataParallel`, with one warning,
# where PyTorch has renamed what adopting them takes.


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
def test_a_name_that_is_not_there(model, path, rename):
    rename(path)
    stays(model, path.replace("()", "").replace(".", r"\.") + "_renamed")
    assert isinstance(model, FSDPModule)


@pytest.mark.parametrize("name, is_replica", [
    ("list_parameters", False), ("find_replica_obstacle", True),
])
def test_an_attribute_that_is_not_there(model, monkeypatch, name, is_replica):
    def broken(model):
        raise AttributeError(f"'{type(model).__name__}' has no attribute 'its'")

    monkeypatch.setattr(fsdp, name, broken)
    stays(DistributedDataParallel(nn.Linear(4, 4)) if is_replica else model, "no attribute 'its'")
