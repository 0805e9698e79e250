# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/STATUS.md names options and passes that exist, and all that there are."""

import dataclasses
import re
from importlib.util import find_spec

import pytest

from commsched.options import ScheduleOptions
from installed import ROOT

DOCS = ROOT / "docs"


def rows():
    """The rows of the table: lists of cells, the header first."""
    text = (DOCS / "STATUS.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(column):
    """What the cells of a column name, in order."""
    return [name for row in rows()[1:]
            for name in re.findall(r"`([^`]+)`", row[column])]


def reference():
    """The passes, pipelines and options of the reference, and the options of
    commsched-pipeline."""
    pages = {page: (DOCS / "reference" / page).read_text(encoding="utf-8")
             for page in ("passes.md", "pipelines.md")}
    option = re.compile(r"^\| `([\w-]+)` \|", re.M)
    heading = re.compile(r"^##+ `-+([\w-]+)`$", re.M)
    known = {name for text in pages.values()
             for pattern in (option, heading) for name in pattern.findall(text)}
    pipeline = pages["pipelines.md"].split("\n## `--commsched-pipeline`\n")[1]
    return known, set(option.findall(pipeline.split("\n## ")[0]))


def test_commsched_opt_has_what_the_page_names():
    known, of_pipeline = reference()
    found = names(1)
    assert [name for name in found if name not in known] == []
    assert of_pipeline - set(found) == set()


def test_torch_compile_has_what_the_page_names():
    pytest.importorskip("torch")
    import commsched.torch as cs

    options = {field.name for field in dataclasses.fields(cs.Options)}
    found = set(names(2))
    modules = {name for name in found if "." in name and find_spec(name)}
    assert found - options - set(cs.__all__) - modules == set()
    assert options - found == set()


def test_jax_has_what_the_page_names():
    pytest.importorskip("jax")
    import commsched.jax as cs

    options = {field.name for field in dataclasses.fields(cs.Options)}
    members = set(cs.__all__) | set(dir(cs.Scheduled)) | {
        field.name for field in dataclasses.fields(cs.Scheduled)}
    found = set(names(3))
    assert found - options - members == set()
    assert options - found == set()


def test_frontends_lack_what_the_page_says():
    """What commsched-pipeline is told to leave is `no` for both frontends."""
    options = ScheduleOptions()
    flag = options.pipeline_flag()
    for option in ("split", "choose-implementations"):
        (row,) = [row for row in rows() if f"`{option}`" in row[1]]
        assert re.search(f"{option}=(off|false)", flag), flag
        assert row[2:4] == ["no", "no"]
    for option in ("steady-state", "frontier", "budget-on", "link-sharing"):
        (row,) = [row for row in rows() if f"`{option}`" in row[1]]
        assert option not in flag
        assert [cell.split(":")[0] for cell in row[2:4]] == ["no", "no"]


def test_nothing_ran_on_a_gpu():
    header, *features = rows()
    assert header[-1] == "ran on a GPU" and len(features) >= 20
    assert {row[-1] for row in features} == {"no"}
    assert {row[4] for row in features} <= {"yes", ""}
    assert {len(row) for row in features} == {len(header)}
