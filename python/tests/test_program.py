# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The JSON form of modules, and running passes between two of them."""

import json
import os
import pathlib

import pytest

from commsched import _programs, ir, opt, output, program

STEP = """
commsched.group @"data parallel" size(4) stride(2)
func.func private @elsewhere(tensor<4xf32>)
func.func @forward(%w: tensor<4x8xbf16> {commsched.role = "parameter",
                                         commsched.name = "w"})
    -> tensor<16x8xbf16> {
  %f = commsched.all_gather %w on @"data parallel" dim(0)
    {commsched.name = "gather", commsched.runtime_ns = 100 : i64}
    : tensor<4x8xbf16> -> !commsched.future<tensor<16x8xbf16>>
  %0 = commsched.wait %f {commsched.name = "gather.wait"}
    : !commsched.future<tensor<16x8xbf16>>
  %c = commsched.compute "aten.neg"(%w)
    {commsched.name = "neg", commsched.runtime_ns = 80 : i64}
    : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %true = arith.constant true
  scf.if %true {
    %d = commsched.compute "aten.abs"(%c) : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  }
  return %0 : tensor<16x8xbf16>
}
func.func @dynamic(%x: tensor<?x16xf32>) {
  return
}
"""


def names(function):
    return [operation.name for operation in function.operations]


def test_run_programs(opt_program):
    before, after, reports = opt.run_programs(
        STEP, "--commsched-sink-waits", reports=True, timeout=60
    )
    forward = before.function("forward")
    assert names(forward) == ["gather", "gather.wait", "neg", "", ""]
    assert names(after.function("forward")) == ["gather", "neg", "", "", "gather.wait"]
    assert set(reports.before) == {"forward", "dynamic"}
    assert reports.before["forward"]["step_time_ns"] == 1180
    assert reports.after["forward"]["step_time_ns"] == 1080
    assert reports.after["forward"]["collectives"][0]["name"] == "gather"

    (group,) = before.groups
    assert (group.name, group.size, group.stride) == ("data parallel", 4, 2)
    assert before.group("data parallel") is group
    assert before.function("elsewhere").blocks == 0
    (weight,) = forward.arguments
    (activation,) = before.function("dynamic").arguments
    assert (weight.name, weight.role) == ("w", "parameter")
    assert weight.value.type == program.Type("tensor", (4, 8), "bf16")
    assert activation.value.type.shape == (None, 16)

    found = forward.by_name()
    gather, wait, neg = map(found.get, ("gather", "gather.wait", "neg"))
    assert gather.op == "commsched.all_gather"
    assert gather.group == "data parallel"
    assert wait.group is None
    assert gather.attributes["commsched.runtime_ns"] == 100
    assert gather.operands == (weight.value.id,)
    assert gather.results[0].type.kind == "future"
    full = program.Type("tensor", (16, 8), "bf16")
    assert gather.results[0].type.values == (full,)
    assert forward.results == (wait.results[0].id,)
    branch = forward.operations[-1]
    assert (branch.op, branch.regions) == ("scf.if", 2)
    assert branch.captures == (neg.results[0].id,)
    assert forward.producers()[gather.results[0].id] is gather
    assert forward.producers()[weight.value.id] is weight
    assert forward.users()[weight.value.id] == [gather, neg]
    assert forward.users()[neg.results[0].id] == [branch]


def test_folder_with_spaces(opt_program, tmp_path, monkeypatch):
    folder = tmp_path / "a, b {c}"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert opt.run_programs(STEP, reports=True).reports.after
    assert not list(folder.iterdir())


def test_unknown_names(opt_program):
    before, _, reports = opt.run_programs(STEP)
    assert reports is None
    with pytest.raises(KeyError, match="no function @f, only @elsewhere, @forward"):
        before.function("f")
    with pytest.raises(KeyError, match="no process group @dp"):
        before.group("dp")


def test_names_that_repeat(opt_program):
    text = STEP.replace('"neg"', '"gather"')
    forward = opt.run_programs(text).before.function("forward")
    with pytest.raises(program.ProgramError, match="@forward has two .*gather"):
        forward.by_name()


@pytest.mark.parametrize("text, message", [
    ("{", "no JSON"),
    ("[]", "version None"),
    ('{"groups": []}', "version None"),
    ('{"version": 2}', "version 2 .* cannot be read, only 1"),
    ('{"version": 1, "groups": []}', "lacks the key 'functions'"),
    (
        '{"version": 1, "attributes": {}, "groups": [], "functions": [3]}',
        "of another type",
    ),
])
def test_bad_programs(text, message):
    with pytest.raises(program.ProgramError, match=message):
        program.from_json(text)


def test_added_keys_are_ignored():
    text = json.dumps(
        {
            "version": 1, "attributes": {}, "functions": [], "later": 1,
            "groups": [{"name": "dp", "size": 2, "ranks_per_node": 2,
                        "attributes": {}, "later": 1}],
        }
    )
    assert program.from_json(text).group("dp").size == 2


def test_flag():
    assert opt.flag("p") == "--p"
    assert opt.flag("p", {"a": None}) == "--p"
    assert opt.flag(
        "p", {"bitwise": True, "budget": "5%", "slack": 3, "file": "/a b"}
    ) == "--p=bitwise=true budget=5% slack=3 file={/a b}"


# -- Programs that are not this package's ----------------------------------


def test_other_version(script):
    script("echo CommSched version 9.9")
    assert opt.version() == "9.9"
    with pytest.raises(opt.VersionError, match="of version 9.9, but the Pyth"):
        opt.run_programs(STEP)


def test_no_version(script):
    script("echo LLVM version 22.1")
    with pytest.raises(opt.VersionError, match="of no known version"):
        opt.check_version()


def test_no_program(monkeypatch, tmp_path):
    monkeypatch.setenv(opt.VARIABLE, str(tmp_path / "none"))
    assert opt.find() is None
    for call in (opt.version, opt.fingerprint, opt.check_version, lambda: opt.run("")):
        with pytest.raises(FileNotFoundError, match="which is no program"):
            call()


def test_fingerprint_follows_the_bytes(script):
    script("exit 0")
    first = opt.fingerprint()
    assert first == opt.fingerprint()
    script("exit 1")
    second = opt.fingerprint()
    script("exit 0")
    assert first == opt.fingerprint() != second


def test_timeout(script):
    script("exec sleep 30")
    with pytest.raises(opt.OptTimeout, match="not ended after 0.2 s"):
        opt.run("", timeout=0.2)


# -- The text builder and the runner, without PyTorch.


def example():
    module = ir.Module()
    module.add_group(ir.Group("dp", 8))
    module.add_group(ir.Group("odd", 2, ranks=((0, 3), (1, 2))))
    module.add_group(ir.Group("gloo", 2, backend="gloo"))
    function = module.add_function("main")
    shard = ir.TensorType((512, 4), "bf16")
    full = ir.TensorType((4096, 4), "bf16")
    x = function.argument("x", shard, {"commsched.role": "parameter"})
    future = function.start(
        "all_gather", [x], "dp", [full], hint="f", clauses="dim(0)",
        attrs={"commsched.runtime_ns": 100, "commsched.name": "gather"},
    )
    (y,) = function.wait(future, hints=["y"])
    z = function.compute(
        "aten.split", [y], [shard, full], hint="y",
        attrs={"flops": 1e22, "random": True, "alias": None, "mutates": []},
    )
    function.return_([z[1]])
    return module


def test_text():
    assert str(example()) == (
        "commsched.group @dp size(8)\n"
        "commsched.group @odd size(2) "
        "ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>)\n"
        'commsched.group @gloo size(2) {commsched.backend = "gloo"}\n'
        "\n"
        "func.func @main(%x: tensor<512x4xbf16> "
        '{commsched.role = "parameter"}) -> tensor<4096x4xbf16> {\n'
        "  %f = commsched.all_gather %x on @dp dim(0) "
        '{commsched.name = "gather", commsched.runtime_ns = 100 : i64} : '
        "tensor<512x4xbf16> -> !commsched.future<tensor<4096x4xbf16>>\n"
        "  %y = commsched.wait %f : !commsched.future<tensor<4096x4xbf16>>\n"
        '  %y_1:2 = commsched.compute "aten.split"(%y) '
        "{flops = 1.0e+22 : f64, mutates = array<i64>, random} : "
        "(tensor<4096x4xbf16>) -> (tensor<512x4xbf16>, tensor<4096x4xbf16>)\n"
        "  return %y_1#1 : tensor<4096x4xbf16>\n"
        "}\n"
    )


def test_attributes_of_a_module(opt_program):
    module = example()
    body = str(module)
    module.attributes["commsched.separate_copies"] = True
    attributed = "module attributes {commsched.separate_copies} {\n"
    assert str(module) == f"{attributed}{body}}}\n"
    assert opt.run(module).startswith(attributed)


def test_text_is_accepted(opt_program):
    assert opt.run(example()).count("commsched.") >= 6


@pytest.mark.parametrize("value", [0.1, 1e-7, 5.4e8, 1e22, 2.0**60, 1e300])
def test_numbers_are_read_back_exactly(opt_program, value):
    module = ir.Module()
    function = module.add_function("f")
    function.compute("x", [], [], hint="x", attrs={"flops": value})
    function.return_([])
    text = opt.run(module)
    printed = text[text.index("flops = ") :].split()[2]
    assert float(printed) == pytest.approx(value, rel=1e-6)


def test_strings_are_escaped(opt_program):
    module = ir.Module()
    module.add_group(ir.Group("a b", 8))
    function = module.add_function('a "b"')
    odd = 'quote " backslash \\ newline \n accent \u00e9'
    function.compute(odd, [], [], hint="x", attrs={"commsched.name": odd})
    x = function.argument("x", ir.TensorType((4,), "f32"))
    function.wait(function.start(
        "all_reduce", [x], "a b", [x.type], hint="y", clauses="reduction(sum)"
    ), hints=["z"])
    function.return_([])
    once = opt.run(module)
    assert 'func.func @"a \\22b\\22"(' in once and 'on @"a b" ' in once
    assert once.count('quote \\22 backslash \\\\ newline \\0A accent') == 2
    assert opt.run(once) == once


def test_infinite_number_is_refused():
    with pytest.raises(ValueError, match="not a finite number"):
        ir.attribute(float("inf"))


def test_names_are_unique():
    function = ir.Function("f")
    type_ = ir.TensorType((), "f32")
    made = [function.argument(n, type_).ref for n in ("a", "a", "a_1", "1 b")]
    assert made == ["a", "a_1", "a_1_1", "_1_b"]


def test_error_of_the_program_is_raised(opt_program):
    with pytest.raises(opt.OptError, match="unknown") as caught:
        opt.run("unknown.operation")
    assert caught.value.returncode == 1


def test_missing_torch_says_what_to_install(run_python):
    done = run_python(
        "import sys; sys.modules['torch'] = None\n"
        "import commsched, commsched.ir, commsched.opt, commsched.program\n"
        "import commsched.torch"
    )
    assert done.returncode == 1
    assert "pip install commsched[torch]" in done.stderr


# -- The commands of an installation without programs.


RUN = "from commsched import _programs; _programs.opt()"


without_programs = pytest.mark.skipif(
    _programs.in_package("commsched-opt") is not None,
    reason="this installation has programs",
)


@without_programs
def test_runs_the_program_on_path(opt_program, run_python):
    folder = str(pathlib.Path(opt_program).resolve().parent)
    done = run_python(RUN, "--version", PATH=folder)
    assert done.returncode == 0, done.stderr
    assert "CommSched version" in done.stdout


@without_programs
@pytest.mark.parametrize("other, said", [
    (None, "none that CMake built is on PATH"),
    # The command of another installation does not run.
    ("#!/bin/sh\necho another\n", "has no programs"),
])
def test_says_that_there_is_none(tmp_path, run_python, other, said):
    if other:
        (tmp_path / "commsched-opt").write_text(other)
        (tmp_path / "commsched-opt").chmod(0o755)
    done = run_python(RUN, "--version", PATH=str(tmp_path))
    assert done.returncode == 1
    assert said in done.stderr


# -- Files are written whole or not at all.


def test_replaces_a_file_at_the_end(tmp_path):
    path = tmp_path / "step.mlir"
    path.write_text("before")
    with output.replacing(path) as temporary:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert os.listdir(tmp_path) == ["step.mlir"]


def test_keeps_the_file_and_its_ending(tmp_path):
    path = tmp_path / "step.svg"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        with output.replacing(path) as temporary:
            assert temporary.endswith(".svg")
            with open(temporary, "w", encoding="utf-8") as file:
                file.write("a part")
            raise KeyboardInterrupt
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["step.svg"]


def test_writes_through_a_link(tmp_path):
    target, link = tmp_path / "target.mlir", tmp_path / "link.mlir"
    target.write_text("before")
    link.symlink_to(target)
    output.write_module("after", str(link))
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_writes_to_a_device():
    output.write_module("module {}", os.devnull)
    assert not os.path.isfile(os.devnull)


def test_names_the_file_that_cannot_be_written(tmp_path):
    path = tmp_path / "no" / "step.mlir"
    with pytest.raises(FileNotFoundError) as raised:
        output.write_module("module {}", str(path))
    assert raised.value.filename == str(path)
