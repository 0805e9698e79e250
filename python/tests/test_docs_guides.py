# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every block of docs/guide runs or is read as it stands, or says why not.

The blocks of a page run in order in one folder, which has the folders of the
repository, a small `step.mlir` and `joint.mlir`, and what PREPARED adds. A
comment on the line before a fence may say:

    excerpt: REASON   nothing runs the block
    file: NAME        the block is the file NAME for the commands that follow
    printed           the block is a part of what the last command printed

Blocks `text` are output or drawings, and on the pages in SHOWN what was printed
last. What other tests run is in RUN_BY."""

import json
import re
import shutil
from pathlib import Path

import pytest

import doc_blocks
import seeds
from installed import ROOT

GUIDES = ROOT / "docs" / "guide"
PAGES = sorted(page.name for page in GUIDES.glob("*.md"))

#: Variables of the environment that the commands of a page read.
VARIABLES = {"ranks.md": {"RANK": "0"}}

#: What runs the blocks of a page in a language elsewhere.
RUN_BY = {
    ("embedding.md", "sh"): "test/Tools/install.test",
    ("jax.md", "python"): "python/tests/test_docs_jax.py",
    ("jax.md", "sh"): "python/tests/test_docs_jax.py",
    ("pytorch.md", "python"): "python/tests/test_docs_pytorch.py",
    ("pytorch.md", "sh"): "python/tests/test_docs_pytorch.py",
}

SHOWN = ("c-and-python.md", "stablehlo.md")

STEP = ROOT / "test" / "Equivalence" / "Inputs" / "micro-batches.mlir"
JOINT = ROOT / "test" / "Transforms" / "Joint" / "fit-memory-gathers.mlir"
ONE_FUNCTION = ROOT / "test" / "Tools" / "commsched-run-measurements.mlir"

#: What the commands of a page read: they are one rank's of several, or take
#: what the reader has measured.
PREPARED = {
    "profiling.md": """
        commsched-opt examples/overview.mlir -o step.mlir
        commsched-run step.mlir --ranks 4 --timeline=rank0.json -o /dev/null
        cp rank0.json rank1.json
        gzip --keep rank0.json rank1.json""",
    "ranks.md": """
        mkdir times
        for rank in 0 1 2; do
          cp step.mlir rank$rank.mlir
          commsched-opt step.mlir -o /dev/null \
            --commsched-align-runtimes=output=times/$rank.json
        done
        commsched-opt joint.mlir -o /dev/null \
          --commsched-partition-joint=propose=saved.1.json""",
    "running.md": f"""
        mv step.mlir functions.mlir
        cp {ONE_FUNCTION} step.mlir""",
    "scheduling.md": """
        echo '{"rows": []}' > measured.json""",
}


@pytest.fixture(scope="module")
def shell(opt_program):
    """The environment of the commands."""
    return doc_blocks.environment(
        opt_program,
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
    )


@pytest.fixture
def folder(tmp_path, opt_program):
    """What a reader has at the root of the repository."""
    for name in ("benchmarks", "docs", "examples", "include", "python", "scripts",
                 "test", "testsupport"):
        (tmp_path / name).symlink_to(ROOT / name)
    build = Path(opt_program).parents[1]
    (tmp_path / "build").mkdir()
    for name in ("bin", "lib"):
        (tmp_path / "build" / name).symlink_to(build / name)
    _, parts, step, _ = re.split(r"^//--- .*\n", STEP.read_text("utf-8"), flags=re.M)
    text = (parts + step).replace("size(4)", "size(2)").replace("8x4x", "4x4x")
    (tmp_path / "step.mlir").write_text(text)
    shutil.copy(JOINT, tmp_path / "joint.mlir")
    return tmp_path


class Page:
    """Runs the blocks of a page in a folder."""

    def __init__(self, name, folder, shell):
        self.name, self.folder = name, folder
        self.shell = {**shell, **VARIABLES.get(name, {})}
        self.printed = None

    def run(self, block):
        """Runs or reads one block; asserts that it is right."""
        if block.excerpt or (self.name, block.language) in RUN_BY:
            return
        kind, _, file = block.marker.partition(": ")
        if kind == "file" and file:
            (self.folder / file).write_text(block.text)
        elif kind == "printed":
            assert doc_blocks.is_shown(block.text, self.printed or "")
            return
        else:
            assert not block.marker, f"unknown comment '{block.marker}'"
        read = getattr(self, f"run_{block.language}", None)
        assert read, f"nothing runs a block of the language '{block.language}'"
        read(block)

    def run_sh(self, block):
        self.printed = doc_blocks.run_shell(block, self.folder, self.shell)

    run_console = run_sh

    def run_json(self, block):
        """One object, or one on each line."""
        try:
            json.loads(block.text)
        except json.JSONDecodeError:
            for line in block.text.splitlines():
                json.loads(line)

    def run_mlir(self, block):
        """A module that verifies; of a dialect of a table, if the page has
        one, the commands that follow say whether it does."""
        if not block.marker:
            (self.folder / "block.mlir").write_text(block.text)
            check = block._replace(
                language="sh", text="commsched-opt block.mlir -o /dev/null\n"
            )
            doc_blocks.run_shell(check, self.folder, self.shell)

    def run_c(self, block):
        """A program that uses the C interface alone."""
        (self.folder / "program.c").write_text(block.text)
        self.run_sh(block._replace(language="sh", text=(
            "cc -std=c99 -pedantic -Wall -Werror -Iinclude program.c -o program"
            " -Lbuild/lib -Wl,-rpath,$PWD/build/lib -lCommSchedC\n./program\n")))

    def run_python(self, block):
        (self.folder / "program.py").write_text(block.text)
        self.run_sh(block._replace(language="sh", text="python program.py\n"))

    def run_text(self, block):
        """What was printed, or a drawing."""
        assert self.name not in SHOWN or doc_blocks.is_shown(
            block.text, self.printed
        ), self.printed


@pytest.mark.parametrize("name", PAGES)
def test_every_block_runs_or_says_why_not(name, folder, shell):
    page = Page(name, folder, shell)
    if name in PREPARED:
        first = doc_blocks.Block(0, "sh", "", PREPARED[name])
        doc_blocks.run_shell(first, folder, shell)
    failures = []
    for block in doc_blocks.blocks(GUIDES / name):
        try:
            page.run(block)
        except (AssertionError, ValueError) as error:
            failures.append(f"docs/guide/{name}:{block.line}: {error}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("page, language", RUN_BY)
def test_what_runs_elsewhere_is_there(page, language):
    test = (ROOT / RUN_BY[page, language]).read_text(encoding="utf-8")
    assert page in test
    found = doc_blocks.of_language(GUIDES / page, language)
    assert found, f"{page} has no block of the language '{language}'"


# -- docs/demo.md shows what the commands of scripts/demo.sh print.


PAGE = ROOT / "docs" / "demo.md"


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
    printed = doc_blocks.run_shell(command, folder, doc_blocks.environment(opt_program))
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
