# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in every form that jaxlib reads become what commsched-opt reads, by
the command that its error says and within the commands of a wheel."""

import io
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
from jax_models import mesh_of, per_device  # Makes eight devices.
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P
from jaxlib import _jax
from jaxlib.mlir.dialects import stablehlo

from commsched import _programs, opt
from commsched.forms import Form, form_of, needs_conversion
from commsched.jax import convert
from commsched.jax.reading import read_module

pytestmark = pytest.mark.usefixtures("opt_program")

READ = ("--convert-stablehlo-to-commsched", "--mlir-print-op-generic")

MHLO = """module attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main(%a: tensor<4xf32>) -> tensor<32xf32> {
    %0 = "mhlo.all_gather"(%a) {all_gather_dim = 0 : i64,
      channel_handle = #mhlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>,
      use_global_device_ids} : (tensor<4xf32>) -> tensor<32xf32>
    %1 = mhlo.add %0, %0 : tensor<32xf32>
    return %1 : tensor<32xf32>
  }
}
"""

# The arguments are the three arrays of the two parameters.
HLO = """// A comment, which XLA's parser knows.
HloModule donates, input_output_alias={ {1}: (0, {1}, must-alias) },
    buffer_donor={ (1, {}) }, replica_count=2, num_partitions=4

ENTRY main {
  pair = (f32[4], f32[4]) parameter(0)
  other = f32[4] parameter(1)
  first = f32[4] get-tuple-element(pair), index=0
  second = f32[4] get-tuple-element(pair), index=1
  gathered = f32[8] all-gather(first), replica_groups={{0,1}}, dimensions={0}
  sum = f32[4] add(second, other)
  ROOT both = (f32[8], f32[4]) tuple(gathered, sum)
}
"""

# XLA's parser checks the axis where it takes no error.
FATAL = """HloModule m
ENTRY main {
  a = f32[4] parameter(0)
  ROOT g = f32[8] all-gather(a), replica_groups=mesh['x'=2] {'y'},
    dimensions={0}
}
"""


def lower():
    def gather(a):
        return jax.lax.all_gather(jnp.sin(a), "x", tiled=True)

    mapped = per_device(gather, mesh_of(x=8), P("x"), P())
    return jax.jit(mapped).lower(jnp.ones(32)).compiler_ir("stablehlo")


def bytecode(module):
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def wrapped(proto):
    """A message whose field 1 is another."""
    size, digits = len(proto), []
    while size > 127:
        digits.append(size & 127 | 128)
        size >>= 7
    return b"\x0a" + bytes([*digits, size]) + proto


FORMS = {
    "custom.mlir": Form.TEXT,
    "generic.mlir": Form.TEXT,
    "mhlo.mlir": Form.TEXT,
    "jax.mlirbc": Form.BYTECODE,
    "artifact.mlirbc": Form.ARTIFACT,
    "own.mlirbc": Form.OWN_BYTECODE,
    "text.hlo": Form.HLO_TEXT,
    "module.pb": Form.HLO_PROTO,
    "hlo.pb": Form.HLO_PROTO,
    "snapshot.pb": Form.HLO_PROTO,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a program of one all-gather in each form."""
    module = lower()
    version = stablehlo.get_current_version()
    hlo = convert.private.parse_hlo_text(HLO.encode())
    proto = hlo.as_serialized_hlo_module_proto()
    generic = convert.module_text(module).encode()
    contents = {
        "custom.mlir": str(module).encode(),
        "generic.mlir": generic,
        "mhlo.mlir": MHLO.encode(),
        "jax.mlirbc": bytecode(module),
        # Those of a shard_map have calls of Shardy's in its place.
        "artifact.mlirbc": _jax.mlir.serialize_portable_artifact(
            read_module(MHLO.encode()), version
        ),
        "own.mlirbc": opt.run_bytes(generic, "--emit-bytecode"),
        "text.hlo": HLO.encode(),
        "module.pb": proto,
        "hlo.pb": wrapped(proto),
        "snapshot.pb": wrapped(wrapped(proto)),
    }
    folder = tmp_path_factory.mktemp("forms")
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_read(files, name):
    data = (files / name).read_bytes()
    assert form_of(data) is FORMS[name]
    is_read_already = name in ("generic.mlir", "own.mlirbc")
    assert needs_conversion(data) != is_read_already
    text = convert.convert_text(data, name)
    assert not needs_conversion(text.encode())
    # The counts of devices are in the header of HLO text only.
    flags = () if name.endswith(".pb") else READ
    printed = opt.run(text, *flags)
    kind = "stablehlo" if name.endswith(".pb") else "commsched"
    assert len(re.findall(rf'"{kind}\.all_gather"\(', printed)) == 1


def test_all_forms_of_a_module_give_the_same_text(files):
    def read(name):
        data = (files / name).read_bytes()
        return opt.run(convert.convert_text(data))

    expected = read("generic.mlir")
    for name in ("custom.mlir", "jax.mlirbc", "own.mlirbc"):
        assert read(name) == expected
    assert "num_partitions = 8" in read("artifact.mlirbc")


@pytest.mark.parametrize("name", ["text.hlo", "hlo.pb"])
def test_what_hlo_says_of_arguments_and_devices(files, name):
    text = convert.convert_text((files / name).read_bytes())
    marks = "[{}, {tf.aliasing_output = 1 : i32}, {jax.buffer_donor = true}]"
    assert f"arg_attrs = {marks}" in text
    assert "mhlo.input_output_alias" not in text
    if name == "text.hlo":
        assert "mhlo.num_partitions = 4 : i32" in text
        assert "mhlo.num_replicas = 2 : i32" in text


# -- The command -----------------------------------------------------------


def run_shell(command, folder, **keywords):
    """Runs a command where `python` is this one."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    package = pathlib.Path(convert.__file__).parents[2]
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(package)}
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=120,
        check=False,
        **keywords,
    )


def test_the_command_in_the_error_works(files, opt_program, tmp_path):
    (tmp_path / "a b").mkdir()
    for name in ("jax.mlirbc", "artifact.mlirbc", "text.hlo", "custom.mlir"):
        source = tmp_path / "a b" / name
        source.write_bytes((files / name).read_bytes())
        failed = run_shell(shlex.join([opt_program, f"a b/{name}"]), tmp_path)
        assert failed.returncode == 1
        said = re.search(r"first: (python -m .*)", failed.stderr.decode())[1]
        assert name in said
    done = run_shell(said, tmp_path)
    assert done.returncode == 0, done.stderr
    written = source.with_suffix(".generic.mlir")
    assert "commsched.all_gather" in opt.run(written.read_text(), *READ)


def test_writes_bytecode_and_reads_standard_input(files, tmp_path):
    data = (files / "custom.mlir").read_bytes()
    command = "python -m commsched.jax.convert - -o out.mlirbc"
    done = run_shell(command, tmp_path, input=data)
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "out.mlirbc").read_bytes()
    assert form_of(written) is Form.OWN_BYTECODE
    assert b"commsched.all_gather" in opt.run_bytes(written, *READ)


@pytest.mark.parametrize("content, expected", [
    (None, "No such file or directory"),
    (b"hello", "cannot be read as MLIR text"),
    (b"", "it is empty"),
    (b"\0\1\2\3", "cannot be read as HLO proto"),
    (b"\x0a\x03\x00bc", "cannot be read as HLO proto"),
    (b"ML\xefRbroken", "cannot be read as MLIR bytecode"),
    (b"HloModule m\nnonsense", "cannot be read as HLO text"),
])
def test_what_cannot_be_read_is_said(
    tmp_path, monkeypatch, capfd, content, expected
):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "program").write_bytes(content)
    assert convert.main(["program", "-o", "out"]) == 1
    assert not (tmp_path / "out").exists()
    said = capfd.readouterr().err
    assert said.startswith("error: program: ") and "Traceback" not in said
    assert expected in said


def test_jaxlib_ends_another_process(tmp_path):
    (tmp_path / "program").write_text(FATAL)
    done = run_shell("python -m commsched.jax.convert program -o out", tmp_path)
    assert done.returncode == 1 and not (tmp_path / "out").exists()
    assert b"jaxlib ended its process: Check failed: " in done.stderr


def test_without_jax_one_line_says_what_to_install(tmp_path):
    (tmp_path / "jax.py").write_text("raise ImportError('no jax')\n")
    command = "python -m commsched.jax.convert none"
    done = run_shell(f"PYTHONPATH=.:$PYTHONPATH {command}", tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert "pip install commsched[jax]" in line


# -- The command of a wheel ------------------------------------------------


def run_command(arguments, folder, opt_program, before="", **keywords):
    """Runs the command commsched-opt of an installation with that program."""
    programs = os.path.dirname(os.path.realpath(opt_program))
    run = "from commsched import _programs; _programs.opt()"
    command = f"{before} python -c {shlex.quote(run)} {arguments}"
    path = f"PATH={shlex.quote(programs)}:$PATH"
    return run_shell(f"export {path}; {command}", folder, **keywords)


in_source = pytest.mark.skipif(
    _programs.in_package("commsched-opt") is not None,
    reason="this installation has programs",
)


@in_source
@pytest.mark.parametrize("source", ["custom.mlir", "- < text.hlo", "< artifact.mlirbc"])
def test_commands_convert_by_themselves(files, opt_program, source):
    flags = "--convert-stablehlo-to-commsched -o - "
    done = run_command(flags + source, files, opt_program)
    assert done.returncode == 0, done.stderr
    assert b"commsched.all_gather" in done.stdout


@in_source
def test_commands_say_what_cannot_be_read(tmp_path, opt_program):
    (tmp_path / "m.hlo").write_text("HloModule m\nnonsense")
    done = run_command("m.hlo", tmp_path, opt_program)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: m.hlo: cannot be read as HLO text")


@in_source
def test_commands_run_without_jax(files, tmp_path, opt_program):
    (tmp_path / "jax.py").write_text("raise ImportError('no jax')\n")
    hide = f"PYTHONPATH={tmp_path}:$PYTHONPATH"
    done = run_command("custom.mlir", files, opt_program, before=hide)
    assert done.returncode == 1
    assert b"python -m commsched.jax.convert custom.mlir" in done.stderr
    done = run_command("generic.mlir", files, opt_program, before=hide)
    assert done.returncode == 0, done.stderr
