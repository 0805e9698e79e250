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
    """Whether a dotted path leads through a private name of torch."""
    parts = path.split(".")
    return (
        parts[0] == "torch"
        and not path.startswith("torch.ops.")
        and any(p.startswith("_") and not p.startswith("__") for p in parts)
    )


class Uses(ast.NodeVisitor):
    """The private names of torch that a module imports or reaches."""

    def __init__(self, tree):
        self.found = []
        self._modules = {"torch": "torch"}
        self._known = names_defined(tree) | SHARED
        self.visit(tree)

    def visit_Import(self, node):
        for alias in node.names:
            self._check(alias.name)
            if alias.asname and alias.name.startswith("torch"):
                self._modules[alias.asname] = alias.name

    def visit_ImportFrom(self, node):
        for alias in node.names:
            path = f"{node.module}.{alias.name}"
            self._check(path)
            if path.startswith("torch."):
                self._modules[alias.asname or alias.name] = path

    def visit_Assign(self, node):
        path = self._path(node.value)
        if path is not None and isinstance(node.targets[0], ast.Name):
            self._modules[node.targets[0].id] = path
        self.generic_visit(node)

    def visit_Attribute(self, node):
        path = self._path(node)
        if path is not None:
            self._check(path)
            return
        if is_private(f"torch.{node.attr}") and node.attr not in self._known:
            self.found.append(ast.unparse(node))
        self.generic_visit(node)

    def _check(self, path):
        if is_private(path):
            self.found.append(path)

    def _path(self, node):
        """The dotted path of an attribute of an imported name of torch."""
        if isinstance(node, ast.Name):
            return self._modules.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self._path(node.value)
            return None if base is None else f"{base}.{node.attr}"
        return None


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
    found = Uses(ast.parse(path.read_text(encoding="utf-8"))).found
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
