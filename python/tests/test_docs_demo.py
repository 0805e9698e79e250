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
    assert len(pairs) == 5 and all(b.language == "text" for _, b in pairs)
    return pairs


@pytest.mark.parametrize("part", seeds.turns(range(5), 2))
def test_the_page_shows_what_the_commands_print(part, folder, opt_program):
    command, block = commands_that_run()[part]
    printed = doc_blocks.run_shell(
        command, folder, doc_blocks.environment(opt_program)
    )
    shown, output = map(without_measured_times, (block.text, printed))
    assert doc_blocks.is_shown(shown, output), (
        f"docs/demo.md:{block.line}: the command prints\n{printed}"
    )


def test_a_point_of_the_curve_is_in_the_curve():
    """The one limit that the page runs gives a row of the curve above it."""
    blocks = doc_blocks.of_language(PAGE, "text")
    point, curve = blocks[-1].splitlines()[-2].split(), blocks[-2].splitlines()
    peak, step = point[3:5], point[5:7]
    rows = [line.split() for line in curve]
    assert any(peak == row[2:4] and step == row[4:6] for row in rows), point


def test_the_demo_runs_these_commands():
    """Each script of the page, with the step that the page names."""
    demo = (ROOT / "scripts" / "demo.sh").read_text(encoding="utf-8")
    pairs = re.compile(r"scripts/(\w+_step)\.py(?:[^\n]|\\\n)*?(examples/[\w.-]+)")
    page = pairs.findall("\n".join(doc_blocks.of_language(PAGE, "sh")))
    assert len(page) == 6 and list(dict.fromkeys(page)) == pairs.findall(demo)
