# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fenced blocks of a Markdown page, and running those that are commands.

A comment on the line before a fence says something of the block to the tests:
`<!-- excerpt: REASON -->` that nothing runs it, for that reason, and
`<!-- output of: COMMAND -->` that it is a part of what the command prints.

    doc_blocks.py PAGE FOLDER [PREFIX]

runs these commands of a page in a folder, and with PREFIX, where CommSched is
installed, the blocks `sh`, each of which prints the block `text` that follows.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from installed import ROOT

_FENCE = re.compile(r"^(?:<!-- (?P<marker>[^\n]*?) -->\n)?"
                    r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
EXCERPT = "excerpt: "


class Block(NamedTuple):
    """A fenced block: the line of its fence, its language, what the comment
    before it says, or nothing, and what is between the fences."""

    line: int
    language: str
    marker: str
    text: str

    @property
    def excerpt(self) -> bool:
        """Whether the page says that nothing runs this block, and why."""
        return len(self.marker) > len(EXCERPT) and self.marker.startswith(EXCERPT)


def blocks(page: Path) -> list[Block]:
    """Returns the fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    found = [
        Block(text.count("\n", 0, match.start("language")) + 1,
              match["language"], match["marker"] or "", match["text"])
        for match in _FENCE.finditer(text)
    ]
    fences = len(re.findall(r"^\s*(?:```|~~~)", text, re.M))
    assert fences == 2 * len(found), f"{page}: a fence that is indented or not closed"
    return found


def of_language(page: Path, *languages: str) -> list[str]:
    """Returns the texts of a page's blocks in these languages, in order."""
    return [block.text for block in blocks(page) if block.language in languages]


def commands(block: Block) -> str:
    """Returns the script of a block: all of it, or, in a `console`, what
    follows each prompt `$`, with the lines that a backslash continues."""
    if block.language != "console":
        return block.text
    lines, continued = [], False
    for line in block.text.splitlines():
        if continued or line.startswith("$ "):
            lines.append(line if continued else line[2:])
            continued = line.endswith("\\")
    return "\n".join(lines) + "\n"


def environment(opt_program, **changes: str) -> dict[str, str]:
    """Returns an environment with the built programs, this Python and the
    package on its paths."""
    programs = [Path(opt_program).parent, Path(sys.executable).parent]
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT / "python"),
        **changes,
    }


def run_shell(block: Block, cwd: Path, env: dict[str, str], timeout=120) -> str:
    """Runs a block `sh` or `console` in a folder, and returns what it printed
    to standard output and error. The block has to succeed."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands(block)], cwd=cwd, env=env,
        timeout=timeout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )
    assert done.returncode == 0, (
        f"the block of line {block.line} ended with {done.returncode}:\n"
        f"{block.text}{done.stdout}"
    )
    return done.stdout


def is_shown(shown: str, output: str) -> bool:
    """Whether the parts of `shown`, which lines `...` separate, are in the
    output in this order. White space is ignored: a page breaks long lines."""
    output = "".join(output.split())
    for part in re.split(r"^ *\.\.\.$", shown, flags=re.M):
        part = "".join(part.split())
        place = output.find(part)
        if place < 0:
            return False
        output = output[place + len(part):]
    return True


def main() -> None:
    page, folder, *prefix = sys.argv[1:]
    shell = dict(os.environ)
    if prefix:
        programs = os.path.join(*prefix, "bin")
        shell |= {"PREFIX": prefix[0], "PATH": f"{programs}:{shell['PATH']}"}
    output, shown = None, 0
    for block in blocks(Path(page)):
        kind, _, command = block.marker.partition(": ")
        printed = None
        if kind == "output of":
            script = block._replace(language="sh", text=command)
            printed = run_shell(script, Path(folder), shell)
        elif block.language == "text":
            printed = output
        elif block.language == "sh" and prefix:
            output = run_shell(block, Path(folder), shell, timeout=None)
        else:
            output = None
        if printed is not None:
            shown += 1
            assert is_shown(block.text, printed), (
                f"{page}:{block.line}: this is printed:\n{printed}"
            )
    assert shown, f"{page} shows no output"


if __name__ == "__main__":
    main()
