# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared by the tests: what a process keeps between compilations, fake process
groups, and checking what was imported with commsched-opt where there is one."""

import gc
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SUPPORT = [
    f"testsupport/{folder}"
    for folder in ("", "fx", "inductor", "optimum", "partitions", "rules", "steps")
]
for folder in (*SUPPORT, "examples/models"):
    sys.path.append(str(Path(__file__).parents[2] / folder))

from commsched import native, opt  # noqa: E402
from installed import write_metadata  # noqa: E402

# Inductor compiles a program for each kind of vectors that the processor has, in
# every new folder of kernels, to see whether the compiler knows them; it does.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")

# What tests see must not depend on how fast the machine is just now.
os.environ.setdefault("COMMSCHED_MEASURE", "never")

# Files run beside each other, on as many processes as there are processors.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# As testsupport/ranks_start.py has it.
gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skips a file that imports PyTorch or JAX itself where there is none."""
    report = yield
    missing = re.search("No module named '(torch|jax)'", str(report.longrepr))
    if report.failed and missing:
        text = collector.path.read_text("utf-8")
        if re.search(rf"^(import|from) {missing[1]}", text, re.M):
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 1, f"Skipped: {missing[0]}")
    return report


@pytest.fixture(autouse=True)
def nothing_of_other_tests():
    """Forgets what other tests compiled: equal functions are not compiled again,
    graphs of equal classes are explained together, and a cause is warned of once in
    a process."""
    forget_compiled()
    yield
    forget_compiled()


@pytest.fixture(autouse=True)
def no_device_of_peers(monkeypatch):
    """benchmarks/peers registers a device for the life of a process. It is the
    accelerator at hand of no other test."""
    torch = sys.modules.get("torch")
    device = torch and torch.accelerator.current_accelerator()
    if device and device.type == "commsched":
        monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)


def forget_compiled():
    for name in ("commsched.torch.compiling.records", "torch._dynamo"):
        if module := sys.modules.get(name):
            module.reset()


@pytest.fixture(scope="session")
def opt_program():
    """The path of commsched-opt, which has to be built."""
    program = opt.find()
    assert program, "no commsched-opt: build it, or set COMMSCHED_OPT or PATH"
    return program


@pytest.fixture(scope="session")
def built(opt_program):
    """Returns a function that gives the path of a program that is built beside
    commsched-opt."""

    def find(name):
        found = shutil.which(name, path=os.path.dirname(opt_program))
        assert found, f"no {name} beside {opt_program}: build it"
        return found

    return find


@pytest.fixture(scope="session")
def extension():
    """The extension module, which has to be built."""
    found = native.find()
    assert found, "no extension commsched._native: build it"
    return found


@pytest.fixture(scope="session")
def run_python():
    """Returns a function that runs a script or, given `-m`, a module in a process
    of its own, with the package and `paths` on its path."""
    package = Path(__file__).parents[1]

    def run(script, *arguments, paths=(), timeout=240, **environment):
        what = [script] if script == "-m" else ["-c", textwrap.dedent(script)]
        path = os.pathsep.join(map(str, (*paths, package)))
        return subprocess.run(
            [sys.executable, *what, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True, text=True, timeout=timeout, check=False,
        )

    return run


@pytest.fixture
def metadata(tmp_path):
    """A folder with the metadata that installing the package writes."""
    folder = tmp_path / "metadata"
    folder.mkdir()
    write_metadata(folder)
    return folder


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Returns a function that makes a shell script the program, and returns
    its path."""

    def write(body):
        path = tmp_path / "commsched-opt"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        # The time of the file tells that it was replaced.
        os.utime(path, ns=(0, len(body) * 10**9 + sum(map(ord, body))))
        monkeypatch.setenv(opt.VARIABLE, str(path))
        return path

    return write


@pytest.fixture
def fake_world():
    """Returns a function that starts a fake process group of a given size,
    of which this process is rank 0, whatever ran before."""
    dist = pytest.importorskip("torch.distributed")
    from torch.testing._internal.distributed.fake_pg import FakeStore

    def start(size, rank=0):
        if dist.is_initialized():
            dist.destroy_process_group()
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=size)
        return dist.group.WORLD.group_name

    yield start
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture
def imported(monkeypatch):
    """Returns a function that imports graphs and returns the text.

    The text has to be the same when it is imported again, and, where there is
    a commsched-opt, has to parse, verify and print as what it was.
    """
    pytest.importorskip("torch")
    if native.find():  # Within the process, which is faster.
        monkeypatch.delenv(opt.VARIABLE, raising=False)
    from commsched.torch import GraphSpec, import_graphs

    def run(*graphs, **options):
        from commsched.torch import ImportOptions

        specs = [
            g if isinstance(g, GraphSpec) else GraphSpec(f"f{i}", g)
            for i, g in enumerate(graphs)
        ]
        options = ImportOptions(**options)
        text = str(import_graphs(specs, options))
        assert text == str(import_graphs(specs, options))
        if opt.is_available():
            once = opt.run(text)
            assert opt.run(once) == once
        return text

    return run
