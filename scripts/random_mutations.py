# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mutations of `mutate.py --random`: one token of a source each."""
import random
import re
from pathlib import Path

from mutations import Mutation

#: By folder of sources, the tests that have to find a fault there, the cheapest
#: first. Of several folders that a source is in, the longest counts.
TESTS = {
    "lib/Schedule": (
        "unit Schedule *", "lit Transforms/Schedule", "lit Transforms"),
    "lib/Schedule/Bucketing": (
        "unit Schedule *", "lit Transforms/Bucketing", "lit Transforms"),
    "lib/Schedule/Cyclic": (
        "unit Schedule *", "lit Transforms/SteadyState", "lit Transforms"),
    "lib/Schedule/Splitting": (
        "unit Schedule *", "lit Transforms/Split", "lit Transforms"),
    "lib/Partition": (
        "unit Partition *", "lit Transforms/Joint", "lit Transforms"),
    "lib/CostModel": (
        "unit CostModel *", "unit Analysis *", "lit Analysis",
        "lit Transforms"),
    "lib/Analysis": ("unit Analysis *", "lit Analysis", "lit Transforms"),
    "lib/Analysis/Split": ("lit Transforms/Split", "lit Transforms"),
    "lib/Transforms": ("lit Transforms",),
    "lib/Transforms/Bucketing": ("lit Transforms/Bucketing", "lit Transforms"),
    "lib/Transforms/Joint": ("lit Transforms/Joint", "lit Transforms"),
    "lib/Transforms/Schedule": ("lit Transforms/Schedule", "lit Transforms"),
    "lib/Transforms/Split": ("lit Transforms/Split", "lit Transforms"),
    "lib/Transforms/SteadyState": (
        "lit Transforms/SteadyState", "lit Transforms"),
    "lib/Transforms/Step": ("lit Transforms/Step", "lit Transforms"),
    "lib/Conversion": ("lit Conversion",),
    "python/commsched/torch/rewriting": (
        "pytest test_apply_faults.py test_apply_buckets.py "
        "test_apply_dependences.py test_apply_in_flight.py "
        "test_apply_order.py test_apply_plans.py test_apply_traced.py",
        "pytest test_apply_random.py test_torch_offload.py "
        "test_torch_quantize.py test_torch_partitioner.py"),
}

#: A pattern, and what its match becomes.
SHARED = (
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "), (r" \+ ", " - "), (r" - ", " + "),
    (r" \+= ", " -= "), (r" -= ", " += "),
    (r"(?<![\w.])\d+(?![\w.])",
     lambda match: str(int(match[0]) + 1).zfill(len(match[0]))),
)
CXX = SHARED + (
    (r" && ", " || "), (r" \|\| ", " && "), (r"!(?=[\w(])", ""),
    (r"\b(?:continue|break);", ";"),
    # A return before the end of what it leaves.
    (r"(?<=\n)( +)return\b[^;{}]*;(?=\n(?!\1) *[^\s}])", r"\1;"),
)
PYTHON = SHARED + (
    (r" and ", " or "), (r" or ", " and "), (r"\bnot ", ""),
    (r"\b(?:continue|break)(?=\n)", "pass"),
    (r"(?<=\n)( +)return\b.*(?=\n(?!\1) *\S)", r"\1pass"),
)
#: Comments, texts and directives, in which nothing is mutated.
CXX_APART = re.compile(
    r"^ *#.*|//.*|/\*[\s\S]*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'",
    re.MULTILINE)
PYTHON_APART = re.compile(
    r"#.*|\"\"\"[\s\S]*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")


def find_places(path):
    """All mutations of a source: begin, end and the text that comes there."""
    is_python = path.suffix == ".py"
    text = (PYTHON_APART if is_python else CXX_APART).sub(
        lambda match: re.sub(r"\S", "\0", match[0]), path.read_text())
    return [(match.start(), match.end(), match.expand(new) if
             isinstance(new, str) else new(match))
            for pattern, new in (PYTHON if is_python else CXX)
            for match in re.finditer(pattern, text)]


def make_mutation(root, name, begin, end, new):
    """The mutation whose text is made of whole lines, and of as many of them
    that it occurs once."""
    text = (root / name).read_text()
    line = text.count("\n", 0, begin) + 1
    first = text.rfind("\n", 0, begin) + 1
    last = text.find("\n", end)
    # On one line, also where a statement of several goes.
    words = " ".join(
        f"{Path(name).name}:{line}: {text[first:last]} -> "
        f"{text[first:begin] + new + text[end:last]}".split())
    while text.count(text[first:last]) > 1:
        first = text.rfind("\n", 0, max(first - 1, 0)) + 1
        last = text.find("\n", min(last + 1, len(text) - 1))
    folder = max((folder for folder in TESTS if name.startswith(folder + "/")),
                 key=len)
    return Mutation(name, text[first:last],
                    text[first:begin] + new + text[end:last], words,
                    TESTS[folder])


def draw(root, count, seed):
    """So many different mutations, of all with the same probability."""
    names = sorted({
        path.relative_to(root).as_posix() for folder in TESTS
        for pattern in ("*.cpp", "*.py")
        for path in (root / folder).rglob(pattern)})
    places = [(name, *place) for name in names
              for place in find_places(root / name)]
    drawn = random.Random(seed).sample(places, count)
    return [make_mutation(root, *place) for place in drawn]
