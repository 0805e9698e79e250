# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where times come from if the options do not say: the machine at hand."""

import contextlib
import io
import json
import time
import warnings
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

import commsched.torch as cs
from commsched.torch import Options, OptionsError
from commsched.torch.compiling import prices
from ranks import run_ranks

TABLE = {"name": "made up", "target": {"memory_gb_s": 3.0}, "rows": []}
ONCE = {"COMMSCHED_MEASURE": "once"}


@pytest.fixture
def folder(tmp_path):
    """The environment of ranks that keep tables in an empty folder."""
    return {**ONCE, "COMMSCHED_CACHE_DIR": str(tmp_path / "cache")}


@pytest.mark.parametrize(
    "name, target",
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA GH200 480GB", "gh200"),
        ("NVIDIA A100-SXM4-40GB", "a100"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA GB200", "b200"),
        ("AMD Instinct MI300X", None),
    ],
)
def test_an_accelerator_is_known_by_its_name(name, target):
    found = prices.preset_of(name)
    assert found.target == target and name in found.note


def test_the_device_at_hand_is_the_default_target():
    assert Options(target="auto") == Options()
    assert Options(target="b200").prices == prices.Prices("b200")
    assert Options(profile="p.json").prices == prices.Prices(None, "p.json")
    assert Options().cost_flags() == ()


@pytest.mark.parametrize("given", [5, "", True, b"once"])
def test_what_is_no_way_to_measure_is_refused(given):
    with pytest.raises(OptionsError, match=f"'measure' is {given!r}; it takes"):
        Options(measure=given)


def test_a_group_that_moves_no_data_is_not_measured(fake_world, monkeypatch):
    monkeypatch.setenv("COMMSCHED_MEASURE", "once")
    fake_world(4)
    assert Options().prices == prices.Prices()


def test_groups_of_each_layout_are_measured_at_once():
    mesh = [[0, 1, 2, 3], [0, 1], [0, 2]], [[0, 1, 2, 3], [2, 3], [1, 3]]
    assert prices._chosen(mesh, 4) == [(0, 1), (2, 3), (0, 1, 2, 3)]
    # Over two nodes the groups of two have two layouts.
    assert prices._chosen(mesh, 2) == [
        (0, 1), (2, 3), (0, 2), (1, 3), (0, 1, 2, 3)
    ]


def _step(rank):
    """Losses and gradients, eager and scheduled, and what was said of it."""
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = nn.Sequential(*(nn.Linear(32, 32) for _ in range(3)))
    precision = cs.MixedPrecision(torch.float32, torch.float32)
    cs.shard_parameters(model, mesh, precision)
    options = {"inner": "eager", "strict": True}
    compiled = torch.compile(model, backend="commsched", options=options)
    found = []
    for step in (model, compiled):
        step(torch.full((8, 32), rank + 1.0)).square().sum().backward()
        found.append([p.grad.to_local().clone() for p in model.parameters()])
        model.zero_grad()
    assert all(map(torch.equal, *found))
    with contextlib.redirect_stdout(io.StringIO()) as said:
        cs.explain(compiled)
    return said.getvalue()


def _measured(rank, sizes):
    """Measures little, and trains a step by it."""
    prices.SIZES, prices.REPEATS, prices.MEASURING = sizes, 2, 0.2
    said = _step(rank)
    found = Options().prices
    return found.profile, Path(found.profile).read_text(), said


def test_ranks_measure_once_before_the_first_compilation(folder):
    args = ((1024, 1 << 16),)
    first, other = run_ranks(_measured, 2, env=folder, args=args)
    assert first[:2] == other[:2]
    table = json.loads(first[1])
    assert {row["ranks"] for row in table["rows"]} == {2}
    assert {"all_gather", "reduce_scatter", "all_reduce"} <= {
        row["collective"] for row in table["rows"]
    }
    assert table["target"]["memory_gb_s"] > 0
    assert table["target"]["compute_slowdown"] >= 0
    assert "times of this machine, measured just now" in first[2]
    assert f"costs: profile {first[0]}" in first[2]
    # The next job finds the table, or it would measure with no size.
    again, _ = run_ranks(_measured, 2, env=folder, args=((),))
    assert again[:2] == first[:2]
    assert "times of this machine, as once measured" in again[2]


def _found(rank, late, *files):
    """The prices of a rank that asks `late[rank]` seconds after it began, and
    the warnings. A rank waits for one that is late less long than that."""
    if any(late):
        prices.MEETING = 0.3
    prices.measure_target = _fail_on_rank_1
    prices.SIZES, prices.REPEATS = (1024,), 1
    time.sleep(late[rank])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = Options(measure=files[rank] if files else None).prices
    table = found.profile and Path(found.profile).read_text()
    return table, found.note, [str(w.message) for w in caught]


def _fail_on_rank_1(device, repeats, group):
    if dist.get_rank() == 1:
        raise RuntimeError("no such processor")
    return {}


@pytest.mark.parametrize(
    "late, reason",
    [
        ((3, 0), "rank 1 waited for other ranks to compile, too"),
        ((0, 0), "rank 1: no such processor"),
    ],
)
def test_ranks_do_without_a_table_together(folder, late, reason):
    for table, note, said in run_ranks(_found, 2, env=folder, args=(late,)):
        assert table is None
        assert note == f"this machine was not measured: {reason}"
        (warning,) = said
        assert reason in warning and "commsched.torch.measure" in warning
    assert not Path(folder["COMMSCHED_CACHE_DIR"]).exists()


def test_the_first_rank_that_has_a_table_gives_it_to_all(folder, tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(TABLE))
    missing = tmp_path / "missing.json"
    files = [str(missing), str(path)]
    found = run_ranks(_found, 2, env=folder, args=((0, 0), *files))
    assert [json.loads(table) for table, *_ in found] == [TABLE, TABLE]
    assert found[0][1] == found[1][1]
    assert f"as once measured, {path}" in found[0][1]
    # What was asked for is kept where it was asked for.
    assert json.loads(missing.read_text()) == TABLE


def test_a_broken_table_is_named(folder, tmp_path):
    path = tmp_path / "table.json"
    path.write_text("{")
    args = ((0, 0), str(path), str(path))
    for table, note, _ in run_ranks(_found, 2, env=folder, args=args):
        assert table is None and f"{path} is not JSON" in note
