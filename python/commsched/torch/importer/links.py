# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links between the functions of a step that repeats, and what else is said of
arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Collection, Mapping, Optional

import torch

from commsched import ir
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


class Links:
    """Turns sources into results. `graphs` holds the step's graphs by the
    names of their functions."""

    def __init__(
        self, graphs: Mapping[str, torch.fx.GraphModule], values: Values
    ):
        self._graphs = graphs
        self._values = values
        self._results: dict[str, list[Optional[int]]] = {}

    def feed(self, source: Source, node: torch.fx.Node) -> Source:
        """Returns what feeds the placeholder `node`: `source`, with the number
        of the result that its output is."""
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
        return replace(source, output=result)

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
        return self._roles.is_stored(node)

    def of(self, node: torch.fx.Node) -> dict:
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


#: Its name.
STEP = "step"

FREEABLE = "commsched.freeable"


def add_step(module: ir.Module, parts: Sequence[ir.Function]) -> None:
    """Appends a function that calls `parts` in order, which become private, if
    any of their arguments is fed by one of them.

    What feeds an argument in the same repetition is a result of a call before.
    What feeds it in the next one is a result of the step, which the argument of
    the step names (`commsched.carried`). All other arguments are the step's, and
    so are the results that no part takes.
    """
    feeds = [
        [attributes.pop(FEED, None) for _, attributes in part.arguments]
        for part in parts
    ]
    if not any(feed for own in feeds for feed in own):
        return
    if any(part.name == STEP for part in parts):
        raise GraphImportError(
            f"a graph has the name '{STEP}', which is that of the function that "
            "calls all of them"
        )
    for part in parts:
        part.private = True
    _StepBuilder(module.add_function(STEP)).build(parts, feeds)


class _StepBuilder:
    def __init__(self, step: ir.Function):
        self._step = step
        self._results: dict[str, list[ir.Value]] = {}
        #: Results that an argument takes in the next repetition, in the order
        #: of the arguments, which several parts may take.
        self._carried: dict[tuple[str, int], ir.Value] = {}
        self._taken: set[tuple[str, int]] = set()

    def build(self, parts, feeds) -> None:
        for part, own in zip(parts, feeds):
            operands = [
                self._operand(part.name, value, attributes, feed)
                for (value, attributes), feed in zip(part.arguments, own)
            ]
            self._results[part.name] = self._step.call(
                part.name, operands, [value.type for value in part.results]
            )
        left = [
            value
            for function, values in self._results.items()
            for number, value in enumerate(values)
            if (function, number) not in self._taken
            and (function, number) not in self._carried
        ]
        carried = [
            self._results[function][number] for function, number in self._carried
        ]
        self._step.return_(carried + left)

    def _operand(
        self, part: str, value: ir.Value, attributes: dict, feed: Source | None
    ) -> ir.Value:
        if feed is None:
            return self._argument(value, attributes)
        key = feed.function, feed.output
        if feed.iterations:
            if key not in self._carried:
                number = {"commsched.carried": len(self._carried)}
                # The step may free it in any case.
                own = {k: v for k, v in attributes.items() if k != FREEABLE}
                self._carried[key] = self._argument(value, {**own, **number})
            return self._carried[key]
        if feed.function not in self._results:
            raise GraphImportError(
                f"argument '{value.ref}' of '{part}' is fed by "
                f"'{feed.function}', which does not run before it"
            )
        self._taken.add(key)
        return self._results[feed.function][feed.output]

    def _argument(self, value: ir.Value, attributes: dict) -> ir.Value:
        return self._step.argument(value.ref, value.type, attributes)
