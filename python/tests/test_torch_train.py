# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/pytorch/train.py: what is scheduled trains as what is not."""

import os
import re
import sys

import pytest
import torch

import doc_blocks
from installed import ROOT, write_metadata

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


@pytest.fixture
def train(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import train

    yield train
    for name in ("train", "models", "delayed"):
        sys.modules.pop(name)


def test_the_device_is_a_gpu_where_every_rank_has_one(train, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert train.choose_device() == (torch.device("cpu"), "gloo")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert train.choose_device() == (torch.device("cuda", 1), "nccl")


@pytest.mark.parametrize("arguments, error", [
    (["--modes", "fast"], "unknown mode 'fast'"),
    (["--steps", "2"], "--steps must be more than --warmup"),
    ([], "run under torchrun"),
])
def test_bad_commands_say_what_is_wrong(train, monkeypatch, capsys, arguments, error):
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    with pytest.raises(SystemExit):
        train.parse(arguments)
    assert error in capsys.readouterr().err
