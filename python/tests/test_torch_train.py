# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/pytorch/train.py: what is scheduled trains as what is not."""

import os
import re
import sys
import time

import pytest
import torch
import torch.distributed as dist

from commsched import opt
from installed import ROOT, write_metadata
from ranks import run_ranks

EXAMPLE = ROOT / "examples" / "pytorch"
SMALL = ["--layers", 1, "--dim", 64, "--sequence", 32, "--batch", 2]


#: Each with what its losses and gradients have to be equal to.
MODES = {
    "eager": None,
    "aot_eager": "eager",
    "aot_eager order": "aot_eager",
    "aot_eager commsched": "aot_eager",
    "inductor": None,
    "inductor order": "inductor",
    "inductor commsched": None,
}


def run_example(folder, *arguments):
    """Runs the example on two ranks; returns its table by row and column."""
    write_metadata(folder)
    outcomes = run_ranks(
        EXAMPLE / "train.py",
        2,
        timeout=600,
        env={
            "LOCAL_WORLD_SIZE": "2",
            "PYTHONPATH": os.pathsep.join(
                [str(folder), str(EXAMPLE), *filter(None, sys.path)]
            ),
        },
        args=[*SMALL, *arguments],
        check=False,
    )
    assert [o.returncode for o in outcomes] == [0, 0], outcomes[0].stderr
    return parse(outcomes[0].stdout)


def parse(text):
    """Returns the cells of a printed table by row and column; of columns of
    the same name the second is "name 2"."""
    header, *rows = [
        re.split(r"  +", line.strip()) for line in text.splitlines() if line
    ]
    header = [
        name if name not in header[:i] else f"{name} 2"
        for i, name in enumerate(header)
    ]
    return {row[0]: dict(zip(header, row)) for row in rows}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    if opt.find() is None:
        pytest.skip("no commsched-opt: set COMMSCHED_OPT or PATH")
    folder = tmp_path_factory.mktemp("train")
    return run_example(folder, "--modes", ",".join(MODES))


def milliseconds(cell):
    return float(cell.removesuffix(" ms").replace(",", ""))


@pytest.mark.parametrize("mode", [m for m in MODES if MODES[m]])
def test_losses_and_gradients_have_equal_bits(table, mode):
    assert table[mode]["gradients"] == f"equal to {MODES[mode]}"
    assert table[mode]["loss"] == table[MODES[mode]]["loss"]


def test_inductor_is_within_rounding_of_eager_kernels(table):
    # Else the status of the example is not 0.
    for mode in ("inductor", "inductor commsched"):
        assert re.match(r"equal to|\d\.\de-\d\d from", table[mode]["gradients"])
    losses = [float(row["loss"]) for row in table.values()]
    assert max(losses) - min(losses) < 1e-4
    assert losses[0] < 6.0  # ln 512 = 6.2 before training.


def test_collectives_are_merged_and_costs_predicted(table):
    for kernels in ("aot_eager", "inductor"):
        plain, order, merged = (
            int(table[mode]["collectives"])
            for mode in (kernels, f"{kernels} order", f"{kernels} commsched")
        )
        assert plain == order == 24  # Of 12 parameters.
        assert merged < 24
        for mode in (kernels, f"{kernels} commsched"):
            assert milliseconds(table[mode]["predicted"]) > 0
        measured, predicted = (
            float(table[kernels][name].removesuffix(" MiB"))
            for name in ("peak memory", "predicted 2")
        )
        assert measured == pytest.approx(predicted, rel=0.3)


def test_the_schedule_hides_a_delay(opt_program, tmp_path):
    modes = ["aot_eager", "aot_eager commsched"]
    table = run_example(
        tmp_path, "--modes", ",".join(modes), "--delay-ms", "10", "--steps", "8"
    )
    plain, scheduled = (milliseconds(table[mode]["step"]) for mode in modes)
    # Without a schedule, 24 collectives one after the other.
    assert plain > 24 * 10
    assert scheduled < 0.7 * plain
    assert table[modes[1]]["gradients"] == f"equal to {modes[0]}"


def delayed_collectives(rank):
    import delayed

    world = dist.distributed_c10d._get_default_store()
    dist.destroy_process_group()
    dist.init_process_group(
        delayed.register(0.05),
        store=dist.PrefixStore("delayed", world),
        rank=rank,
        world_size=2,
    )
    import torch.distributed._functional_collectives

    ops, name = torch.ops._c10d_functional, dist.group.WORLD.group_name
    part = torch.full((2,), float(rank))
    start = time.perf_counter()
    flights = [ops.all_gather_into_tensor(part, 2, name) for _ in range(3)]
    flights += ops.all_reduce_coalesced([part, part + 1], "sum", name)
    started = time.perf_counter() - start
    values, ends = [], []
    for flight in flights:
        values.append(ops.wait_tensor(flight).tolist())
        ends.append(time.perf_counter() - start)
    return started, ends, values


def test_delayed_collectives_run_beside_and_in_order(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    for started, ends, values in run_ranks(delayed_collectives, 2):
        assert started < 0.05
        assert values == [[0, 0, 1, 1]] * 3 + [[1, 1], [3, 3]]
        assert ends == sorted(ends)
        # One launch of two tensors is one collective.
        assert 0.2 <= ends[-1] < 0.4
        assert all(end >= 0.05 * (i + 1) for i, end in enumerate(ends[:4]))


def test_the_device_is_a_gpu_where_every_rank_has_one(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import train

    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert train.choose_device() == (torch.device("cpu"), "gloo")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert train.choose_device() == (torch.device("cuda", 1), "nccl")
    for name in ("train", "models", "delayed"):
        sys.modules.pop(name)


@pytest.mark.parametrize(
    "arguments, error",
    [
        (["--modes", "fast"], "unknown mode 'fast'"),
        (["--steps", "2"], "--steps must be more than --warmup"),
        ([], "run under torchrun"),
    ],
)
def test_bad_commands_say_what_is_wrong(
    monkeypatch, capsys, arguments, error
):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    import train

    with pytest.raises(SystemExit):
        train.parse(arguments)
    assert error in capsys.readouterr().err
    for name in ("train", "models", "delayed"):
        sys.modules.pop(name)
