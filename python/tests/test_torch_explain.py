# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users see of a schedule: explain, TORCH_LOGS and the structured
trace."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from commsched import torch as cs
from commsched.torch import measure
from commsched.torch.compiling import records
from commsched.torch.compiling.backend import commsched
from commsched.torch.compiling.publishing import unpack
from graphs import gather

pytestmark = pytest.mark.usefixtures("opt_program")

WIDTH, LAYERS = 256, 4


def gathering(group):
    def forward(x, *shards):
        for shard in shards:
            x = torch.relu(x @ gather(shard, group, 8))
        return x

    return forward


def inputs():
    shards = [torch.randn(WIDTH // 8, WIDTH) for _ in range(LAYERS)]
    return [torch.randn(4096, WIDTH), *shards]


@pytest.fixture
def step(fake_world):
    """A compiled function with gathers that can be hidden."""
    forward = gathering(fake_world(8))
    return torch.compile(forward, backend=commsched, options={"inner": "eager"})


def test_explain_prints_what_it_returns(step, capsys):
    step(*inputs())
    explanation = cs.explain(step)
    assert capsys.readouterr().out == f"{explanation}\n"
    (record,) = explanation.records
    assert record.kind == "inference" and record.status == "scheduled"
    before, after = record.before, record.after
    assert after["step_time_ns"] < before["step_time_ns"]
    assert before["num_collectives"] == LAYERS
    # test_docs_pytorch.py has all that it says.
    text = str(explanation)
    assert text.startswith("inference graph [0/0] of forward (test_torch_exp")
    for bucket in record.merged:
        assert f"\n  merged: {bucket[0]}+" in text
    (exposed,) = [c for c in after["collectives"] if c["exposed_ns"]][:1]
    assert exposed["limited_by"] in text


def test_explain_names_the_target_and_the_profile(fake_world, tmp_path):
    profile = tmp_path / "profile.json"
    products = [f"f32[4096,{WIDTH}]", f"f32[{WIDTH},{WIDTH}]"]
    measure.write_profile(
        profile,
        [
            {"collective": "all_gather", "ranks": 8, "nodes": 1,
             "bytes": size, "time_ns": size // 10}
            for size in (1024, 2**24)
        ],
        [{"operator": f"aten.mm.default({', '.join(products)})", "time_ns": 100_000}],
        name="", source="", device="",
    )
    options = {"inner": "eager", "target": "b200", "profile": str(profile)}
    step = torch.compile(gathering(fake_world(8)), backend=commsched, options=options)
    step(*inputs())
    text = str(cs.explain(step))
    assert f"pins the times that the profile has for {LAYERS} operators" in text
    (line,) = [line for line in text.splitlines() if "simulated:" in line]
    # The gathers are measured, the products pinned, and relu is estimated.
    assert line.startswith(
        f"  simulated: target b200; costs: profile {profile} "
        f"({LAYERS} of {3 * LAYERS} operations measured, "
    )
    assert line.endswith(f"% of the time; {LAYERS} pinned)")


def test_explain_shows_the_graphs_of_one_step(step):
    step(*inputs())

    def other(x):
        return x + 1

    compiled = torch.compile(other, backend=commsched, options={"inner": "eager"})
    compiled(torch.randn(3))
    (record,) = cs.explain(compiled).records
    assert record.reason == "no collectives"
    (record,) = cs.explain(step).records
    assert record.status == "scheduled"
    assert len(cs.explain().records) == 2


def test_explain_of_a_module_has_the_graphs_of_its_blocks(fake_world):
    class Block(torch.nn.Module):
        def forward(self, x):
            return x.sin()

    model = torch.nn.Sequential(Block(), Block())
    for block in model:
        block.compile(backend=commsched, options={"inner": "eager"})
    model(torch.randn(3))
    assert len(cs.explain(model).records) >= 1
    assert not cs.explain(torch.nn.ReLU()).records
    model = torch.nn.Sequential(Block(), Block())
    whole = torch.compile(model, backend=commsched, options={"inner": "eager"})
    whole(torch.randn(3))
    titles = [str(record) for record in cs.explain(whole).records]
    assert any("of forward (container.py:" in title for title in titles)


def test_explain_has_no_graphs_of_other_models_with_the_same_layers(fake_world):
    fake_world(2)
    models = [torch.nn.Sequential(torch.nn.Linear(n, n), torch.nn.ReLU()) for n in (2, 3)]
    steps = [torch.compile(m, backend=commsched, options={"inner": "eager"})
             for m in models]
    for step, size in zip(steps, (2, 3)):
        step(torch.ones(1, size)).sum().backward()
    for step in steps:
        assert [r.kind for r in cs.explain(step).records] == ["forward", "backward"]
    first, second = (cs.explain(step).records for step in steps)
    assert not {id(r) for r in first} & {id(r) for r in second}
    # What was compiled of one instance of a class may run for others.
    assert len(cs.explain(torch.nn.Sequential(torch.nn.Linear(2, 2))).records) == 4


def test_the_plan_of_another_rank_is_named(step):
    step(*inputs())
    (record,) = records.records()
    own = dataclasses.replace(record, decided="agreed")
    assert "this rank's plan, which the others follow" in str(own)
    theirs = dataclasses.replace(record, decided="followed")
    assert "the plan of the rank that was first" in str(theirs)
    assert "the figures are those of this rank's own plan" in str(theirs)


def test_explain_says_why_a_graph_was_left(step, monkeypatch):
    assert "compiles when the step first runs" in str(cs.explain(step))
    monkeypatch.setenv("COMMSCHED_OPT", "/nowhere/commsched-opt")
    with pytest.warns(cs.CommSchedWarning):
        step(*inputs())
    assert "left as it was: COMMSCHED_OPT is '/nowhere" in str(cs.explain(step))


_SCRIPT = """
import torch
from torch.testing._internal.distributed.fake_pg import FakeStore
import torch.distributed as dist
from commsched.torch.compiling.backend import commsched
import test_torch_explain as test

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
forward = test.gathering(dist.group.WORLD.group_name)
step = torch.compile(forward, backend=commsched, options={"inner": "eager"})
step(*test.inputs())
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory, run_python):
    """What a run with all logs wrote to stderr and to the trace's folder."""
    folder = tmp_path_factory.mktemp("trace")
    done = run_python(_SCRIPT, paths=[Path(__file__).parent],
                      TORCH_LOGS="+commsched", TORCH_TRACE=str(folder))
    assert done.returncode == 0, done.stderr
    return done.stderr, folder


def test_torch_logs_have_what_was_done(seen):
    output, _ = seen
    assert "inference graph [0/0] of forward" in output
    assert "peak memory" in output
    assert 'plan of this graph: {"version"' in output


def test_the_structured_trace_has_the_graphs(seen):
    _, folder = seen
    (log,) = folder.glob("*.log")
    artifacts, payload = {}, None
    for line in log.read_text().splitlines():
        if line.startswith("\t"):
            if payload is not None:
                artifacts[payload] += line[1:] + "\n"
            continue
        entry = json.loads(line[line.index("{") :])
        name = entry.get("artifact", {}).get("name", "")
        payload = name if name.startswith("commsched") else None
        if payload is not None:
            artifacts[payload] = ""
            assert entry["frame_id"] == 0
    before = artifacts["commsched_inference_before"]
    after = artifacts["commsched_inference_after"]
    assert before.count("all_gather_into_tensor.default(") == LAYERS
    assert before != after and "all_gather_into_tensor" in after
    assert "peak memory" in artifacts["commsched_inference_report"]
    program = artifacts["commsched_inference_program"]
    assert "func.func @inference(" in program
    assert program.count("= commsched.all_gather ") == LAYERS


# -- What explain says of code that comes from a cache is what was said when the code
# was compiled.


STEP = """
import sys
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
import commsched.torch as cs
from commsched.torch.compiling import records

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
group, c10d = dist.group.WORLD.group_name, torch.ops._c10d_functional

def gathered(shard):
    return c10d.wait_tensor(c10d.all_gather_into_tensor(shard, 8, group))

class Block(torch.nn.Module):
    def forward(self, x, a, b):
        loss = (torch.relu(x @ gathered(a)) @ gathered(b)).sum()
        total = c10d.wait_tensor(c10d.all_reduce(x.detach().sum(), "sum", group))
        return loss + total

options = {"partition": "min-cut"}
step = torch.compile(Block(), backend="commsched", options=options)
x = torch.ones(64, 64, requires_grad=True)
shard = torch.ones(8, 64)
step(x, shard, shard.clone()).backward()
hits = torch._dynamo.utils.counters["aot_autograd"]["autograd_cache_hit"]
print("HITS", hits, file=sys.stderr)
cs.explain(step)
"""


@pytest.fixture
def run(run_python, tmp_path):
    """Runs STEP; returns what explain prints, and whether AOT autograd's cache had
    the code."""

    def run():
        done = run_python(STEP, TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
        assert done.returncode == 0, done.stderr
        return done.stdout, "HITS 1" in done.stderr

    return run


def test_another_process_explains_it(run):
    """How the joint graph was partitioned too."""
    kinds = ["joint", "forward", "backward"]
    (first, was_hit), (second, is_hit) = run(), run()
    assert (was_hit, is_hit) == (False, True)
    texts = first.split("\n\n"), second.split("\n\n")
    for kind in kinds:
        made, loaded = (
            next(text for text in found if text.startswith(f"{kind} graph"))
            for found in texts
        )
        title, what, *figures = made.splitlines()
        assert loaded.splitlines()[0] == title
        assert loaded.splitlines()[2:] == figures
        if "scheduled" in what or "partitioned" in what:
            assert "it came from a cache" in loaded.splitlines()[1]
            assert "cache" not in what
    assert len(texts[0]) == len(texts[1]) == len(kinds)


def test_a_record_survives_its_text():
    record = records.Record(
        "forward", "0/0", (compile("1", "f", "eval"),), "failed", "no program",
        {"step_time_ns": 3}, {"step_time_ns": 2}, "agreed", notes=["a note"],
    )
    loaded = records.Record.from_json(record.to_json())
    assert loaded.cached and loaded.codes == () and loaded.frame is None
    assert loaded.to_json() == record.to_json()


def test_a_forward_has_the_partition_that_was_made_for_it():
    def kept(kind):
        packed = records.carried(kind).partition("loaded(")[2][1:-2]
        return [json.loads(text)["kind"] for text in json.loads(unpack(packed))]

    for kind in ("joint", "forward", "backward"):
        records.add(records.Record(kind))
        expected = ["joint", "forward"] if kind == "forward" else [kind]
        assert kept(kind) == expected
    # The same frame, compiled again without a partition.
    records.add(records.Record("forward"))
    assert kept("forward") == ["forward"]


def test_a_line_is_of_no_use_in_the_process_that_made_it():
    """It runs when the code is first loaded, directly after compilation."""
    record = records.Record("inference", reason="nothing", status="failed")
    records.add(record)
    line = records.carried("inference")
    assert records.carried("forward") is None
    exec(line)
    assert records.records() == [record]
    records.reset()
    exec(line)
    (loaded,) = records.records()
    assert (loaded.kind, loaded.reason) == ("inference", "nothing")
