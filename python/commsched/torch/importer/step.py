# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function of a step, which calls the functions of its graphs."""

from __future__ import annotations

from collections.abc import Sequence

from commsched import ir
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.links import FEED, Feed

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
        self, part: str, value: ir.Value, attributes: dict, feed: Feed | None
    ) -> ir.Value:
        if feed is None:
            return self._argument(value, attributes)
        key = feed.function, feed.result
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
        return self._results[feed.function][feed.result]

    def _argument(self, value: ir.Value, attributes: dict) -> ir.Value:
        return self._step.argument(value.ref, value.type, attributes)
