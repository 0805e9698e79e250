# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/pytorch/train.py: what is scheduled trains as what is not."""

import os
import re
import sys
import time

import pytest
import torch
import torch.distributed as dist

import doc_blocks
from installed import ROOT, write_metadata
from ranks import run_ranks

EXAMPLE = ROOT / "examples" / "pytorch"
PAGE = ROOT / "docs" / "guide" / "pytorch.md"

#: Each with what its losses and gradients have to be equal to.
MODES = {
    "eager": None,
    "aot_eager": "eager",
    "aot_eager order": "aot_eager",
    "aot_eager commsched": "aot_eager",
}
#: Milliseconds that the command makes each collective take.
DELAY = 5


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
def table(tmp_path_factory, opt_program):
    """What the command of the page prints, as it stands there."""
    (command,) = [
        block
        for block in doc_blocks.blocks(PAGE)
        if "examples/pytorch/train.py" in block.text and not block.excerpt
    ]
    assert f"--delay-ms {DELAY}" in command.text
    folder = tmp_path_factory.mktemp("train")
    write_metadata(folder)
    paths = [str(folder), str(ROOT / "python")]
    environment = doc_blocks.environment(
        opt_program,
        PYTHONPATH=os.pathsep.join(paths),
        TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"),
    )
    printed = doc_blocks.run_shell(command, ROOT, environment, timeout=280)
    return parse(printed[printed.index("mode "):])


def milliseconds(cell):
    return float(cell.removesuffix(" ms").replace(",", ""))


@pytest.mark.parametrize("mode", [m for m in MODES if MODES[m]])
def test_losses_and_gradients_have_equal_bits(table, mode):
    assert table[mode]["gradients"] == f"equal to {MODES[mode]}"
    assert table[mode]["loss"] == table[MODES[mode]]["loss"]
    assert float(table[mode]["loss"]) < 6.2  # ln 512 = 6.24 before training.


def test_collectives_are_merged(table):
    plain, order, merged = (
        int(table[f"aot_eager{name}"]["collectives"])
        for name in ("", " order", " commsched")
    )
    assert plain == order == 24  # Of 12 parameters.
    assert 2 <= merged < 24


def test_the_schedule_hides_a_delay(table):
    plain, scheduled = (
        milliseconds(table[mode]["step"])
        for mode in ("aot_eager", "aot_eager commsched")
    )
    # Without a schedule, 24 collectives one after the other.
    assert plain > 24 * DELAY
    assert scheduled < 0.7 * plain


def test_costs_are_predicted(table):
    """Predictions are no shorter than the delays, one after the other, and as
    long as what was measured, but for what other programs take."""
    for mode in ("aot_eager", "aot_eager order", "aot_eager commsched"):
        row = table[mode]
        measured, predicted = (
            milliseconds(row[name]) for name in ("step", "predicted")
        )
        assert predicted >= int(row["collectives"]) * DELAY, row
        assert measured / 4 < predicted < 1.5 * measured, row
    assert milliseconds(table["aot_eager commsched"]["predicted"]) < (
        0.5 * milliseconds(table["aot_eager"]["predicted"])
    )
    measured, predicted = (
        float(table["aot_eager"][name].removesuffix(" MiB"))
        for name in ("peak memory", "predicted 2")
    )
    assert measured == pytest.approx(predicted, rel=0.3)


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
