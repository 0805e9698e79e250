# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links between the functions of a step that repeats, and what else is said of
arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection, Mapping, Optional

import torch

from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.roles import RNG_ROLES, Roles
from commsched.torch.importer.types import Values, leaves
from commsched.torch.private.names import arg_tree_leaves

#: The attribute of an argument that `add_step` takes off again.
FEED = "commsched.feed"


@dataclass(frozen=True)
class Source:
    """What feeds an argument: an output of a graph.

    function:   the name of the graph.
    output:     the number of the output.
    iterations: 0 for the same repetition of the step, 1 for the one before.
    """

    function: str
    output: int
    iterations: int = 0


@dataclass(frozen=True)
class Feed:
    """A source, by the number of the result that its output is."""

    function: str
    result: int
    iterations: int


class Links:
    """Turns sources into results. `graphs` holds the step's graphs by the
    names of their functions."""

    def __init__(
        self, graphs: Mapping[str, torch.fx.GraphModule], values: Values
    ):
        self._graphs = graphs
        self._values = values
        self._results: dict[str, list[Optional[int]]] = {}

    def feed(self, source: Source, node: torch.fx.Node) -> Feed:
        """Returns what feeds the placeholder `node`."""
        results = self._results_of(source.function, node)
        if not 0 <= source.output < len(results):
            raise GraphImportError(
                f"is said to be fed by output {source.output} of "
                f"'{source.function}', which has {len(results)} outputs",
                node,
            )
        result = results[source.output]
        if result is None:
            raise GraphImportError(
                f"is said to be fed by output {source.output} of "
                f"'{source.function}', which is no tensor",
                node,
            )
        return Feed(source.function, result, source.iterations)

    def _results_of(
        self, function: str, node: torch.fx.Node
    ) -> list[Optional[int]]:
        """Returns the number of the result that each output is; None for
        what is not one tensor."""
        if function not in self._graphs:
            raise GraphImportError(
                f"is said to be fed by '{function}', which is none of the "
                "graphs: " + ", ".join(self._graphs),
                node,
            )
        if function not in self._results:
            results: list[Optional[int]] = []
            count = 0
            graph = self._graphs[function].graph
            for output in arg_tree_leaves(*graph.output_node().args):
                tensors = 0
                if isinstance(output, torch.fx.Node):
                    tensors = len(leaves(self._values.of(output)))
                results.append(count if tensors == 1 else None)
                count += tensors
            self._results[function] = results
        return self._results[function]


class ArgumentMarks:
    """The attributes of one function's arguments."""

    def __init__(
        self,
        roles: Roles,
        sources: Mapping[str, Source],
        freeable: Collection[str],
        links: Links,
    ):
        self._roles = roles
        self._sources = sources
        self._freeable = freeable
        self._links = links

    def is_stored(self, node: torch.fx.Node) -> bool:
        """Returns whether a placeholder is a memref in the module."""
        return self._roles.is_stored(node)

    def of(self, node: torch.fx.Node) -> dict:
        """Returns the attributes of a placeholder's argument."""
        role = self._roles.of(node)
        attributes = {
            # Messages on a seed in the wrong half name it.
            "commsched.name": node.name if role in RNG_ROLES else None,
            "commsched.role": role,
            "commsched.freeable": node.name in self._freeable or None,
        }
        source = self._sources.get(node.name)
        if source is not None:
            attributes[FEED] = self._links.feed(source, node)
        return attributes
