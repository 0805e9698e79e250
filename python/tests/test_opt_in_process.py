# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes within the process: the same results and errors as the program."""

import os
import pathlib
import sys
import threading

import pytest

from commsched import native, opt

pytestmark = pytest.mark.usefixtures("extension")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
TIMELINE = (EXAMPLES / "timeline.mlir").read_text()
RAISE = "--commsched-raise-comms"


@pytest.fixture
def program(opt_program, monkeypatch):
    """Leaves it to opt.run where passes run; the path of the program."""
    folder = str(pathlib.Path(opt_program).resolve().parent)
    monkeypatch.setenv("PATH", folder, prepend=os.pathsep)
    monkeypatch.delenv(opt.VARIABLE, raising=False)
    return opt_program


@pytest.fixture
def no_program(program, monkeypatch):
    """Fails the test if the program runs."""

    def run(*args):
        pytest.fail(f"the program ran: {args}")

    monkeypatch.setattr(opt, "_call", run)


def outcome(module, flags, **options):
    try:
        return opt.run_bytes(module, *flags, **options)
    except opt.OptError as error:
        return str(error), error.returncode, error.stderr


BAD = TIMELINE.replace("on @", "on @no_such_group_", 1)


@pytest.mark.parametrize("module, flags", [
    (TIMELINE, []),
    (TIMELINE, [RAISE, "--commsched-sink-waits"]),
    (TIMELINE, ["--commsched-pipeline=memory-budget=5%"]),
    (TIMELINE, ["--canonicalize", "--cse", "--mlir-print-op-generic"]),
    (TIMELINE, ["--emit-bytecode"]),
    (TIMELINE, ["--commsched-pipeline=memory-budget=-5%"]),
    (TIMELINE, ["--commsched-pipeline=memory-budget=5% target=z9"]),
    (TIMELINE, ["--commsched-no-such-pass"]),
    (TIMELINE, ["--commsched-report"]),
    (BAD, [RAISE]),
    ("func.func @f() {\n  return %x : i32\n}", [RAISE]),
    ('"a.b"() : () -> ()', []),
    ('"a.b"() : () -> ()', ["--allow-unregistered-dialect"]),
    (b"\xff\xfe no text", [RAISE]),
    ("", []),
])
def test_as_the_program(program, module, flags):
    assert outcome(module, flags) == outcome(module, flags, in_process=False)


@pytest.mark.parametrize("path", ["llama3-8b-fsdp64.mlirbc",
                                  "llama3-tiny-fsdp4.mlirbc"])
def test_examples_as_the_program(program, path):
    module = (EXAMPLES / path).read_bytes()
    flags = [RAISE, "--emit-bytecode"]
    assert outcome(module, flags) == outcome(module, flags, in_process=False)


@pytest.mark.parametrize("table", [
    '{"version": 1, "dialects": ["mine"], "operations": '
    '[{"names": ["mine.add"], "effects": "none"}]}',
    '{"version": 1, "dialects": "mine"}',
    None,
])
def test_tables_as_the_program(program, tmp_path, table):
    path = tmp_path / "mine.json"
    if table is not None:
        path.write_text(table)
    flags = [f"--operations={path}", "--canonicalize"]
    module = 'func.func @f() {\n  "mine.add"() : () -> ()\n  return\n}'
    assert outcome(module, flags) == outcome(module, flags, in_process=False)


def test_programs_as_the_program(program, monkeypatch):
    here = opt.run_programs(TIMELINE, RAISE, reports=True)
    monkeypatch.setenv(opt.VARIABLE, program)
    there = opt.run_programs(TIMELINE, RAISE, reports=True)
    assert repr(here) == repr(there)


MISSED = r"'timeline': memory-budget=1KiB cannot be met: the schedule that needs"


@pytest.mark.parametrize("in_process", [True, False])
def test_missed_budget_is_a_warning(program, in_process):
    flags = ["--commsched-pipeline=memory-budget=1KiB"]
    with pytest.warns(opt.OptWarning, match=MISSED) as caught:
        opt.run(TIMELINE, *flags, in_process=in_process)
    assert len(caught) == TIMELINE.count("func.func")


# -- Where passes run ------------------------------------------------------


def test_within_the_process(no_program):
    assert "commsched.all_gather" in opt.run(TIMELINE, RAISE)
    with pytest.raises(opt.OptError, match="<stdin>:"):
        opt.run(BAD, RAISE)


def test_in_the_program(program, monkeypatch):
    def run(*args):
        pytest.fail("the extension ran")

    monkeypatch.setattr(native.load(), "run", run)
    expected = opt.run(TIMELINE, RAISE, in_process=False)
    assert opt.run(TIMELINE, RAISE, timeout=60) == expected
    monkeypatch.setenv(opt.VARIABLE, program)
    assert opt.run(TIMELINE, RAISE) == expected


def test_timeout_needs_the_program(program, monkeypatch):
    monkeypatch.setattr(opt, "find", lambda: None)
    assert opt.is_available()
    assert "commsched.all_gather" in opt.run(TIMELINE, RAISE)
    assert opt.run_programs(TIMELINE, RAISE).after
    for call in (opt.run, opt.run_programs):
        with pytest.raises(FileNotFoundError, match="no commsched-opt"):
            call(TIMELINE, RAISE, timeout=60)
    # Only the program can say more.
    with pytest.raises(opt.OptError):
        opt.run(TIMELINE, "--commsched-pipeline=no-such-option")


def test_without_the_extension(program, monkeypatch):
    expected = opt.run(TIMELINE, RAISE)
    monkeypatch.setattr(native, "find", lambda: None)
    assert opt.run(TIMELINE, RAISE) == expected


def test_fingerprint_covers_the_extension(program, monkeypatch):
    both = opt.fingerprint()
    monkeypatch.setenv(opt.VARIABLE, program)
    assert opt.fingerprint() != both


def test_extension_of_another_version(tmp_path, monkeypatch):
    path = tmp_path / "_native.py"
    path.write_text('version = "9.9"')
    monkeypatch.delitem(sys.modules, "commsched._native")
    monkeypatch.setattr(native, "_failure", None)
    monkeypatch.setattr(native, "_find_file", lambda: path)
    assert native.find() is None
    with pytest.raises(ImportError, match="is of version 9.9, but the Python"):
        native.load()


def test_several_threads(no_program):
    flags = ["--commsched-pipeline=memory-budget=5%"]
    modules = [TIMELINE, BAD, TIMELINE.replace("@timeline", "@other")] * 4
    expected = [outcome(module, flags) for module in modules[:3]] * 4
    found = [None] * len(modules)

    def work(i):
        found[i] = outcome(modules[i], flags)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(modules))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


