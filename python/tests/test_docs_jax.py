# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every snippet of docs/guide/jax.md runs and prints what the page says."""

import contextlib
import io
import re

import doc_blocks
import jax_models  # noqa: F401  Makes eight devices of the processor.

from commsched import opt
from installed import ROOT

FILE = ROOT / "docs" / "guide" / "jax.md"
PAGE = FILE.read_text(encoding="utf-8")


def texts(language):
    return doc_blocks.of_language(FILE, language)


def lines_of(text):
    """What a report says, without numbers: these are estimates."""
    table = text.split("  merged")[0]
    return [line.split() for line in re.sub(r"[\d.]+ \w+", "", table).splitlines()]


def test_python_blocks_run_in_order(opt_program):
    namespace, printed = {"__name__": "page"}, []
    for source in texts("python"):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(source, "jax.md", "exec"), namespace)
        printed.append(output.getvalue())
    assert lines_of(printed[0])[:8] == lines_of(texts("text")[0])[:8]
    assert "manual_computation_0" in printed[1]


def test_commands_run(opt_program, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = doc_blocks.environment(opt_program)
    printed = "".join(
        doc_blocks.run_shell(block, tmp_path, environment, timeout=280)
        for block in doc_blocks.blocks(FILE)
        if block.language == "sh" and not block.excerpt
    )
    # Of the example that trains: order, and order and buckets, and the last.
    assert printed.count("equal to jax") == 3
    assert "async_start" in (tmp_path / "scheduled.mlir").read_text()


def test_the_examples_are_what_the_command_writes(opt_program, tmp_path):
    """The bytecode is the traced step, letter for letter."""
    from jax_step import StepOptions, trace_text

    folder = ROOT / "examples" / "jax"
    data = (folder / "llama3-8b-fsdp64.mlirbc").read_bytes()
    assert len(data) < 500_000
    text = opt.run_bytes(data, "--mlir-print-op-generic").decode()
    assert text.strip() == trace_text(StepOptions()).strip()
    small = StepOptions(
        model="llama3-tiny", devices=2, layers=1, sequence=32,
        optimizer="sgd",
    )
    data = (folder / "llama3-tiny-fsdp2.mlirbc").read_bytes()
    text = opt.run_bytes(data, "--mlir-print-op-generic").decode()
    assert text.strip() == trace_text(small).strip()
