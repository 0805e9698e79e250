# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The traced training step: what it computes, what it communicates, and the
command that writes it."""


import pytest
import jax_models  # noqa: F401  Makes eight devices of the processor.
import jax
import numpy as np
import seeds
from jax.sharding import AxisType

from commsched import opt
import jax_llama as llama
import jax_step as step
from jax_step import StepOptions

TINY = {"model": "llama3-tiny", "layers": 1, "sequence": 32}


def mesh_of(devices):
    return jax.make_mesh(
        (devices,),
        (llama.AXIS,),
        axis_types=(AxisType.Auto,),
        devices=jax.devices()[:devices],
    )


def train(options, steps):
    """The losses of some steps."""
    mesh = mesh_of(options.devices)
    state, tokens, labels = step.random_arguments(options, mesh)
    function = step.make_step(options, mesh)
    losses = []
    for _ in range(steps):
        state, loss = function(state, tokens, labels)
        losses.append(float(loss))
    return losses


@pytest.mark.parametrize("scan", seeds.turns([False, True], 1))
def test_the_step_trains(scan):
    losses = train(StepOptions(devices=8, scan=scan, **TINY), 12)
    assert losses[0] == pytest.approx(np.log(512), rel=0.2)
    assert losses[-1] < losses[0] - 1


def test_sharding_changes_only_how_sums_are_rounded():
    """Gradients on four devices are those on one."""
    results = []
    for devices, batch in ((1, 4), (4, 1)):
        options = StepOptions(devices=devices, batch=batch, optimizer="none", **TINY)
        mesh = mesh_of(devices)
        arguments = step.random_arguments(options, mesh)
        gradients, loss = step.make_step(options, mesh)(*arguments)
        results.append((jax.device_get(gradients), float(loss)))
    (alone, loss), (sharded, other) = results
    assert loss == pytest.approx(other, rel=1e-3)
    for a, b in zip(jax.tree.leaves(alone), jax.tree.leaves(sharded)):
        assert np.abs(a - b).max() <= 0.05 * np.abs(a).max()


def test_scan_makes_the_module_no_longer_with_more_layers():
    texts = [step.trace_text(StepOptions(layers=n, scan=True)) for n in (2, 32)]
    loops = [text.count('"stablehlo.while"(') for text in texts]
    assert loops == [2, 2]
    assert texts[0].count("\n") == texts[1].count("\n")


def test_the_command_writes_what_the_function_returns(tmp_path, capsys):
    path = tmp_path / "step.mlir"
    flags = ["--model", "llama3-tiny", "--devices", "8", "--seq", "64"]
    assert step.main([*flags, "--optimizer", "sgd", "-o", str(path)]) == 0
    options = StepOptions(model="llama3-tiny", devices=8, sequence=64, optimizer="sgd")
    assert path.read_text() == step.trace_text(options) + "\n"
    assert step.main([*flags, "--locations", "--layers", "1"]) == 0
    assert "llama.py" in capsys.readouterr().out


def test_the_command_says_what_is_wrong(tmp_path, capsys, monkeypatch):
    flags = ["--model", "llama3-8b", "--devices"]
    assert step.main([*flags, "48"]) == 1
    assert "48 devices cannot share 4096 rows" in capsys.readouterr().err
    missing = str(tmp_path / "no" / "file")
    assert step.main([*flags, "64", "-o", missing]) == 1
    assert "No such file or directory" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        step.main([*flags, "0"])
    monkeypatch.setenv(opt.VARIABLE, str(tmp_path / "no-program"))
    bytecode = str(tmp_path / "step.mlirbc")
    assert step.main([*flags, "64", "-o", bytecode]) == 1
    assert "no-program" in capsys.readouterr().err
