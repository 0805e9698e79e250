# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is expected of sizes that only the device knows.

An unbacked symbol (the rows that `nonzero` finds, the tokens that a rank
routes to an expert) has no size before the step runs, so that it is dynamic in
the module. A schedule needs an expected one, which comes from the first of
these that has one:

1. what the user gives, by the name of the symbol or of the node that gives it;
2. a hint that torch holds for the symbol (`mark_unbacked(hint_override=...)`);
3. even shares: symbols whose sum is known, from an assertion on the sizes or
   because they split the rows that an all-to-all sends. What a rank receives
   is assumed to be as much as it sends;
4. the upper bound of the symbol, if it has one;
5. what the user gives for all others.

Else it is unknown. Nothing of it is read at run time, so ranks that compile
the same graph take the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv, SymT, symbol_is_type

from commsched.torch.importer.targets import bind, collective_of, overload_of

# A larger upper bound only says that the size is a 64-bit number.
_LARGEST_BOUND = 2**40


def shares(total: int, count: int) -> list[int]:
    """Returns `count` numbers that add up to `total` and differ by at most
    one, the larger ones first."""
    share, rest = divmod(max(total, 0), count)
    return [share + (index < rest) for index in range(count)]


@dataclass
class _Side:
    """What an all-to-all sends or receives: its rows, if they are known, and
    the symbols and the sum of the numbers that split them."""

    rows: Optional[int]
    known: int = 0
    symbols: list = field(default_factory=list)


class StandIns:
    """The numbers that stand for unbacked symbols, by symbol name; `default`
    for those of which nothing is known."""

    def __init__(
        self,
        given: Optional[Mapping[str, int]] = None,
        default: Optional[int] = None,
    ):
        self._given = dict(given or {})
        self._default = default
        self._derived: dict[str, int] = {}
        self._environments: list[ShapeEnv] = []
        self._sizes: dict[Any, tuple[Optional[int], bool]] = {}

    def size(self, number: torch.SymInt) -> tuple[Optional[int], bool]:
        """Returns what stands for `number` (None if nothing can) and whether
        that is known: the user or the graph says so."""
        symbolic = number.node
        constant = symbolic.maybe_as_int()
        if constant is not None:
            return constant, True
        expression = symbolic.expr
        if symbolic.has_hint() and not self._gives(expression):
            return int(symbolic.hint), True
        if expression not in self._sizes:
            self._sizes[expression] = self._evaluate(
                expression, symbolic.shape_env
            )
        return self._sizes[expression]

    def learn(self, graph: torch.fx.Graph) -> None:
        """Finds the symbols of nodes whose sizes are given by the nodes'
        names, and derives even shares from the splits of the all-to-alls."""
        for node in graph.nodes:
            value = node.meta.get("val")
            if node.name in self._given and _is_symbol(value):
                name = value.node.expr.name
                self._given.setdefault(name, self._given[node.name])
        for node in graph.nodes:
            call = collective_of(node.target)
            if call is not None and call.kind == "all_to_all":
                self._learn_splits(node, bind(overload_of(node.target), node))

    # -- numbers -------------------------------------------------------------

    def _gives(self, expression) -> bool:
        return bool(self._given) and any(
            symbol.name in self._given for symbol in expression.free_symbols
        )

    def _evaluate(self, expression, environment) -> tuple[Optional[int], bool]:
        self._learn_assertions(environment)
        known = True
        numbers = {}
        # Sets of symbols have no order that ranks share; names do.
        for symbol in sorted(expression.free_symbols, key=lambda s: s.name):
            number, sure = self._symbol(symbol, environment)
            if number is None:
                return None, False
            numbers[symbol] = number
            known = known and sure
        value = expression.subs(numbers)
        if not value.is_number or not value.is_finite:
            return None, False
        return int(value), known

    def _symbol(self, symbol, environment) -> tuple[Optional[int], bool]:
        if symbol.name in self._given:
            return self._given[symbol.name], True
        if not symbol_is_type(symbol, (SymT.UNBACKED_INT, SymT.UNBACKED_FLOAT)):
            return int(environment.guarding_hint_or_throw(symbol)), True
        override = getattr(environment, "var_to_hint_override", {}).get(symbol)
        if override is not None:
            return int(override), False
        if symbol.name in self._derived:
            return self._derived[symbol.name], False
        bound = environment.var_to_range.get(symbol)
        if bound is not None and bound.upper <= _LARGEST_BOUND:
            return int(bound.upper), False
        return self._default, False

    # -- sums that are known --------------------------------------------------

    def _learn_assertions(self, environment: ShapeEnv) -> None:
        """Reads assertions such as `u0 + u1 == 128`, each environment once."""
        if any(environment is seen for seen in self._environments):
            return
        self._environments.append(environment)
        for assertions in environment.deferred_runtime_asserts.values():
            for assertion in assertions:
                self._learn_sum(assertion.expr, environment)

    def _learn_sum(self, relation, environment) -> None:
        if not getattr(relation, "is_Equality", False):
            return
        terms = (relation.lhs - relation.rhs).as_coefficients_dict()
        symbols, rest, signs = [], 0, set()
        for term, factor in sorted(terms.items(), key=lambda t: str(t[0])):
            if term.is_number:
                rest += int(term * factor)
            elif not term.is_Symbol:
                return
            elif symbol_is_type(term, SymT.UNBACKED_INT):
                symbols.append(term.name)
                signs.add(int(factor))
            else:
                hint = environment.guarding_hint_or_throw(term)
                rest += int(factor) * int(hint)
        if symbols and signs in ({1}, {-1}):
            self._share(symbols, -rest * signs.pop())

    def _learn_splits(self, node: torch.fx.Node, bound: Mapping) -> None:
        """The sides of an all-to-all: the rows, and the symbols that they are
        split by."""
        operand = bound["input"] if "input" in bound else node.args[0]
        sent = self._side(operand, bound.get("input_split_sizes"))
        received = self._side(node, bound.get("output_split_sizes"))
        total = next((s.rows for s in (sent, received) if s.rows is not None),
                     self._default)
        for side in (sent, received):
            rows = total if side.rows is None else side.rows
            if rows is not None:
                self._share(side.symbols, rows - side.known)

    def _side(self, node: Any, splits: Any) -> _Side:
        value = getattr(node, "meta", {}).get("val")
        rows = None
        if isinstance(value, torch.Tensor) and value.dim():
            rows = self._known(value.shape[0])
        side = _Side(rows)
        for split in splits if isinstance(splits, (list, tuple)) else ():
            if isinstance(split, torch.fx.Node):
                split = split.meta.get("val")
            number = self._known(split)
            if number is not None:
                side.known += number
            elif _is_symbol(split):
                side.symbols.append(split.node.expr.name)
            else:
                return _Side(rows)
        return side

    def _known(self, number: Any) -> Optional[int]:
        if isinstance(number, torch.SymInt):
            value, known = self.size(number)
            return value if known else None
        return number if isinstance(number, int) else None

    def _share(self, symbols: Sequence[str], total: int) -> None:
        """Gives those of `symbols` that have no number even shares of what the
        others leave of `total`."""
        missing = [name for name in symbols if name not in self._derived]
        for name in symbols:
            total -= self._derived.get(name, 0)
        if missing and total >= 0:
            self._derived.update(zip(missing, shares(total, len(missing))))
            self._sizes.clear()


def _is_symbol(number: Any) -> bool:
    return isinstance(number, torch.SymInt) and number.node.expr.is_Symbol
