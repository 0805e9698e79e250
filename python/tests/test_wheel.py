# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel that COMMSCHED_WHEEL names, installed in a new environment:
its programs do the demo's main job where no LLVM is to be found, and its
libraries get along with others in one process."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WHEEL = os.environ.get("COMMSCHED_WHEEL")

pytestmark = pytest.mark.skipif(
    not WHEEL, reason="COMMSCHED_WHEEL names no wheel: scripts/build_wheel.sh"
)

# The newest versions that Debian 12 has.
NEWEST = {
    "GLIBC": (2, 36),
    "GLIBCXX": (3, 4, 30),
    "CXXABI": (1, 3, 13),
    "GCC": (12, 0, 0),
}
SYSTEM = re.compile(
    r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux-x86-64)"
    r"\.so\.\d+"
)


def run(*command, env=None):
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        timeout=240,
        env=env,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder `bin` of an environment with nothing but the wheel."""
    folder = tmp_path_factory.mktemp("wheel") / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install"),
        *("--quiet", "--no-index", "--no-deps", WHEEL),
    )
    return folder / "bin"


@pytest.fixture(scope="module")
def package(installed):
    """Where the environment has the package."""
    (folder,) = installed.parent.glob("lib/python*/site-packages/commsched")
    return folder


@pytest.fixture
def env(installed):
    """Variables with which nothing outside the environment is found."""
    return {"PATH": str(installed), "HOME": os.devnull}


def libraries(package):
    """What of the package is no Python: programs and libraries."""
    files = [p for p in package.rglob("*") if p.is_file()]
    return [p for p in files if p.open("rb").read(4) == b"\x7fELF"]


# -- What it consists of ---------------------------------------------------


def test_needs_only_what_debian_has(package):
    """In no newer version, and shows no symbols of MLIR."""
    files = libraries(package)
    names = {p.name for p in files}
    assert {"commsched-opt", "commsched-run"} <= names
    for path in files:
        dynamic = run("readelf", "--wide", "--dynamic", path)
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
        foreign = {n for n in needed - names if not SYSTEM.fullmatch(n)}
        if path.name == "libCommSchedRuntimeMpi.so":
            # Found when the backend is loaded, or else this one is not there.
            foreign = {n for n in foreign if not n.startswith("libmpi")}
        assert not foreign, path
        paths = re.findall(r"(?:RUNPATH|RPATH).*\[(.*)\]", dynamic)
        for entry in ":".join(paths).split(":"):
            assert not entry or entry.startswith("$ORIGIN") or "mpi" in entry
        info = run("readelf", "--wide", "--version-info", path)
        for name, text in re.findall(r"Name: ([A-Z]+)_([\d.]+)", info):
            version = tuple(map(int, text.split(".")))
            assert version <= NEWEST[name], f"{path}: {name}_{text}"
        shown = run("nm", "--dynamic", "--defined-only", "--demangle", path)
        assert not re.search(r" (llvm|mlir)::|mlir[A-Z]|LLVM[A-Z]", shown)


# -- What it does ----------------------------------------------------------


def test_finds_its_own_program(installed, package, env):
    script = "from commsched import opt; opt.check_version(); print(opt.find())"
    found = run(installed / "python", "-c", script, env=env)
    assert found.strip() == str(package / "bin" / "commsched-opt")
    version = run(installed / "commsched-opt", "--version", env=env)
    assert "CommSched version" in version
    # The programs themselves are small, and always the same: others are known by
    # their library.
    script = "from commsched import opt; print(opt.fingerprint())"
    fingerprints = set()
    for _ in range(2):
        fingerprints.add(run(installed / "python", "-c", script, env=env))
        with open(package / "lib" / "libCommSchedPrograms.so", "ab") as file:
            file.write(b" ")
    assert len(fingerprints) == 2


def test_runs_the_steps_of_the_demo(installed, env, tmp_path):
    def demo(*words, step):
        command = (installed / "python", "-m", "commsched.demo", *words)
        step = ROOT / "examples" / f"{step}.mlirbc"
        return run(*command, "--output-dir", tmp_path, step, env=env)

    text = demo("schedule", step="llama3-8b-fsdp64")
    whole = text[text.index("whole step") :]
    times = re.search(r"step time +([\d.,]+) ms +([\d.,]+) ms", whole)
    before, after = (float(time.replace(",", "")) for time in times.groups())
    assert after < before
    assert (tmp_path / "llama3-8b-fsdp64.scheduled.mlirbc").stat().st_size
    text = demo("run", "--repeat", 1, step="llama3-tiny-fsdp4")
    assert "results: equal" in text


@pytest.mark.skipif(not shutil.which("mpirun"), reason="there is no MPI")
def test_runs_ranks_of_mpi(installed, env):
    variables = {
        **env,
        "PATH": os.pathsep.join([env["PATH"], os.environ["PATH"]]),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    step = ROOT / "examples" / "timeline.mlir"
    command = ("mpirun", "-n", 4, installed / "commsched-run", step)
    text = run(*command, env=variables)
    assert "@timeline on 4 ranks, backend mpi" in text


def test_says_which_backends_there_are(installed, env):
    step = ROOT / "examples" / "timeline.mlir"
    done = subprocess.run(
        [installed / "commsched-run", step, "--backend=none"],
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.returncode
    assert "'local'" in done.stderr
    assert "'nccl'" not in done.stderr


def test_runs_the_example_of_a_compiler(installed, env):
    example = ROOT / "examples" / "python" / "compiler.py"
    lines = run(installed / "python", example, env=env).splitlines()
    assert lines[-2:] == ["129.6 us exposed", "84.1 us exposed"]


ONE_PROCESS = """
import sys
import torch
try:
    import jax
except ImportError:
    jax = None
from commsched import native, opt

extension = native.load()
assert extension.__file__.startswith(sys.argv[1]), extension.__file__
step = open(sys.argv[2], encoding="utf-8").read()
flags = (
    "--convert-stablehlo-to-commsched",
    "--commsched-pipeline",
    "--convert-commsched-to-stablehlo",
    "--mlir-print-op-generic",
)
here = opt.run(step, *flags)
assert here.count("stablehlo.async_start") == 3
assert here == opt.run(step, *flags, in_process=False)

# What brings another LLVM along still works.
x = torch.ones(8, 8)
assert torch.jit.script(torch.nn.Tanh())(x @ x).sum() > 0
if jax is not None:
    from jax.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    with make_ir_context():
        assert "async_start" in str(ir.Module.parse(here))
    f = jax.jit(lambda x: jax.numpy.tanh(x @ x).sum())
    assert abs(f(jax.numpy.ones((8, 8))) - 64) < 1e-3
assert here == opt.run(step, *flags)
"""


def test_gets_along_with_other_copies_of_llvm(installed, package):
    pytest.importorskip("torch")
    step = ROOT / "examples" / "stablehlo" / "step.mlir"
    variables = dict(os.environ)
    variables.pop("COMMSCHED_OPT", None)
    # The other environment's packages, without its editable installations,
    # which would come before the wheel.
    variables["PYTHONPATH"] = sysconfig.get_path("purelib")
    python = installed / "python"
    run(python, "-c", ONE_PROCESS, package, step, env=variables)
