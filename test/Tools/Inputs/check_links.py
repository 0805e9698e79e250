# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the relative links, anchors and file names of all Markdown pages.

    check_links.py ROOT

A file name is code such as `lib/Schedule/Step` that begins with a folder of the
project; placeholders in capitals, patterns and generated files are skipped.
"""

import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
FOLDERS = ("benchmarks", "cmake", "data", "docs", "examples", "include", "lib",
           "python", "scripts", "test", "tools", "unittests", "testsupport")
FILE_NAME = re.compile(r"(?:%s)/[\w./-]+" % "|".join(FOLDERS))


def find_anchors(text):
    """The anchors of a page, as GitHub makes them from headings."""
    anchors = set()
    counts = {}
    for heading in HEADING.findall(FENCE.sub("", text)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = counts.get(anchor, 0)
        counts[anchor] = count + 1
        anchors.add(f"{anchor}-{count}" if count else anchor)
    return anchors


def check_page(root, page):
    """Yields what is wrong with the page."""
    text = FENCE.sub("", page.read_text())
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"link to '{target}': there is no '{path}'"
        elif anchor and file.suffix == ".md" and \
                anchor not in find_anchors(file.read_text()):
            yield f"link to '{target}': there is no heading '{anchor}'"
    for name in CODE.findall(text):
        if not FILE_NAME.fullmatch(name) or re.search(r"[A-Z]{4,}/|/[A-Z]+$", name):
            continue
        if not (root / name).exists() and not (page.parent / name).exists():
            yield f"names '{name}', which does not exist"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    ignored = {"build", "build-dev", "build-asan", ".venv", ".git"}
    pages = [page for page in sorted(root.rglob("*.md"))
             if not ignored.intersection(page.relative_to(root).parts)
             and not page.relative_to(root).parts[0].startswith("build")]
    failures = 0
    for page in pages:
        for problem in check_page(root, page):
            failures += 1
            print(f"{page.relative_to(root)}: {problem}")
    print(f"{len(pages)} pages, {failures} wrong")
    return failures > 0 or len(pages) < 10


if __name__ == "__main__":
    sys.exit(main())
