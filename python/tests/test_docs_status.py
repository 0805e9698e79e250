# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/STATUS.md names options and passes that exist, and all that there are, and
docs/reference/inductor.md has a row for each function of PyTorch's passes."""

import ast
import dataclasses
import importlib
import pathlib
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
    """The options of each pass and pipeline of the reference."""
    found = {}
    for page in ("passes.md", "pipelines.md"):
        text = (DOCS / "reference" / page).read_text(encoding="utf-8")
        parts = re.split(r"^##+ `-+([\w-]+)`$", text, flags=re.M)
        for name, body in zip(parts[1::2], parts[2::2]):
            found[name] = set(re.findall(r"^\| `([\w-]+)` \|", body, re.M))
    return found


def test_commsched_opt_has_what_the_page_names():
    options, found = reference(), names(1)
    known = set(options).union(*options.values())
    assert [name for name in found if name not in known] == []
    assert options["commsched-pipeline"] - set(found) == set()


@pytest.mark.parametrize("frontend, column", [("torch", 2), ("jax", 3)])
def test_frontends_have_what_the_pages_name(frontend, column):
    pytest.importorskip(frontend)
    package = importlib.import_module(f"commsched.{frontend}")
    defaults = {f.name: f.default for f in dataclasses.fields(package.Options)}
    found = set(names(column))
    known = {*defaults, *package.__all__}
    known |= {name for name in found if "." in name and find_spec(name)}
    if frontend == "jax":
        scheduled = package.Scheduled
        known |= {*dir(scheduled), *(f.name for f in dataclasses.fields(scheduled))}
    assert found - known == set()
    assert set(defaults) - found == set()
    # The table of the guide has every option with its default.
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \| .+ \|$",
                      guide(frontend, "Options"), re.M)
    assert rows == [(name, repr(v).replace("'", '"')) for name, v in defaults.items()]


def guide(frontend, section):
    """A section of the guide to a frontend."""
    name = {"torch": "pytorch"}.get(frontend, frontend)
    page = (DOCS / "guide" / f"{name}.md").read_text(encoding="utf-8")
    return page.split(f"\n## {section}\n")[1].split("\n## ")[0]


def texts_of(folder):
    """The nodes of the syntax of a package."""
    for path in sorted((ROOT / "python" / "commsched" / folder).rglob("*.py")):
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def test_the_guide_to_pytorch_says_what_to_do_about_each_warning():
    """The first words of each message that `warn_once` is given."""
    section, found = guide("torch", "Troubleshooting"), []
    for call in texts_of("torch"):
        name = getattr(call, "func", None)
        name = getattr(name, "attr", getattr(name, "id", None))
        if name == "warn_once" and isinstance(call, ast.Call):
            message = call.args[0]
            words = getattr(getattr(message, "values", [message])[0], "value", None)
            if isinstance(words, str):  # Not a message made elsewhere.
                found.append(words.strip().rstrip(":"))
    assert len(found) >= 5
    assert [words for words in found if words not in section] == []


def test_messages_in_the_guide_to_jax_exist():
    rows = re.findall(r"^\| `(.*?)` \| .+ \|$", guide("jax", "Troubleshooting"), re.M)
    texts = [node.value for node in texts_of("") if isinstance(node, ast.Constant)
             and isinstance(node.value, str)]
    for row in rows:
        words = row.split("...")[-1].strip()
        known = any(words in text for text in texts)
        assert known or "vhlo" in row or "commsched-opt" in row, row
    assert len(rows) >= 5


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


def test_what_ran_on_a_gpu():
    header, *features = rows()
    assert header[-1] == "ran on a GPU" and len(features) >= 20
    ran = {row[0]: row[-1] for row in features if row[-1] != "no"}
    assert sorted(ran) == [
        "measured costs", "merging", "order within a memory limit",
        "running what is scheduled", "what compiles the scheduled graph",
    ]
    assert all("H100" in what for what in ran.values())
    assert {row[4] for row in features} <= {"yes", ""}
    assert {len(row) for row in features} == {len(header)}


# -- docs/reference/inductor.md has a row for each function and setting of the
# five files of PyTorch that it is about, and what a row names exists.


VERSION = "2.13."

COMMS = "torch/_inductor/comms.py"
FSDP = "torch/_inductor/fx_passes/fsdp.py"
PARTITIONERS = "torch/_functorch/partitioners.py"
ESTIMATION = "torch/_inductor/fx_passes/node_runtime_estimation.py"
REGIONAL = "torch/fx/passes/regional_inductor.py"
FILES = (COMMS, FSDP, PARTITIONERS, ESTIMATION, REGIONAL)

INDUCTOR = "torch._inductor.config"
INDUCTOR_COMMS = "torch._inductor.config_comms"
DISTRIBUTED = "torch._inductor.config.aten_distributed_optimizations"
FUNCTORCH = "torch._functorch.config"
QUANTIZATION = 'post_grad_fusion_options["activation_quantization_aten_pass"]'

#: How many rows are of what 2.13.0 has no longer and versions of 2025 had, and of
#: settings that decide whether the functions run, read by their callers.
EARLIER, OF_CALLERS = 23, 13


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the page: `section` is the file or the module of settings."""

    section: str
    name: str
    ours: str
    verdict: str
    tests: str

    def __str__(self):
        return f"{self.section}: {self.name}"


def page_rows():
    page = ROOT / "docs" / "reference" / "inductor.md"
    text = page.read_text(encoding="utf-8")
    section, found = None, []
    for line in text.splitlines():
        if heading := re.fullmatch(r"## (?:Knobs: )?`(.*)`", line):
            section = heading[1]
        elif name := re.match(r"\| `([^`]+)` \| ", line):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            found.append(Row(section, name[1], *cells[-3:]))
    return found


def named(text):
    return re.findall(r"`([^`]+)`", text)


def qualified_names(tree, prefix=""):
    """All functions, classes and methods below `tree`, those with two
    underscores on both sides left out."""
    for node in ast.iter_child_nodes(tree):
        inner = prefix
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if not re.fullmatch(r"__\w+__", node.name):
                yield prefix + node.name
            inner = f"{prefix}{node.name}."
        yield from qualified_names(node, inner)


def settings_read(tree, own):
    """The settings that a file reads, as pairs of a module and a name; `own`
    is the module that the file calls `config`."""
    modules = {
        "config": own,
        "config_comms": INDUCTOR_COMMS,
        "ind_config": INDUCTOR,
        "inductor_config": INDUCTOR,
        "dist_opts": DISTRIBUTED,
        INDUCTOR: INDUCTOR,
        FUNCTORCH: FUNCTORCH,
        "ind_config.test_configs": INDUCTOR,
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr != "patch":
            base = ast.unparse(node.value)
            if base in modules and node.attr != "test_configs":
                nested = base.partition("test_configs")[1]
                name = f"{nested}.{node.attr}" if nested else node.attr
                yield modules[base], name
        elif isinstance(node, ast.Call):
            called, _, method = ast.unparse(node.func).rpartition(".")
            if called.endswith("['activation_quantization_aten_pass']"):
                assert method == "get"
                yield QUANTIZATION, node.args[0].value
            elif called in modules and method == "patch":
                for keyword in node.keywords:
                    yield modules[called], keyword.arg


@pytest.fixture(scope="module")
def sources():
    """The syntax of the files of the installed PyTorch, by their names."""
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith(VERSION):
        pytest.skip(f"the page is about PyTorch {VERSION}x")
    folder = pathlib.Path(torch.__file__).parent.parent
    return {name: ast.parse((folder / name).read_text()) for name in FILES}


def check_names(expected, found, others):
    """Checks that `found` has each of the pairs in `expected` once, and so many
    others; returns those."""
    assert len(found) == len(set(found))
    assert sorted(set(expected) - set(found)) == [], "without a row"
    rest = sorted(set(found) - set(expected))
    assert len(rest) == others, f"not in PyTorch: {rest}"
    return rest


def test_every_function_has_one_row(sources):
    expected = [
        (file, name)
        for file, tree in sources.items()
        for name in qualified_names(tree)
    ]
    found = [(row.section, row.name) for row in page_rows() if row.section in FILES]
    check_names(expected, found, EARLIER)


def test_every_setting_has_one_row(sources):
    from torch._inductor import config_comms

    expected = {
        (INDUCTOR_COMMS, key)
        for key in config_comms.get_config_copy()
        if key != "env_str"  # What two of them are read from.
    }
    for file, tree in sources.items():
        own = FUNCTORCH if file == PARTITIONERS else INDUCTOR
        expected |= set(settings_read(tree, own))
    found = [(row.section, row.name) for row in page_rows() if row.section not in FILES]
    others = check_names(expected, found, OF_CALLERS)
    assert {module for module, _ in others} == {INDUCTOR}


def test_every_row_says_how_and_is_tested():
    """A "same" row does not tell ours from PyTorch's, and one without a
    counterpart says why."""
    for row in page_rows():
        word, _, reason = row.verdict.partition(":")
        assert word in ("same", "differs", "not part"), row
        assert word == "same" or reason.strip(), row
        assert bool(row.tests) == (word != "not part"), row
        if word == "same":
            rest = re.sub(r"PyTorch's (own function|lists|tags)\b", "", row.verdict)
            assert not re.search(r"PyTorch|earlier version|\b2\.\d", rest), row
        elif word == "not part":
            assert row.ours == "none" or row.ours.startswith("`"), row
        if word != "not part":
            assert named(row.ours) or row.section not in FILES, row


@pytest.fixture(scope="module")
def unit_tests():
    pattern = re.compile(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", re.M)
    return {
        ".".join(test)
        for file in (ROOT / "unittests").rglob("*.cpp")
        for test in pattern.findall(file.read_text(encoding="utf-8"))
    }


def is_test(name, unit_tests):
    file, _, function = name.partition(":")
    if name.endswith((".mlir", ".test")):
        return (ROOT / "test" / name).is_file()
    if file.endswith(".py"):
        path = ROOT / "python" / "tests" / file
        return path.is_file() and f"\ndef {function}(" in path.read_text()
    return name in unit_tests


def test_every_test_exists(unit_tests):
    missing = [
        (str(row), name)
        for row in page_rows()
        for name in named(row.tests)
        if not is_test(name, unit_tests)
    ]
    assert missing == []
    for row in page_rows():
        # Nothing but names, so that none is overlooked.
        assert re.sub(r"`[^`]+`|[; ]", "", row.tests) == "", row


def test_passes_and_their_options_exist():
    known, unknown = reference(), []
    for row in page_rows():
        for name in named(row.ours + row.verdict):
            call = re.fullmatch(r"(commsched-[\w-]+)(?:\{([\w-]+).*\})?", name)
            if call and (
                call[1] not in known
                or (call[2] and call[2] not in known[call[1]])
            ):
                unknown.append((str(row), name))
    assert unknown == []


def test_files_and_what_is_named_in_them_exist():
    unknown = []
    for row in page_rows():
        files = [ROOT / name for name in named(row.ours) if "/" in name]
        unknown += [(str(row), str(f)) for f in files if not f.is_file()]
        text = "".join(f.read_text("utf-8") for f in files if f.is_file())
        for name in named(row.ours):
            word = name.split("::")[-1].split(".")[-1]
            is_word = re.fullmatch(r"[A-Za-z_]\w+", word) and "/" not in name
            if files and is_word and not re.search(rf"\b{word}\b", text):
                unknown.append((str(row), name))
    assert unknown == []


def test_options_of_torch_compile_exist():
    pytest.importorskip("torch")
    import commsched.torch as cs

    options = {field.name for field in dataclasses.fields(cs.Options)}
    for row in page_rows():
        for name in re.findall(r"`Options\.(\w+)`", row.ours):
            assert name in options, (str(row), name)


def test_rows_that_rows_refer_to_exist():
    verdicts = {}
    for row in page_rows():
        for name in (row.name, row.name.rpartition(".")[2]):
            verdicts.setdefault(name, set()).add(row.verdict.partition(":")[0])
    for row in page_rows():
        for name in re.findall(r"\b(?:as|see) `([^`]+)`", row.verdict):
            assert name in verdicts, (str(row), name)
        # What is as another row says has that row's word.
        word, _, reason = row.verdict.partition(": ")
        if same_as := re.match(r"as `([^`]+)`", reason):
            assert word in verdicts[same_as[1]], (str(row), same_as[1])
