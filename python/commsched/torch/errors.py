# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error that every part of the importer raises."""

from __future__ import annotations

from typing import Optional


class GraphImportError(ValueError):
    """A graph that cannot be imported; `node_name` says where it stopped."""

    def __init__(
        self, message: str, node=None, function: Optional[str] = None
    ):
        self.node_name: Optional[str] = None if node is None else node.name
        where = ""
        if function:
            where += f"function '{function}': "
        if node is not None:
            where += f"node '{node.name}' ({describe_target(node)}): "
        super().__init__(where + message)


def describe_target(node) -> str:
    """Returns what a node calls, as people write it."""
    target = node.target
    if isinstance(target, str):
        return f"{node.op} {target}" if node.op != "placeholder" else node.op
    return operator_text(target)


def operator_text(target) -> str:
    """Returns the qualified name of an operator or Python function."""
    schema = getattr(target, "_schema", None)
    if schema is not None:
        name = schema.name.replace("::", ".")
        overload = schema.overload_name
        return f"{name}.{overload}" if overload else name
    qualified = getattr(target, "_qualified_op_name", None)
    if qualified:
        return qualified.replace("::", ".")
    namespace = getattr(target, "namespace", None)
    name = getattr(target, "__qualname__", None) or getattr(
        target, "__name__", None
    )
    if callable(name) or name is None:
        name = getattr(target, "name", None)
        name = name() if callable(name) else type(target).__name__
    module = namespace or getattr(target, "__module__", None)
    return f"{module}.{name}" if module and module != "builtins" else str(name)
