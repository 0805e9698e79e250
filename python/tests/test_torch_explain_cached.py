# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What explain says of code that comes from a cache is what was said when the code
was compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from commsched import torch as cs  # noqa: E402
from commsched.torch.compiling import records  # noqa: E402
from commsched.torch.compiling.publishing import unpack  # noqa: E402

pytestmark = pytest.mark.usefixtures("opt_program")

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


def run(tmp_path):
    """What explain prints in a process of its own, and whether AOT autograd's
    cache had the code."""
    done = subprocess.run(
        [sys.executable, "-c", STEP],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(cs.__file__).parents[2]),
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, "HITS 1" in done.stderr


def test_another_process_explains_it(tmp_path):
    """How the joint graph was partitioned too."""
    kinds = ["joint", "forward", "backward"]
    (first, was_hit), (second, is_hit) = (run(tmp_path) for _ in range(2))
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
