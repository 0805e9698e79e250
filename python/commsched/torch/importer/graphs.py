# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The importer's public functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Collection, Mapping, Optional, Sequence, Union

import torch

from commsched import ir
from commsched.torch.importer.converter import Converter
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.groups import Groups
from commsched.torch.importer.inline import inlined
from commsched.torch.importer.joint import JointOutputs
from commsched.torch.importer.links import (
    ArgumentMarks,
    Links,
    Source,
    add_step,
)
from commsched.torch.importer.marks import log_regions
from commsched.torch.importer.modules import ModulePaths
from commsched.torch.importer.ordering import used_too_early
from commsched.torch.importer.roles import Roles
from commsched.torch.importer.split_rules import SplitRules
from commsched.torch.importer.types import Values

KINDS = ("forward", "backward", "joint", "inference", "step")


@dataclass
class GraphSpec:
    """One graph to import as one function.

    name:    the function's name.
    gm:      the graph, with fake (or real) values in its nodes' metadata.
    kind:    one of KINDS; "step" is forward, loss and backward in one graph
             that is run as it is.
    roles:   `commsched.role` by placeholder name; overrides what the graph
             says. None as a role means: no role.
    forward: for a backward graph, its forward: gives module paths and the
             roles of what was saved.
    num_fwd_outputs: for a joint graph, how many of its outputs, the first
             ones, are the forward's; if None, what AOT autograd's
             descriptions of the outputs say. Without either the function
             cannot be partitioned.
    sources: of a graph of a step that repeats, what feeds its inputs, by
             placeholder name. Others that are fed by the same output of the
             repetition before are the same argument of the step.
    freeable: placeholders whose storage may be freed after their last use.
    """

    name: str
    gm: torch.fx.GraphModule
    kind: str = "inference"
    roles: Mapping[str, Optional[str]] = field(default_factory=dict)
    forward: Optional[torch.fx.GraphModule] = None
    num_fwd_outputs: Optional[int] = None
    sources: Mapping[str, Source] = field(default_factory=dict)
    freeable: Collection[str] = ()


@dataclass
class ImportOptions:
    """What the graphs do not say.

    groups: process groups that torch.distributed does not know here, by
            name: a size, a list of ranks, or a list of rows of ranks (every
            group of the partition).
    ranks_per_node: how many consecutive ranks share a node.
    hints:  expected sizes of what only the device knows, by the name of the
            symbol ("u0") or of the node that reads it. What is expected of
            those that are not given is in `standins`.
    default_size: expected size of what nothing else is known of. If None,
            such a size is unknown, and what depends on it has no cost.
    runtimes: measured times in nanoseconds, by node name, for collectives'
            starts and for computations. They count for more than a profile
            and than the model. Names that a graph lacks, and those of waits,
            are ignored. All ranks have to give the same times.
    split:  whether operators are given the rules by which they can be computed
            in chunks.
    separate_copies: whether buckets take as long as those that `apply` makes of
            operators: what is gathered is cast before it is packed, and each
            tensor copied out by itself.
    fences: whether a collective that is not known becomes an operator that no
            other communication crosses, instead of a GraphImportError.
    """

    groups: Mapping[str, Union[int, Sequence]] = field(default_factory=dict)
    ranks_per_node: int = 8
    hints: Mapping[str, int] = field(default_factory=dict)
    default_size: Optional[int] = None
    runtimes: Mapping[str, int] = field(default_factory=dict)
    split: bool = True
    separate_copies: bool = False
    fences: bool = False


def import_graphs(
    graphs: Sequence[GraphSpec], options: Optional[ImportOptions] = None
) -> ir.Module:
    """Imports `graphs`, one function each, into one module. If they have
    sources, the function `step` behind them calls all, in order.

    Process groups are declared in the order of their first use. Raises
    GraphImportError, which names the node, for what cannot be imported.
    """
    options = options or ImportOptions()
    module = ir.Module()
    names = [spec.name for spec in graphs]
    for name in names:
        if names.count(name) > 1:
            raise GraphImportError(f"two graphs have the name '{name}'")
    for spec in graphs:
        if spec.kind not in KINDS:
            raise GraphImportError(
                f"unknown kind '{spec.kind}' of graph '{spec.name}'; kinds "
                "are " + ", ".join(KINDS)
            )
        if spec.kind != "joint" and spec.num_fwd_outputs is not None:
            raise GraphImportError(
                f"num_fwd_outputs is given for graph '{spec.name}', whose "
                f"kind is '{spec.kind}' and not 'joint'"
            )
    for name, time in options.runtimes.items():
        if not isinstance(time, int) or time < 0:
            raise GraphImportError(
                f"the runtime of '{name}' is {time!r}, not a number of "
                "nanoseconds"
            )
    groups = Groups(options.groups, options.ranks_per_node, names)
    values = Values(options.hints, options.default_size)
    rules = SplitRules(values) if options.split else None
    links = Links({spec.name: spec.gm for spec in graphs}, values)
    for spec in graphs:
        function = module.add_function(spec.name)
        forward = None if spec.forward is None else spec.forward.graph
        try:
            _convert(
                spec, function, forward, groups, values, options, rules, links
            )
        except GraphImportError as error:
            error.function = spec.name
            raise
    add_step(module, list(module.functions))
    groups.declare(module)
    if options.separate_copies:
        module.attributes["commsched.separate_copies"] = True
    return module


def _convert(
    spec, function, forward, groups, values, options, rules, links
) -> None:
    early = used_too_early(spec.gm.graph)
    if early is not None:
        raise GraphImportError(
            f"uses node '{early[1].name}', which comes after it: put the "
            "graph in order first",
            early[0],
        )
    graph = inlined(spec.gm)
    log_regions(graph)
    for known in (forward, graph):
        if known is not None:
            values.standins.learn(known)
    roles = Roles(graph, spec.kind, values, spec.roles, forward)
    marks = ArgumentMarks(roles, spec.sources, spec.freeable, links)
    paths = ModulePaths(graph, forward)
    joint = None
    if spec.kind == "joint":
        joint = JointOutputs(graph, spec.num_fwd_outputs)
    Converter(
        graph, function, groups, values, marks, paths, joint,
        options.runtimes, rules, options.fences,
    ).run()


def import_graph_module(
    gm: torch.fx.GraphModule,
    name: str = "main",
    *,
    kind: str = "inference",
    roles: Optional[Mapping[str, Optional[str]]] = None,
    forward: Optional[torch.fx.GraphModule] = None,
    num_fwd_outputs: Optional[int] = None,
    options: Optional[ImportOptions] = None,
) -> ir.Module:
    """Imports one graph as the function `name` of a module of its own."""
    spec = GraphSpec(name, gm, kind, roles or {}, forward, num_fwd_outputs)
    return import_graphs([spec], options)
