# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every snippet of docs/guide/pytorch.md runs and prints what the page says."""

import contextlib
import io
import os
import re

import pytest
import torch
from commsched.torch import measure

import commsched.torch as cs
import doc_blocks
from generated_code import without_compiler
from installed import ROOT
from ranks import run_ranks

FILE = ROOT / "docs" / "guide" / "pytorch.md"
PAGE = FILE.read_text(encoding="utf-8")


def texts(language):
    return doc_blocks.of_language(FILE, language)


def without_seconds(text):
    """What is printed, without how long it took to compile."""
    return re.sub(r" in \d+\.\d+ s$", "", text, flags=re.M).strip()


@pytest.fixture
def installed(tmp_path, metadata, monkeypatch, opt_program):
    """An empty folder to work in, with the package installed."""
    monkeypatch.syspath_prepend(str(metadata))
    monkeypatch.chdir(tmp_path)
    # What was compiled before would not be scheduled again, nor explained.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    with without_compiler():  # No result is looked at.
        yield tmp_path


def run_python(namespace, source):
    """Runs a block and returns what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "pytorch.md", "exec"), namespace)
    return printed.getvalue()


def measured(rank, folder, *sources):
    """Runs blocks on a rank of a job, which fake groups cannot stand in for."""
    os.chdir(folder)
    namespace = {"__name__": "page"}
    for source in sources:
        run_python(namespace, source)


def traced_graph(namespace):
    """A forward with collectives, for the block that takes one."""
    model = torch.nn.Linear(64, 64)
    cs.shard_parameters(model, namespace["mesh"])
    step = lambda compile: (
        lambda: compile(model)(torch.ones(8, 64, dtype=torch.bfloat16)).sum().backward()
    )
    return measure.record_graphs(step)[0]


def test_python_blocks_run_in_order(installed, opt_program, fake_world, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    fake_world(64)
    namespace, scheduled = {"__name__": "page"}, ""
    for source in texts("python"):
        if "def make_step" in source:
            step = installed / "step.py"
            step.write_text(source)
        if "torchtitan" in source:  # test_torchtitan.py runs it.
            continue
        if "measure_collectives" in source:
            run_ranks(measured, 2, args=(str(installed), step.read_text(), source))
            continue
        if "trace_step" in source:  # It has ranks of its own.
            script = installed / "traced.py"
            script.write_text(source)
            run_ranks(script, 1)
            continue
        if '"profile": "profile.json"' in source:
            measure_costs(installed, opt_program)
        printed = run_python(namespace, source)
        if "cs.explain(step)\n" in source and not scheduled:
            scheduled = printed
    print(scheduled)
    assert without_seconds(scheduled) == without_seconds(texts("text")[0])

    gm = traced_graph(namespace)
    assert namespace["reorder"](gm) is gm
    gm = traced_graph(namespace)
    assert namespace["whole_step"](gm, []) is gm
    namespace["step"](torch.ones(4096, 512, dtype=torch.bfloat16)).sum().backward()
    status = [record.status for record in cs.explain().records]
    assert "failed" not in status and status[-1] == "scheduled"


def measure_costs(folder, opt_program):
    """Runs the command of the page that writes `profile.json`."""
    (block,) = [
        block
        for block in doc_blocks.blocks(FILE)
        if block.language == "sh" and "commsched.torch.measure" in block.text
    ]
    environment = doc_blocks.environment(
        opt_program,
        PYTHONPATH=os.pathsep.join([str(folder / "metadata"), str(ROOT / "python")]),
    )
    environment.pop("LOCAL_WORLD_SIZE", None)
    doc_blocks.run_shell(block, folder, environment)


def test_every_command_is_run_by_a_test():
    """Here, or in test_torch_train.py, or the page says why not."""
    for block in doc_blocks.blocks(FILE):
        if block.language == "sh" and not block.excerpt:
            known = ("commsched.torch.measure", "examples/pytorch/train.py")
            assert any(word in block.text for word in known), block.text
