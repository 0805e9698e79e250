# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How PyTorch finds the backend, and what works without PyTorch."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]


def run_python(script, *paths, **environment):
    """Runs a script with `paths` before the package on its path."""
    path = os.pathsep.join(map(str, (*paths, PACKAGE)))
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def installed(tmp_path):
    """A folder with the metadata that installing the package writes."""
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    folder = tmp_path / "commsched-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: commsched\nVersion: 0.1.0\n"
    )
    lines = []
    for group, entries in project["entry-points"].items():
        lines.append(f"[{group}]")
        lines += [f"{name} = {where}" for name, where in entries.items()]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_pytorch_finds_the_backend_by_its_name(installed):
    pytest.importorskip("torch")
    done = run_python(
        """
        import sys
        import torch

        assert "commsched" in torch._dynamo.list_backends()
        assert "commsched.torch" not in sys.modules
        options = {"inner": "eager", "strict": True}
        step = torch.compile(
            lambda x: x.sin(), backend="commsched", options=options
        )
        x = torch.randn(3, requires_grad=True)
        step(x).sum().backward()
        assert torch.equal(x.grad, x.detach().cos())
        import commsched.torch as cs

        kinds = [record.kind for record in cs.explain(step).records]
        assert kinds == ["forward", "backward"], kinds
        """,
        installed,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("left as it was: no collectives") == 2


@pytest.mark.parametrize(
    "call, message",
    [
        ('options={"memory_buget": 1}', "unknown option 'memory_buget'"),
        (
            'options={"max_autotune": True}',
            r"'max_autotune' is one of Inductor's.*inductor_options\(\{'max_a",
        ),
        ('options={"target": "tpu"}', "option 'target' is 'tpu'"),
        ('mode="max-autotune"', "has no mode 'max-autotune'"),
    ],
)
def test_bad_options_are_errors(call, message):
    torch = pytest.importorskip("torch")
    from commsched.torch.compiling.backend import commsched

    step = eval(f"torch.compile(torch.sin, backend=commsched, {call})")
    with pytest.raises(Exception, match=message):
        step(torch.randn(3))
    torch._dynamo.reset()


def test_a_backward_has_the_options_of_its_forward(fake_world, opt_program):
    """It is compiled when it first runs, whatever became of the options."""
    import torch
    from torch.distributed.device_mesh import init_device_mesh

    from commsched import torch as cs
    from commsched.torch.compiling import records
    from commsched.torch.compiling.backend import commsched

    fake_world(4)
    mesh = init_device_mesh("cpu", (4,))
    merged = {}
    for buckets in ("off", "auto"):
        torch._dynamo.reset()
        records.reset()
        model = torch.nn.Sequential(torch.nn.Linear(64, 64))
        cs.shard_parameters(model, mesh)
        options = {"inner": "eager", "buckets": buckets, "strict": True}
        step = torch.compile(model, backend=commsched, options=options)
        loss = step(torch.randn(8, 64, dtype=torch.bfloat16)).sum()
        options["buckets"] = "none of these"
        loss.backward()
        backward = records.records()[1]
        assert backward.kind == "backward"
        merged[buckets] = len(backward.merged)
    assert merged == {"off": 0, "auto": 1}
    torch._dynamo.reset()


def test_the_package_works_without_pytorch():
    done = run_python(
        """
        import sys

        sys.modules["torch"] = None
        import commsched.ir, commsched.opt, commsched.program

        try:
            import commsched.torch
        except ImportError as error:
            assert "commsched[torch]" in str(error), error
        else:
            raise AssertionError("commsched.torch was imported")
        """
    )
    assert done.returncode == 0, done.stderr


def test_public_names_are_imported_when_they_are_used():
    pytest.importorskip("torch")
    done = run_python(
        """
        import sys
        import commsched.torch as cs

        assert "commsched.torch.compiling" not in sys.modules
        assert "torch._inductor" not in sys.modules
        for name in cs.__all__:
            assert getattr(cs, name) is not None
            assert name in dir(cs)
        try:
            cs.nothing
        except AttributeError as error:
            assert "'nothing'" in str(error)
        """
    )
    assert done.returncode == 0, done.stderr
