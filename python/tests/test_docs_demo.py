# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/demo.md shows what the commands of scripts/demo.sh print."""

import os
import re

import pytest

import doc_blocks
import seeds
from installed import ROOT

PAGE = ROOT / "docs" / "demo.md"


@pytest.fixture
def folder(tmp_path, opt_program):
    """What the commands need of the repository, and a build folder."""
    for name in ("examples", "python", "scripts"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "bin").symlink_to(os.path.dirname(opt_program))
    return tmp_path


def without_measured_times(text):
    """Text in which a row of step times, predicted and measured, has only the
    predicted ones."""
    row = r"^( *step time +\S+ ms) +\S+ ms( +\S+ ms) +\S+ ms *$"
    return re.sub(row, r"\1\2", text, flags=re.M)


def commands_that_run():
    """The commands of the page, each with the block of what it prints."""
    found = doc_blocks.blocks(PAGE)
    pairs = [(a, b) for a, b in zip(found, found[1:])
             if a.language == "sh" and not a.excerpt]
    assert len(pairs) == 4 and all(b.language == "text" for _, b in pairs)
    return pairs


@pytest.mark.parametrize("part", seeds.turns(range(4), 2))
def test_the_page_shows_what_the_commands_print(part, folder, opt_program):
    command, block = commands_that_run()[part]
    printed = doc_blocks.run_shell(
        command, folder, doc_blocks.environment(opt_program)
    )
    shown, output = map(without_measured_times, (block.text, printed))
    assert doc_blocks.is_shown(shown, output), (
        f"docs/demo.md:{block.line}: the command prints\n{printed}"
    )


def test_the_demo_runs_these_commands():
    """Each command of the page, with the step that the page names."""
    demo = (ROOT / "scripts" / "demo.sh").read_text(encoding="utf-8")
    page = "\n".join(doc_blocks.of_language(PAGE, "sh"))
    command = r"\bdemo ([a-z]+) (examples/[\w.-]+)"
    assert re.findall(command, page) == re.findall(command, demo)
    assert len(re.findall(command, page)) == 5
