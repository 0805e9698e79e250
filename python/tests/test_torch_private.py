# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the package uses of PyTorch beyond its public interfaces is declared in one
module."""

import ast
from pathlib import Path

import pytest
import torch
import commsched.torch
from commsched.torch.private import names

ROOT = Path(commsched.torch.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
#: Where `nn.Module` keeps its own parameters, which subclasses rely on.
SHARED = {"_parameters"}


def is_private(path):
    """Whether a dotted path leads through a private name."""
    return any(p.startswith("_") and not p.startswith("__") for p in path.split("."))


def private_uses(tree):
    """The private names of torch that a module imports, and the private attributes
    that it reaches and does not have itself."""
    known, found, operators = names_defined(tree) | SHARED, [], ["torch.ops"]
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            paths = [base + alias.name for alias in node.names]
            found += [p for p in paths if p.startswith("torch.") and is_private(p)]
        elif isinstance(node, ast.Assign):
            if ast.unparse(node.value).startswith("torch.ops."):
                operators.append(ast.unparse(node.targets[0]))
        elif isinstance(node, ast.Attribute):
            path = ast.unparse(node)
            is_operator = any(path.startswith(f"{name}.") for name in operators)
            if is_private(node.attr) and not is_operator and node.attr not in known:
                found.append(path)
    return found


def names_defined(tree):
    """The attributes that a module's own classes have."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_private_names_are_declared(path):
    """Modules in private/ import them from `names`, too."""
    found = private_uses(ast.parse(path.read_text(encoding="utf-8")))
    if path.parent.name == "private":
        # They also read private attributes of objects.
        found = [use for use in found if use.startswith("torch.")]
    assert not found


@pytest.mark.parametrize("group", sorted({*names.IMPORTED, *names.USED}))
def test_this_pytorch_has_them(group):
    assert names.missing(group) is None


def test_every_name_is_used():
    sources = {path: path.read_text(encoding="utf-8") for path in SOURCES}
    del sources[ROOT / "private" / "names.py"]
    words = {
        node.id if isinstance(node, ast.Name) else node.attr
        for text in sources.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Name, ast.Attribute))
    }
    words |= {"offload_ops"}  # Only looked for.
    declared = {name for group in names.IMPORTED.values() for name in group}
    assert declared <= words


def test_a_missing_name_says_so_when_it_is_used(monkeypatch):
    monkeypatch.setitem(names.IMPORTED, "test", {"Gone": "torch._ops.NoSuchName"})
    missing = names.__getattr__("Gone")
    assert not isinstance(3, missing)
    assert not names.has("Gone")
    for use in (missing, lambda: missing.attribute, type("A", (missing,), {})):
        with pytest.raises(names.MissingName, match="_ops.NoSuchName"):
            use()
    assert names.missing("graphs", "test") == "PyTorch has no torch._ops.NoSuchName"
