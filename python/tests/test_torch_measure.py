# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of collectives and operators, and the profile that holds them."""

import json
import os
import pathlib
import time
import warnings
from pathlib import Path

import pytest

import torch
import torch.distributed as dist
from commsched import native, opt
from commsched.torch import Options, OptionsError, measure
from commsched.torch.compiling import operator_times, prices
from commsched.torch.measuring import collectives
from commsched.torch.measuring.collectives import _coalesced_sizes, _steps
from commsched.torch.measuring.machine import slowest
from commsched.torch.measuring.profile import signature
from compiled_steps import explained
from graphs import calls
from ranks import run_ranks
from torch.testing._internal.distributed.fake_pg import FakeStore

STEP = """
import torch

def make_step(compile):
    model = compile(torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)))
    return lambda: model(torch.ones(2, 8)).sum().backward()
"""


@pytest.fixture
def graphs():
    namespace = {}
    exec(STEP, namespace)
    return measure.record_graphs(namespace["make_step"])


def test_graphs_of_a_step_are_forward_and_backward(graphs):
    targets = [{str(node.target) for node in gm.graph.nodes} for gm in graphs]
    assert len(graphs) == 2
    assert "aten.addmm.default" in targets[0]
    assert "aten.mm.default" in targets[1]


def test_every_operator_of_a_graph_is_timed(graphs):
    entries = measure.measure_operators(graphs, repeats=2)
    known = {e["operator"]: e for e in entries}
    mm = "aten.mm.default(f32[4,2]:(1,4), f32[2,16])"
    assert known[mm]["time_ns"] > 0 and known[mm]["count"] == 1
    for gm in graphs:
        for node in gm.graph.nodes:
            text = signature(node)
            assert text is None or text in known
    times = {text: entry["time_ns"] for text, entry in known.items()}
    by_node = measure.operator_runtimes(graphs[1], times)
    names = [n.name for n in graphs[1].graph.nodes if signature(n) == mm]
    assert [by_node[name] for name in names] == [times[mm]]


def test_an_operator_that_fails_is_left_out_with_its_reason(graphs):
    gm = graphs[0]
    node, *_ = calls(gm, torch.ops.aten.addmm.default)
    node.kwargs = {"beta": "many"}
    text, messages = signature(node), []
    entries = measure.measure_operators([gm], repeats=1, report=messages.append)
    assert text not in {entry["operator"] for entry in entries}
    assert len(entries) >= 2
    (message,) = messages
    assert message.startswith(f"left out {text}: ")


def _rows(rank):
    """Rows of the group of both ranks, what a group of the first alone gives on
    each, and which rank's times count."""
    rows = measure.measure_collectives(
        sizes=[1024, 4096], kinds=["all_gather", "barrier"], repeats=1
    )
    alone = dist.new_group([0], group_desc="alone")
    with pytest.raises(RuntimeError) as refused:
        measure.measure_collectives([dist.group.WORLD, alone])
    # The times that count where rank 0 waits, of a gather and of a message.
    world, device = dist.group.WORLD, torch.device("cpu")
    now, times = time.monotonic(), [2 - rank, 2 - rank]
    counted = [
        collectives._of_all(times, now, world, kind, device)[0]
        for kind in ("all_gather", "send")
    ]
    return (rows, str(refused.value)), counted


def test_rows_of_a_group():
    (found, counted), (other, _) = run_ranks(_rows, 2)
    assert other == found and counted == [[1.0, 1.0], [2.0, 2.0]]
    rows, refused = found
    assert [tuple(row.values())[:-1] for row in rows] == [
        ("all_gather", 2, 1, 1024),
        ("all_gather", 2, 1, 1024, 8),
        ("all_gather", 2, 1, 4096),
        ("all_gather", 2, 1, 4096, 8),
        ("barrier", 2, 1, 0),
    ]
    assert list(rows[1]) == [
        "collective", "ranks", "nodes", "bytes", "tensors", "time_ns"
    ]
    assert all(row["time_ns"] >= 1 for row in rows)
    assert "(alone) of the backend 'gloo' has 1 rank" in refused
    assert "'torchrun --nproc-per-node 2 -m commsched.torch.measure" in refused


@pytest.mark.parametrize("backend, size, reason", [
    ("fake", 4, r"\(default_pg\) of 4 ranks has the backend 'fake', which "
     ".* 4 processes with nccl or gloo, as in 'torchrun --nproc-per-node 4"),
    ("fake", 1, "of 1 ranks has the backend 'fake'"),
    ("cpu:gloo,cuda:fake", 1, "the backend 'cpu:gloo,cuda:fake', which"),
    ("gloo", 1, "'gloo' has 1 rank, .* 'torchrun --nproc-per-node 2.*; "
     "or measure operators alone, by '--kinds' without a value"),
])
def test_groups_that_move_no_data_are_refused(tmp_path, backend, size, reason):
    store = FakeStore() if backend == "fake" else dist.HashStore()
    dist.init_process_group(backend, store=store, rank=0, world_size=size)
    path = tmp_path / "profile.json"
    try:
        with pytest.raises(RuntimeError, match=reason):
            measure.measure_collectives()
        with pytest.raises(RuntimeError, match=reason):
            measure.measure(str(path), sizes=[64], repeats=1)
        assert not path.exists()
        # The rates of the processor need no group.
        measure.measure(str(path), kinds=[], repeats=1)
    finally:
        dist.destroy_process_group()
    assert json.loads(path.read_text())["rows"] == []


def test_coalesced_sizes_lie_between_measured_ones():
    assert _coalesced_sizes([1024, 4096, 16384, 65536], 2) == [1024, 4096, 16384]
    # Each of 8 tensors of 32-bit elements is divided by 64 ranks.
    assert _coalesced_sizes([256, 1024, 4096], 64) == [2048, 4096]
    assert _coalesced_sizes([256], 64) == []
    # So do those that were measured if time runs short.
    assert _steps(["all_gather"], [1024, 8192], 3) == [
        (1032, 1, "all_gather"), (8196, 1, "all_gather"), (1056, 8, "all_gather"),
    ]
    # The slowest rank counts.
    rates = {"kernel_launch_ns": 1, "memory_gb_s": 5}
    others = {"kernel_launch_ns": 2, "memory_gb_s": 6}
    assert slowest([rates, others]) == {"kernel_launch_ns": 2, "memory_gb_s": 5}


def test_collectives_need_a_process_group():
    with pytest.raises(RuntimeError, match="no process group is initialized"):
        measure.measure_collectives()


def test_what_cannot_be_measured_is_refused(fake_world, tmp_path):
    fake_world(4)
    for group in (None, "tp", 3):
        with pytest.raises(RuntimeError, match=f"has {group!r}, which is no proc"):
            measure.measure_collectives([group])
    with pytest.raises(ValueError, match="unknown collective 'gather'"):
        measure.measure_collectives(kinds=["gather"])
    with pytest.raises(ValueError, match="must be positive"):
        measure.measure_collectives(sizes=[0])
    with pytest.raises(OSError):
        measure.measure(str(tmp_path / "no" / "profile.json"), kinds=[], repeats=1)
    assert list(tmp_path.iterdir()) == []


def test_rates_of_the_processor(opt_program, tmp_path):
    target = measure.measure_target(repeats=1)
    path = tmp_path / "profile.json"
    measure.write_profile(path, [], [], target, name="", source="", device="")
    copy = """
func.func @copy(%a: tensor<25000000xf32>) -> tensor<25000000xf32> {
  %b = commsched.compute "aten.neg"(%a)
      : (tensor<25000000xf32>) -> tensor<25000000xf32>
  return %b : tensor<25000000xf32>
}"""
    costs = opt.flag("commsched-set-costs", {"profile": path})
    run = opt.run_programs(copy, first=[costs], reports=True)
    predicted = run.reports.before["copy"]["step_time_ns"]
    expected = 2e8 / target["memory_gb_s"] + target["kernel_launch_ns"]
    assert predicted == pytest.approx(expected, rel=1e-6)
    assert measure.measure_target(torch.device("cuda")) == {}


def _profile(*entries):
    return json.dumps({"operators": list(entries)})


@pytest.mark.parametrize("text, error", [
    (None, "missing.json' cannot be"),
    ("{", "is not JSON"),
    ('{"operators": 3}', "'operators' is not a list"),
    (_profile(3), "operator 0: is not an object"),
    (_profile({"time_ns": 1}), "'operator' is not a string"),
    (_profile({"operator": "a", "time_ns": 0.5}), "0.5"),
    (_profile({"operator": "a", "time_ns": 1}, {"operator": "a", "time_ns": 2}),
     "'a' is there twice"),
])
def test_a_broken_profile_is_refused(tmp_path, text, error):
    path = tmp_path / "missing.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(measure.ProfileError, match=error):
        measure.read_operators(path)
    # A table of collectives has no operators.
    data = pathlib.Path(__file__).parents[2] / "data" / "cost-tables"
    assert measure.read_operators(data / "cpu-2core-openmpi.json") == {}


def test_sizes_without_the_extension_are_numbers(monkeypatch, capsys):
    """The extension reads units; a wheel of another Python has none."""
    monkeypatch.setattr(native, "find", lambda: None)
    parse = measure._parser().parse_args
    options = parse(["-o", "x", "--max-size", "4096"])
    assert (options.min_size, options.max_size) == (1024, 4096)
    sizes = measure.sizes_between(1 << 22, parse(["-o", "x"]).max_size)
    assert [size >> 20 for size in sizes] == [4, 16, 31, 32]
    with pytest.raises(SystemExit):
        parse(["-o", "x", "--max-size", "4MiB"])
    assert "'4MiB' cannot be read without the extension" in capsys.readouterr().err


def _measured(rank, folder, arguments):
    """The command, on a rank that is not under torchrun."""
    os.chdir(folder)
    return measure.main(arguments)


def test_two_ranks_write_one_profile(tmp_path):
    (tmp_path / "step.py").write_text(STEP)
    arguments = [
        "-o", "profile.json", "--repeats", "2", "--max-size", "16KiB",
        "--step", "step.py:make_step",
    ]
    assert run_ranks(_measured, 2, args=(str(tmp_path), arguments)) == [0, 0]
    profile = json.loads((tmp_path / "profile.json").read_text())
    kinds = {row["collective"] for row in profile["rows"]}
    assert kinds == set(measure.KINDS)
    assert {row["bytes"] for row in profile["rows"]} == {0, 1024, 4096, 16384}
    assert measure.read_operators(tmp_path / "profile.json")
    assert profile["target"]["memory_gb_s"] > 0
    coalesced = {row["collective"] for row in profile["rows"] if "tensors" in row}
    assert coalesced == {"all_gather", "reduce_scatter", "all_reduce"}
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("arguments, status, error", [
    (["-o", "x"], 1, "run under torchrun"),
    (["-o", "x", "--min-size", "many"], 2, "'many' is not a size"),
    (["-o", "x", "--kinds", "gather"], 2, "gather"),
])
def test_bad_commands_say_what_is_wrong(monkeypatch, capsys, arguments, status, error):
    monkeypatch.delenv("RANK", raising=False)
    try:
        ended = measure.main(arguments)
    except SystemExit as end:
        ended = end.code
    assert ended == status
    assert error in capsys.readouterr().err


# -- Where times come from if the options do not say: the machine at hand.


TABLE = {
    "name": "made up",
    "target": {"memory_gb_s": 3.0},
    "rows": [],
    "operators": [{"operator": "aten.neg.default(f32[8])", "time_ns": 900}],
}
ONCE = {"COMMSCHED_MEASURE": "once"}


@pytest.fixture
def folder(tmp_path):
    """The environment of ranks that keep tables in an empty folder."""
    return {**ONCE, "COMMSCHED_CACHE_DIR": str(tmp_path / "cache")}


def test_what_calls_wait_counts_in_the_mean_of_all_small_ones():
    def expected(**taken):
        kinds = {"few": 1024, "many": 1 << 16, "large": 1 << 20}
        keys = {kind: ("all_gather", 2, 1, size) for kind, size in kinds.items()}
        found = collectives.expected({keys[k]: times for k, times in taken.items()})
        return [found[keys[kind]] for kind in taken]

    # A quarter of all small calls waits 8 longer than the others.
    assert expected(few=[3] * 4, many=[2, 2, 10, 10]) == [5, 4]
    # Calls of large buffers show nothing of that, but wait as long.
    assert expected(few=[1, 1, 9, 9], large=[50, 60, 90, 100]) == [5, 59]
    assert expected(few=[3, 4, 2], large=[7]) == [3, 8]
    # A single call of many that takes long does not count.
    assert expected(few=[3] * 49 + [900]) == [3]


@pytest.mark.parametrize(
    "cores, threads, shortage", [(2, 1, 1.0), (3, 1, 0.5), (4, 1, 0.0), (8, 4, 1.0)]
)
def test_threads_that_find_no_core_take_time_from_computation(
    monkeypatch, cores, threads, shortage
):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert collectives.core_shortage() == shortage


@pytest.mark.parametrize("name, target", [
    ("NVIDIA H100 80GB HBM3", "h100"),
    ("NVIDIA GH200 480GB", "gh200"),
    ("NVIDIA A100-SXM4-40GB", "a100"),
    ("NVIDIA H200", "h200"),
    ("NVIDIA GB200", "b200"),
    ("AMD Instinct MI300X", None),
])
def test_an_accelerator_is_known_by_its_name(name, target):
    found = prices.preset_of(name)
    assert found.target == target and name in found.note


def test_the_device_at_hand_is_the_default_target():
    assert Options(target="auto") == Options()
    assert Options(target="b200").prices == prices.Prices("b200")
    assert Options(profile="p.json").prices == prices.Prices(None, "p.json")
    assert Options().cost_flags() == ()


def test_what_is_no_way_to_measure_is_refused():
    for given in (5, "", True, b"once"):
        with pytest.raises(OptionsError, match=f"'measure' is {given!r}; it takes"):
            Options(measure=given)
    for name, given in (("target", "once"), ("profile", "times.json")):
        with pytest.raises(OptionsError, match=f"'measure' is '{given}' and '{name}' is"):
            Options(measure=given, **{name: "h100"})
    assert Options(measure="never", target="h100").prices == prices.Prices("h100")


def test_a_group_that_moves_no_data_is_not_priced(fake_world, monkeypatch):
    monkeypatch.setenv("COMMSCHED_MEASURE", "once")
    fake_world(4)
    assert Options().prices == prices.Prices()


def test_groups_of_each_layout_are_priced_at_once():
    mesh = [[0, 1, 2, 3], [0, 1], [0, 2]], [[0, 1, 2, 3], [2, 3], [1, 3]]
    assert prices._chosen(mesh, 4) == [(0, 1), (2, 3), (0, 1, 2, 3)]
    # Over two nodes the groups of two have two layouts.
    assert prices._chosen(mesh, 2) == [(0, 1), (2, 3), (0, 2), (1, 3), (0, 1, 2, 3)]


def _priced(rank, sizes):
    """Measures little, and trains a step by it."""
    prices.SIZES, prices.REPEATS, prices.MEASURING = sizes, 2, 0.2
    prices.is_busy = lambda: False
    operator_times.MEETING = 60.0  # On a busy machine ranks may be far apart.
    if not sizes:
        operator_times.time_calls = None  # They are known.
    said = explained(rank, 3, {"inner": "eager", "strict": True})
    found = Options().prices
    return found.profile, Path(found.profile).read_text(), found.operators.known, said


def test_ranks_measure_once_before_the_first_compilation(folder):
    args = ((1024, 1 << 16),)
    first, other = run_ranks(_priced, 2, env=folder, args=args)
    assert first[:3] == other[:3]
    table = json.loads(first[1])
    assert {row["ranks"] for row in table["rows"]} == {2}
    assert {"all_gather", "reduce_scatter", "all_reduce"} <= {
        row["collective"] for row in table["rows"]
    }
    assert table["target"]["memory_gb_s"] > 0
    assert table["target"]["compute_slowdown"] >= 0
    assert any(text.startswith("aten.mm.default(") for text in first[2])
    assert "times of this machine, measured just now" in first[3]
    assert f"costs: profile {first[0]}" in first[3]
    assert "pins the times that" in first[3]
    # The next job finds the table, or it would measure with no size.
    again, _ = run_ranks(_priced, 2, env=folder, args=((),))
    assert again[:3] == first[:3]
    assert "times of this machine, as once measured" in again[3]


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


@pytest.mark.parametrize("late, reason", [
    ((3, 0), "rank 1 waited for other ranks to compile, too"),
    ((0, 0), "rank 1: no such processor"),
])
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
    # Operators, which become more, are none of what plans are known by.
    read = {key: TABLE[key] for key in ("name", "target", "rows")}
    assert [json.loads(table) for table, *_ in found] == [read, read]
    assert found[0][1] == found[1][1]
    assert f"as once measured, {path}" in found[0][1]
    # What was asked for is kept where it was asked for.
    assert json.loads(missing.read_text()) == TABLE


def _found_at_rest(rank, path, busy):
    """The table of a rank of a machine that is `busy`, and its note."""
    prices.is_busy = lambda: busy
    prices.measure_target = lambda *_: {"memory_gb_s": 4.0}
    prices.SIZES, prices.REPEATS = (1024,), 1
    return Options(measure=path).prices.note, Path(path).read_text()


def test_a_table_of_a_busy_machine_is_measured_again_at_rest(folder, tmp_path):
    path = tmp_path / "table.json"

    def run(busy):
        args = (str(path), busy)
        (note, text), other = run_ranks(_found_at_rest, 2, env=folder, args=args)
        assert other[0] == note
        return note, json.loads(text)

    path.write_text(json.dumps({**TABLE, "busy": True}))
    note, table = run(busy=True)
    assert "as once measured" in note and table["target"] == {"memory_gb_s": 3.0}
    note, table = run(busy=False)
    assert note.endswith("measured just now")
    assert table["target"] == {"memory_gb_s": 4.0} and not table["busy"]
    path.unlink()
    note, table = run(busy=True)
    assert "beside other programs" in note and table["busy"]


@pytest.mark.parametrize("text, reason", [
    ("{", "{path} is not JSON"),
    (json.dumps({"operators": [{"operator": "aten.neg", "time_ns": -1}]}),
     "the profile '{path}': operator 0: 'time_ns' is -1"),
])
def test_a_broken_table_is_named(folder, tmp_path, text, reason):
    path = tmp_path / "table.json"
    path.write_text(text)
    args = ((0, 0), str(path), str(path))
    for table, note, _ in run_ranks(_found, 2, env=folder, args=args):
        assert table is None and reason.format(path=path) in note
