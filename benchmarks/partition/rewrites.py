# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of what is done to both halves once they are split: saved values in
8 bits, and the order of the backward. Both start from the same halves."""

import random
import re
from dataclasses import dataclass, field
from unittest import mock

import torch
from torch._functorch import config, partitioners
from torch._inductor import config as inductor_config

import commsched_partitioner as ours
from cases import copied
from commsched import opt
from commsched.torch import GraphSpec, import_graphs
from commsched.torch.importer.roles import Roles
from commsched.torch.importer.types import Values
from ruler import Ruler
from torch_partitioners import Refusal, find_static

VIEWS = "the reference converts views of one storage each by itself"
SMALL = "the reference converts what gets no smaller"
CAST = "the reference converts parameters that were cast"
SEEDS = "the reference puts scales behind the backward's seeds"

_QUANTIZED = re.compile(r"\Afp8_(quant|scale)_pos_\d+_(.*)\Z")


@dataclass
class Outcome:
    """What became of one graph: whether both did the same, else the reasons for
    which they differ; none of them: the reason is unknown. `count` is how many
    values were converted, or operations moved, by the reference."""

    case: str
    same: bool
    count: int
    reasons: list = field(default_factory=list)
    detail: str = ""


# -- order -------------------------------------------------------------------


def _unchanged(graph_module):
    return graph_module


def split_without_order(case):
    """The halves that PyTorch makes when it may save nothing, in the order of
    the joint graph."""
    graph = copied(case.graph)
    with mock.patch.multiple(
        partitioners,
        reordering_to_mimic_autograd_engine=_unchanged,
        raise_getitems=_unchanged,
        functionalize_rng_ops=lambda _, *halves: halves[:2],
    ), config.patch(activation_memory_budget=0.0):
        return partitioners.min_cut_rematerialization_partition(
            graph,
            (),
            num_fwd_outputs=case.num_forward,
            static_lifetime_input_indices=find_static(graph),
        )


def compare_order(case):
    """Both orders of the backward, without what nothing needs: the reference
    drops that."""
    forward, backward = split_without_order(case)
    before = _operators(backward)
    theirs = _operators(
        partitioners.reordering_to_mimic_autograd_engine(copied(backward))
    )
    spec = GraphSpec("backward", backward, "backward", forward=forward)
    module = import_graphs([spec])
    run = opt.run_programs(module, "--commsched-mimic-autograd-order")
    mine = [o.name for o in run.after.function("backward").operations if o.name]
    known = set(mine)
    theirs = [name for name in theirs if name in known]
    kept = set(theirs)
    before = [name for name in before if name in kept]
    mine = [name for name in mine if name in kept]
    moved = sum(a != b for a, b in zip(before, theirs))
    detail = "" if mine == theirs else f"{mine} against {theirs}"
    return Outcome(case.name, mine == theirs, moved, [], detail)


def _operators(graph_module):
    return [n.name for n in graph_module.graph.nodes if n.op == "call_function"]


# -- quantization ------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """Options that both have."""

    size_in_mb: float
    exclude_primals: bool

    @staticmethod
    def draw(seed):
        chance = random.Random(seed)
        return Settings(
            chance.choice((0, 0.01, 0.04)), chance.random() < 0.5
        )

    def for_torch(self):
        return {
            "activation_quantization_aten_pass": {
                "use_scaling": True,
                "size_in_mb": self.size_in_mb,
                "exclude_primals": self.exclude_primals,
            }
        }

    def flag(self):
        return opt.flag(
            "commsched-quantize-activations",
            {
                "size-in-mb": self.size_in_mb,
                "exclude-primals": self.exclude_primals,
            },
        )


@dataclass
class Saved:
    """What a forward returns behind its own results, and what its backward
    takes: pairs of a name and of "", "quant" or "scale"."""

    returned: list
    taken: list

    @property
    def converted(self):
        return [name for name, what in self.returned if what == "quant"]


def quantize_with_torch(case, settings):
    graph = copied(case.graph)
    static = find_static(graph)
    primals = [n for n in graph.graph.nodes if partitioners._is_primal(n)]
    options = {"post_grad_fusion_options": settings.for_torch()}
    # As its minimum cut calls it: by itself it knows no static inputs.
    with inductor_config.patch(options):
        forward, backward = partitioners.default_partition(
            graph,
            (),
            num_fwd_outputs=case.num_forward,
            static_lifetime_input_indices=static,
            static_lifetime_input_nodes=partitioners.OrderedSet(
                primals[index] for index in static
            ),
        )
    outputs = forward.graph.output_node().args[0][case.num_forward :]
    inputs = backward.graph.find_nodes(op="placeholder")
    return Saved(*([_parse(n.name) for n in ns] for ns in (outputs, inputs)))


def _parse(name):
    found = _QUANTIZED.match(name)
    return (found[2], found[1]) if found else (name, "")


def quantize_with_commsched(case, settings, saved):
    """The function is told to save what the reference does."""
    module = ours.imported(case)
    arguments = [value.ref for value, _ in module.functions[0].arguments]
    names = _value_names(case.graph)
    given = [
        f'"{names[name]}"'
        for name in saved
        if name not in arguments
    ]
    mark = "attributes {commsched.num_forward_outputs"
    text = str(module)
    assert text.count(mark) == 1
    text = text.replace(
        mark,
        f"attributes {{commsched.saved_values = [{', '.join(given)}], "
        "commsched.num_forward_outputs",
    )
    try:
        run = opt.run_programs(
            text.encode(),
            settings.flag(),
            first=(ours.get_flag("default", 1.0),),
        )
    except opt.OptError as error:
        raise ours.Refusal(str(error).splitlines()[0]) from error
    nodes = {value: name for name, value in names.items()}
    for index, name in enumerate(arguments):
        nodes[f"arg{index}"] = name
    backward = run.after.function("joint_backward").arguments
    before = run.before.function("joint_backward").arguments
    types = {a.name: a.value.type.element for a in before}
    taken = []
    for argument in backward:
        stem = argument.name.removesuffix(".scale")
        if stem != argument.name:
            taken.append((nodes[stem], "scale"))
        elif not argument.name:
            taken.append(("", argument.role))
        else:
            is_new = argument.value.type.element != types[argument.name]
            taken.append((nodes[argument.name], "quant" if is_new else ""))
    forward = run.after.function("joint_forward")
    count = int(forward.attributes["commsched.num_forward_outputs"])
    returned = taken[: len(forward.results) - count]
    return Saved(returned, taken)


def _value_names(graph):
    """By node, the name that the pass gives to its value: the elements of
    several results are `operation#number`."""
    names = {}
    for node in graph.graph.nodes:
        names[node.name] = node.name
        value = node.meta.get("val")
        if not isinstance(value, (list, tuple)):
            continue
        tensors = [
            i for i, each in enumerate(value) if isinstance(each, torch.Tensor)
        ]
        for user in node.users:
            if user.op == "call_function" and len(tensors) > 1:
                index = tensors.index(user.args[1])
                names[user.name] = f"{node.name}#{index}"
    return names


def compare_quantization(case, settings):
    try:
        theirs = quantize_with_torch(case, settings)
    except (AssertionError, RuntimeError) as error:
        raise Refusal(str(error).splitlines()[0]) from error
    names = [name for name, what in theirs.returned if what != "scale"]
    mine = quantize_with_commsched(case, settings, names)
    outcome = Outcome(case.name, False, len(theirs.converted))
    facts = Facts(case.graph)
    for name in facts.without_views(theirs.converted):
        if name not in facts.without_views(mine.converted):
            outcome.reasons.append(facts.why_kept(name))
    outcome.detail = f"{mine} against {theirs}"
    if not set(facts.without_views(mine.converted)) <= set(
        facts.without_views(theirs.converted)
    ) or None in outcome.reasons:
        outcome.reasons.clear()
        return outcome
    if outcome.reasons:
        return outcome
    if facts.without_views(theirs.converted) != theirs.converted or (
        names != [name for name, what in mine.returned if what != "scale"]
    ):
        outcome.reasons.append(VIEWS)
        return outcome
    if mine.returned != theirs.returned:
        return outcome
    return _compare_taken(outcome, mine, theirs)


def _compare_taken(outcome, mine, theirs):
    """Compares what the backward takes: saved values, tangents, seeds."""
    seeds = [pair for pair in theirs.taken if "bwd_" in pair[0]]
    scales = [pair for pair in theirs.taken if pair[1] == "scale"]
    outcome.same = len(mine.taken) == len(theirs.taken) and (
        mine.returned == theirs.taken[: len(mine.returned)]
    )
    if outcome.same or not seeds or not scales:
        return outcome
    place = theirs.taken.index(scales[0])
    if place > theirs.taken.index(seeds[-1]):
        outcome.reasons.append(SEEDS)
    return outcome


class Facts:
    """What is known of the values of a graph."""

    def __init__(self, graph):
        self._ruler = Ruler(graph)
        self._nodes = {node.name: node for node in graph.graph.nodes}
        roles = Roles(graph.graph, "joint", Values({}))
        self._static = {
            n.name
            for n in graph.graph.find_nodes(op="placeholder")
            if roles.of(n) == "parameter"
        }

    def without_views(self, names):
        """The first value in each storage, each once."""
        return list(dict.fromkeys(self._ruler.first_of(name) for name in names))

    def why_kept(self, name):
        value = self._nodes[name.partition("#")[0]].meta["val"]
        if isinstance(value, (list, tuple)):
            value = value[int(name.partition("#")[2] or 0)]
        if name in self._static or self._is_cast(self._nodes.get(name)):
            return CAST
        rows = value.numel() // value.shape[-1] if value.dim() else 1
        if value.numel() + 4 * rows >= value.numel() * value.element_size():
            return SMALL
        return None

    def _is_cast(self, node):
        """Whether a value is computed from one parameter by casts alone."""
        while node is not None and node.op == "call_function":
            if "convert_element_type" not in str(node.target) and (
                "_to_copy" not in str(node.target)
            ):
                return False
            node = node.args[0]
        return node is not None and node.name in self._static
