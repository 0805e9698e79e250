# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The JSON form of modules, and running passes between two of them."""

import json

import pytest

from commsched import opt, program

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
    assert names(after.function("forward")) == [
        "gather", "neg", "", "", "gather.wait",
    ]
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


def test_reports_take_a_target(opt_program):
    text = STEP.replace(", commsched.runtime_ns = 100 : i64", "")
    times = [
        opt.run_programs(
            text, f"--commsched-set-costs=target={target}", reports=True
        ).reports.after["forward"]["comm_time_ns"]
        for target in ("h100", "b200")
    ]
    assert times[0] != times[1]


def test_no_reports_unless_asked_for(opt_program):
    assert opt.run_programs(STEP).reports is None


def test_folder_with_spaces(opt_program, tmp_path, monkeypatch):
    folder = tmp_path / "a, b {c}"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert opt.run_programs(STEP, reports=True).reports.after
    assert not list(folder.iterdir())


def test_failing_pass(opt_program):
    with pytest.raises(opt.OptError, match="memory-budget"):
        opt.run_programs(
            STEP, opt.flag("commsched-pipeline", {"memory-budget": "much"})
        )


def test_unknown_names(opt_program):
    before = opt.run_programs(STEP).before
    with pytest.raises(KeyError, match="no function @f, only @elsewhere, @forward"):
        before.function("f")
    with pytest.raises(KeyError, match="no process group @dp"):
        before.group("dp")


def test_names_that_repeat(opt_program):
    text = STEP.replace('"neg"', '"gather"')
    forward = opt.run_programs(text).before.function("forward")
    with pytest.raises(program.ProgramError, match="@forward has two .*gather"):
        forward.by_name()


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "no JSON"),
        ("[]", "version None"),
        ('{"groups": []}', "version None"),
        ('{"version": 2}', "version 2 .* cannot be read, only 1"),
        ('{"version": 1, "groups": []}', "lacks the key 'functions'"),
        (
            '{"version": 1, "attributes": {}, "groups": [], "functions": [3]}',
            "of another type",
        ),
    ],
)
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


def test_version(opt_program):
    opt.check_version()


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
    for call in (opt.version, opt.fingerprint, opt.check_version):
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
