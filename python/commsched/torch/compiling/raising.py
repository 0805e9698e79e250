# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is added to an exception that a compiled graph lets through: the rank, the
graph, and the operator and the module that raised, where these are known."""

from __future__ import annotations

import functools
import linecache
import traceback
from collections.abc import Callable
from typing import Any, Optional

from torch import distributed, fx

from commsched.torch.compiling.confirmation import RanksDiffer, RanksSilent
from commsched.torch.importer.modules import ModulePaths

Run = Callable[..., Any]


def told(run: Run, graph: str, where: Callable[[Exception], str]) -> Run:
    """Returns `run` with a note on what it raises (of Python 3.11 or newer); `where`
    says in which part of `graph`."""

    @functools.wraps(run)
    def run_told(*args: Any) -> Any:
        try:
            return run(*args)
        except (RanksDiffer, RanksSilent):
            raise  # They name ranks and graphs.
        except Exception as error:
            if hasattr(error, "add_note"):
                place = f"{graph}{where(error)}"
                error.add_note(f"CommSched: raised{_rank()} in {place}")
            raise

    return run_told


def nowhere(_: Exception) -> str:
    """Where nothing is known of the part of a graph that raised."""
    return ""


class Places:
    """Finds the node of `gm`, which runs as Python, that raised; `forward` is the
    graph whose backward it is."""

    def __init__(self, gm: fx.GraphModule, forward: Optional[fx.GraphModule]):
        self._gm = gm
        self._forward = None if forward is None else forward.graph

    def __call__(self, error: Exception) -> str:
        code = self._gm.forward.__code__
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code is code:
                return self._describe(linecache.getline(code.co_filename, line))
        return ""

    def _describe(self, line: str) -> str:
        """Says what the line of the graph's code computes."""
        name = line.partition("=")[0].partition(":")[0].strip()
        node = next((n for n in self._gm.graph.nodes if n.name == name), None)
        if node is None:
            return ""
        path = ModulePaths(self._gm.graph, self._forward).of(node)
        module = "" if path is None else f" of the module '{path}'"
        return f", node '{name}'{module}"


def _rank() -> str:
    if not distributed.is_available() or not distributed.is_initialized():
        return ""
    return f" on rank {distributed.get_rank()}"
