# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error that every part of the importer raises."""

from __future__ import annotations

from typing import Optional

import torch

from commsched.torch.importer.targets import operator_name


class GraphImportError(ValueError):
    """A graph that cannot be imported.

    node_name: the node where the import stopped; None if it was none.
    function:  the function it was imported as.
    """

    def __init__(
        self,
        message: str,
        node: Optional[torch.fx.Node] = None,
        function: Optional[str] = None,
    ):
        super().__init__(message)
        self.message = message
        self.node_name = None if node is None else node.name
        self.operator = None if node is None else operator_name(node)
        self.function = function

    def __str__(self) -> str:
        where = f"function '{self.function}': " if self.function else ""
        if self.node_name is not None:
            where += f"node '{self.node_name}' ({self.operator}): "
        return where + self.message
