# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes one collective of the members of a bucket.

Coalesced members are the operands of one functional collective, and each has
a wait of its own. Packed members lie in one buffer: gathered ones one after
the other, those that are reduced and scattered such that what each rank gets
lies together. All of it are functional operators, which eager execution runs
and Inductor compiles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch import fx

from commsched.torch.importer.targets import (
    bind,
    is_wait,
    overload_of,
    schema_of,
)
from commsched.torch.rewriting.errors import RewriteError
from commsched.torch.rewriting.nodes import NodeMaker, Size, value_of
from commsched.torch.rewriting.plan import Bucket
from commsched.torch.rewriting.values import identify, is_cast

aten = torch.ops.aten
c10d = torch.ops._c10d_functional

# By kind, the operator of one tensor.
_OPERATORS = {
    "all_gather": c10d.all_gather_into_tensor.default,
    "reduce_scatter": c10d.reduce_scatter_tensor.default,
    "all_reduce": c10d.all_reduce.default,
}


@dataclass
class Merged:
    """The nodes of a bucket.

    stages:  by name of a stage, its nodes.
    readers: by start, or cast that is not needed any more, what reads its
             operand now.
    results: by node of the graph, what stands for it: by start, by the waits
             for it.
    """

    stages: dict[str, list] = field(default_factory=dict)
    readers: dict[fx.Node, fx.Node] = field(default_factory=dict)
    results: dict[fx.Node, fx.Node] = field(default_factory=dict)


def merge(
    maker: NodeMaker, bucket: Bucket, find: Callable[[str], Any]
) -> Merged:
    """Adds the nodes of `bucket`; nothing uses what it delivers yet. `find`
    returns the node of a name, or None. Raises RewriteError where the members
    are not what the plan says."""
    return _Merger(maker, bucket, find).run()


class _Merger:
    def __init__(self, maker: NodeMaker, bucket: Bucket, find: Callable):
        self._maker = maker
        self._bucket = bucket
        self._result = Merged()
        if bucket.kind not in _OPERATORS:
            raise RewriteError(f"unknown kind '{bucket.kind}' of a bucket")
        self._single = _OPERATORS[bucket.kind]
        self._starts = [self._start(name, find(name)) for name in bucket.starts]
        self._sources = [start.args[0] for start in self._starts]
        # What all members have in common: all but what they send.
        self._common = self._check_common(schema_of(self._single).names[1:])
        self._width = self._common.get("group_size", 1)
        self._base = f"{self._starts[0].name}_bucket"

    def run(self) -> Merged:
        if self._bucket.mode == "coalesced":
            outs = self._coalesce()
        elif self._bucket.kind == "all_gather":
            outs = self._pack_gathers()
        elif self._bucket.kind == "reduce_scatter":
            outs = self._pack_scatters()
        else:
            outs = self._pack_reduces()
        for start, out in zip(self._starts, outs):
            self._check_value(start, out)
            self._result.results[start] = out
            for wait in _waits(start):
                self._result.results[wait] = out
        return self._result

    # -- members -------------------------------------------------------------

    def _start(self, name: str, node: Any) -> fx.Node:
        if node is None:
            raise RewriteError(
                f"the plan merges '{name}', which the graph does not have"
            )
        if overload_of(node.target) != self._single or not node.args:
            raise RewriteError(
                f"the plan merges '{name}' as {self._bucket.kind}, but it "
                f"calls {node.target}"
            )
        return node

    def _check_common(self, keys: tuple) -> dict:
        found = []
        for start in self._starts:
            bound = bind(overload_of(start.target), start)
            found.append({key: bound[key] for key in keys})
        for start, arguments in zip(self._starts, found):
            for key in keys:
                if identify(arguments[key]) != identify(found[0][key]):
                    raise RewriteError(
                        f"'{start.name}' cannot be merged with "
                        f"'{self._starts[0].name}': {key} is "
                        f"{arguments[key]} and {found[0][key]}"
                    )
        return found[0]

    def _check_value(self, start: fx.Node, out: fx.Node) -> None:
        was, now = value_of(start), value_of(out)
        if was.shape != now.shape or was.dtype != now.dtype:
            raise RewriteError(
                f"'{start.name}' delivers {was.dtype} {list(was.shape)}, but "
                f"its bucket {now.dtype} {list(now.shape)}"
            )

    # -- coalesced -----------------------------------------------------------

    def _coalesce(self) -> list[fx.Node]:
        maker, first = self._maker, self._starts[0]
        name = schema_of(self._single).name.partition("::")[2]
        launch = maker.call(
            getattr(c10d, f"{name}_coalesced").default,
            (list(self._sources), *self._common.values()),
            self._base,
            first,
            value=[start.meta.get("val") for start in self._starts],
        )
        items, waits = [], []
        for index, start in enumerate(self._starts):
            items.append(
                maker.item(launch, index, f"{start.name}_item", start)
            )
        for start, item in zip(self._starts, items):
            near = next(iter(_waits(start)), start)
            waits.append(self._wait(item, f"{near.name}_of_bucket", near))
            self._result.readers[start] = launch
        self._result.stages = {"start": [launch, *items], "wait": waits}
        return waits

    def _wait(self, source: fx.Node, name: str, like: fx.Node) -> fx.Node:
        # What is waited for is what was delivered.
        return self._maker.call(
            c10d.wait_tensor.default,
            (source,),
            name,
            like,
            value=source.meta["val"],
        )

    # -- packed --------------------------------------------------------------

    def _pack_gathers(self) -> list[fx.Node]:
        maker, width = self._maker, self._width
        dtypes = [value_of(source).dtype for source in self._sources]
        as_bytes = len(set(dtypes)) > 1
        if as_bytes != self._bucket.bytes:
            raise RewriteError(
                f"bucket '{self._base}' travels "
                f"{'as bytes' if self._bucket.bytes else 'as elements'}, but "
                f"its members are {', '.join(map(str, dict.fromkeys(dtypes)))}"
            )
        parts = [self._flat(start) for start in self._starts]
        if as_bytes:
            parts = [
                self._as(part, torch.uint8, start)
                for part, start in zip(parts, self._starts)
            ]
        sizes = [maker.size(part, 0) for part in parts]
        whole = self._launch(self._cat(parts, 0))
        rows = maker.view(
            whole, (width, -1), f"{self._base}_rows", self._starts[0]
        )
        outs = []
        pieces = self._split(rows, sizes, 1)
        for start, piece, dtype in zip(self._starts, pieces, dtypes):
            near = next(iter(_waits(start)), start)
            name = f"{near.name}_of_bucket"
            if as_bytes or width > 1 and len(pieces) > 1:
                piece = maker.copy(piece, f"{name}_copy", near)
            if as_bytes:
                piece = self._as(piece, dtype, near)
            outs.append(maker.view(piece, self._shape(start), name, near))
        self._result.stages["copy_out"] = outs
        return outs

    def _pack_scatters(self) -> list[fx.Node]:
        maker, width = self._maker, self._width
        casts = self._widening_casts()
        sources = [cast.args[0] for cast in casts] or self._sources
        parts = [
            maker.view(source, (width, -1), f"{start.name}_chunks", start)
            for start, source in zip(self._starts, sources)
        ]
        sizes = [maker.size(part, 1) for part in parts]
        packed = maker.view(
            self._cat(parts, 1), (-1,), f"{self._base}_flat", self._starts[0]
        )
        if casts:
            packed = self._convert(packed, casts)
        whole = self._launch(packed)
        return self._unpack(whole, sizes)

    def _widening_casts(self) -> list[fx.Node]:
        """Returns the casts of what the members send, if one cast of all that
        is packed can take their place and needs less memory; else nothing."""
        casts = []
        for name, cast in zip(self._bucket.absorbed_casts, self._sources):
            if not (
                cast.name == name and is_cast(cast) and len(cast.users) == 1
            ):
                return []
            casts.append(cast)
        if len(casts) != len(self._starts):
            return []
        types = {
            (value_of(cast.args[0]).dtype, value_of(cast).dtype, cast.target)
            for cast in casts
        }
        if len(types) != 1:
            return []
        ((source, result, _),) = types
        return casts if source.itemsize < result.itemsize else []

    def _convert(self, packed: fx.Node, casts: list[fx.Node]) -> fx.Node:
        first = casts[0]
        for cast in casts:
            self._result.readers[cast] = self._result.stages["copy_in"][0]
        converted = self._maker.call(
            first.target,
            (packed, *first.args[1:]),
            f"{self._base}_cast",
            self._starts[0],
            dict(first.kwargs),
        )
        self._result.stages["copy_in"].append(converted)
        return converted

    def _pack_reduces(self) -> list[fx.Node]:
        parts = [self._flat(start) for start in self._starts]
        sizes = [self._maker.size(part, 0) for part in parts]
        whole = self._launch(self._cat(parts, 0))
        return self._unpack(whole, sizes)

    def _unpack(self, whole: fx.Node, sizes: list[Size]) -> list[fx.Node]:
        outs = []
        for start, piece in zip(self._starts, self._split(whole, sizes, 0)):
            near = next(iter(_waits(start)), start)
            name = f"{near.name}_of_bucket"
            outs.append(self._maker.view(piece, self._shape(start), name, near))
        return outs

    def _flat(self, start: fx.Node) -> fx.Node:
        return self._maker.view(
            start.args[0], (-1,), f"{start.name}_flat", start
        )

    def _as(self, part: fx.Node, dtype: torch.dtype, like) -> fx.Node:
        if value_of(part).dtype == dtype:
            return part
        return self._maker.call(
            aten.view.dtype, (part, dtype), f"{part.name}_typed", like
        )

    def _cat(self, parts: list[fx.Node], dim: int) -> fx.Node:
        packed = self._maker.call(
            aten.cat.default,
            (parts, dim),
            f"{self._base}_copy_in",
            self._starts[0],
        )
        self._result.stages["copy_in"] = [packed]
        for start in self._starts:
            self._result.readers[start] = packed
        return packed

    def _launch(self, packed: fx.Node) -> fx.Node:
        """Adds the start and its wait; returns the wait."""
        first = self._starts[0]
        launch = self._maker.call(
            overload_of(first.target),
            (packed, *self._common.values()),
            self._base,
            first,
        )
        near = next(iter(_waits(first)), first)
        wait = self._wait(launch, f"{near.name}_bucket", near)
        self._result.stages["start"] = [launch]
        self._result.stages["wait"] = [wait]
        return wait

    def _split(self, whole, sizes: list[Size], dim: int) -> list[fx.Node]:
        if len(sizes) == 1:
            return [whole]
        pieces = self._maker.call(
            aten.split_with_sizes.default,
            (whole, sizes, dim),
            f"{self._base}_parts",
            self._starts[0],
        )
        return [
            self._maker.part(pieces, index, f"{start.name}_part", start)
            for index, start in enumerate(self._starts)
        ]

    def _shape(self, start: fx.Node) -> list[Size]:
        """Returns the shape of what a member delivers."""
        shape = value_of(start).shape
        if all(isinstance(size, int) for size in shape):
            return list(shape)
        maker, source = self._maker, start.args[0]
        sizes = [maker.size(source, dim) for dim in range(len(shape))]
        if self._bucket.kind == "all_gather":
            sizes[0] = maker.product((sizes[0], self._width), start)
        elif self._bucket.kind == "reduce_scatter":
            sizes[0] = maker.quotient(sizes[0], self._width, start)
        return sizes


def _waits(start: fx.Node) -> list[fx.Node]:
    return [user for user in start.users if is_wait(user.target)]
