# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which values of a graph a plan replaces by which others."""

from __future__ import annotations

import operator
from typing import Iterator, Optional, Sequence

import torch
from torch import fx

from commsched.torch.private import storage_key
from commsched.torch.importer.targets import (
    bind,
    is_wait,
    overload_of,
)
from commsched.torch.importer.unsharded import change_arguments, storage_change
from commsched.torch.rewriting.dependences import started_by, tensors_of
from commsched.torch.rewriting.errors import RewriteError
from commsched.torch.rewriting.nodes import NodeMaker, value_of

c10d = torch.ops._c10d_functional


def replaced_waits(
    old: fx.Node, new: fx.Node
) -> list[tuple[fx.Node, fx.Node]]:
    """Returns the pairs of nodes of which the second replaces the first.

    Of two waits these are all waits of their collectives, by the tensor that
    they wait for.
    """
    if not (is_wait(old.target) and is_wait(new.target)):
        return [(old, new)]
    waits, others = _waits_by_item(old), _waits_by_item(new)
    pairs = []
    for key, wait in waits:
        found = next((n for k, n in others if k == key), None)
        if found is None:
            raise RewriteError(
                f"'{wait.name}' is replaced by what '{new.name}' waits for, "
                "but nothing waits for the same tensor of that"
            )
        pairs.append((wait, found))
    return pairs


def _waits_by_item(wait: fx.Node) -> list[tuple]:
    """Returns the waits of the collective that `wait` belongs to, each with
    the number of its tensor."""
    start = started_by(wait)
    if start is None:
        return [(None, wait)]
    found = []
    for user in start.users:
        if is_wait(user.target):
            found.append((None, user))
        elif user.target is operator.getitem:
            found += [
                (user.args[1], n) for n in user.users if is_wait(n.target)
            ]
    return found


def forwarded_reads(
    nodes: Sequence[fx.Node], removed: Sequence[fx.Node]
) -> Iterator[tuple[fx.Node, fx.Node, fx.Node]]:
    """Yields (user, parameter, source) for each use of an unsharded parameter
    whose filling with `source` is among the `removed` nodes.

    A view that is taken before the parameter is filled is one of what it is
    filled with first. Raises RewriteError where a view is used before and
    after the parameter is filled again.
    """
    gone = set(removed)
    contents: dict[fx.Node, Optional[fx.Node]] = {}
    early: dict[fx.Node, list[fx.Node]] = {}
    views: dict[fx.Node, tuple] = {}
    for node in removed:
        contents[change_arguments(node)[0]] = None
    for node in nodes:
        if node in gone:
            if storage_change(node) == "fsdp_copy":
                param, source = change_arguments(node)
                contents[param] = source
                for view in early.pop(param, ()):
                    views[view] = (param, source)
                    yield view, param, source
            continue
        for used in node.all_input_nodes:
            if used in views:
                param, source = views[used]
                if contents[param] is not source:
                    raise RewriteError(
                        f"'{used.name}' views '{param.name}', which is filled "
                        f"again before '{node.name}' uses the view"
                    )
            if used not in contents:
                continue
            if contents[used] is None:
                early.setdefault(used, []).append(node)
            else:
                if shares_storage(node, used):
                    views[node] = (used, contents[used])
                yield node, used, contents[used]
    for param, users in early.items():
        raise RewriteError(
            f"'{users[0].name}' uses '{param.name}', which is never filled"
        )


def shares_storage(node: fx.Node, other: fx.Node) -> bool:
    """Returns whether one of two nodes is, or has, a view of the other."""
    keys = [
        {storage_key(value) for value in tensors_of(each.meta.get("val"))}
        for each in (node, other)
    ]
    return bool((keys[0] & keys[1]) - {None})


def gather_into(
    maker: NodeMaker, start: fx.Node, buffers: fx.Node, number: int
) -> fx.Node:
    """Adds the gather of what `start` sends into result `number` of
    `buffers`, a buffer that holds this rank's part already."""
    out = next(
        (
            user
            for user in buffers.users
            if user.target is operator.getitem and user.args[1] == number
        ),
        None,
    )
    if out is None:
        out = maker.item(buffers, number, f"{buffers.name}_buffer", buffers)
    if value_of(out).shape != value_of(start).shape:
        raise RewriteError(
            f"'{start.name}' delivers {list(value_of(start).shape)}, but the "
            f"buffer '{out.name}' is {list(value_of(out).shape)}"
        )
    others = [user.name for user in out.users]
    if others:
        raise RewriteError(
            f"'{start.name}' cannot deliver into '{out.name}', which "
            f"'{others[0]}' uses"
        )
    bound = bind(overload_of(start.target), start)
    return maker.call(
        c10d.all_gather_into_tensor_out.default,
        tuple(bound.values()),
        f"{start.name}_in_place",
        start,
        {"out": out},
    )
