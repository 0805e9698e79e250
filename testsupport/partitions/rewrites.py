# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of what is done to both halves once they are split: saved values
in 8 bits, and the order of the backward. Both start from the same halves."""

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
from commsched.torch.importer.roles import BACKWARD_ROLES, Roles
from commsched.torch.importer.types import Values
from commsched.torch.importer.aliases import is_view
from commsched.torch.rewriting.partition import num_saved
from repairs import keep_seed_readers
from torch_partitioners import find_static

SMALL = "the reference converts what gets no smaller"
VIEW = "the reference converts views of inputs though these are excluded"
CAST = "the reference converts parameters that were cast"
SEEDS = "the reference puts scales behind the seeds of the backward"

_QUANTIZED = re.compile(r"\Afp8_(quant|scale)_pos_\d+_(.*)\Z")


@dataclass
class Outcome:
    """What became of one graph: whether both did the same, else the reasons for
    which they differ; none of them: the reason is unknown. `count` is how many
    values were converted, or operations moved, by the reference."""

    case: str
    what: str
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
    keep_seed_readers(graph)
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
    return Outcome(case.name, "order", mine == theirs, moved, [], detail)


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
    takes: pairs of a name and of "", "quant" or "scale"; of what the backward
    has of its own, the role alone."""

    returned: list
    taken: list

    @property
    def converted(self):
        return [name for name, what in self.returned if what == "quant"]

    def without(self, names):
        """The same where these are not converted."""

        def undo(pairs):
            return [
                (name, "" if name in names else what)
                for name, what in pairs
                if name not in names or what != "scale"
            ]

        return Saved(undo(self.returned), undo(self.taken))

    def with_own_last(self):
        def is_own(pair):
            return pair[0] in BACKWARD_ROLES

        return Saved(self.returned, sorted(self.taken, key=is_own))


def quantize_with_commsched(case, settings):
    """Also returns, in their order, the nodes that the forward saves."""
    module = ours.imported(case)
    try:
        run = opt.run_programs(
            module,
            settings.flag(),
            first=(ours.get_flag("default", 1.0),),
        )
    except opt.OptError as error:
        raise ours.Refusal(str(error).splitlines()[0]) from error
    nodes = {value: name for name, value in _value_names(case.graph).items()}
    for index, (value, _) in enumerate(module.functions[0].arguments):
        nodes[f"arg{index}"] = value.ref
    before = run.before.function("joint_backward").arguments
    types = {a.name: a.value.type.element for a in before}
    taken = []
    for argument in run.after.function("joint_backward").arguments:
        stem = argument.name.removesuffix(".scale")
        if argument.role in BACKWARD_ROLES:
            taken.append((argument.role, ""))
        elif stem != argument.name:
            taken.append((nodes[stem], "scale"))
        else:
            is_new = argument.value.type.element != types[argument.name]
            taken.append((nodes[argument.name], "quant" if is_new else ""))
    returned = taken[: num_saved(run.after.function("joint_backward"))]
    saved = [a.name for a in before if a.role not in BACKWARD_ROLES]
    return Saved(returned, taken), [nodes[name] for name in saved]


def _value_names(graph):
    """By node, the name that the pass gives to its value: the elements of
    several results are `operation#number`."""
    names = {}
    for node in graph.graph.nodes:
        names.setdefault(node.name, node.name)
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


def quantize_with_torch(case, settings, saved):
    """The halves that save these nodes, quantized."""
    graph = copied(case.graph)
    nodes = {node.name: node for node in graph.graph.nodes}
    primals = [n for n in graph.graph.nodes if partitioners._is_primal(n)]
    options = {"post_grad_fusion_options": settings.for_torch()}
    with inductor_config.patch(options):
        forward, backward = partitioners._extract_fwd_bwd_modules(
            graph,
            [nodes[name] for name in saved],
            [],
            num_fwd_outputs=case.num_forward,
            static_lifetime_input_nodes=partitioners.OrderedSet(
                primals[index] for index in find_static(graph)
            ),
        )
    outputs = forward.graph.output_node().args[0][case.num_forward :]
    inputs = backward.graph.find_nodes(op="placeholder")
    return Saved(*(list(map(_parse, half)) for half in (outputs, inputs)))


def _parse(node):
    if partitioners._is_tangent(node):
        return "tangent", ""
    if partitioners._is_bwd_seed_offset(node):
        return "bwd_rng_state", ""
    found = _QUANTIZED.match(node.name)
    return (found[2], found[1]) if found else (node.name, "")


def compare_quantization(case, settings):
    """Both save the same values, those of eager execution."""
    mine, saved = quantize_with_commsched(case, settings)
    theirs = quantize_with_torch(case, settings, saved)
    outcome = Outcome(case.name, "quantization", False, len(theirs.converted))
    kept = {
        name: why_kept(case.graph, name, settings)
        for name in theirs.converted
        if name not in mine.converted
    }
    outcome.reasons = sorted(set(filter(None, kept.values())))
    theirs = theirs.without([name for name, why in kept.items() if why])
    if mine != theirs and mine == theirs.with_own_last():
        theirs = mine
        outcome.reasons.append(SEEDS)
    if mine != theirs:
        outcome.reasons.clear()
        outcome.detail = f"{mine} against {theirs}"
    outcome.same = mine == theirs and not outcome.reasons
    return outcome


def why_kept(graph, name, settings):
    """Why CommSched does not convert a value; None if it should."""
    roles = Roles(graph.graph, "joint", Values({}))
    (node,) = (n for n in graph.graph.nodes if n.name == name)
    value = node.meta["val"]
    base = node
    while is_view(base):
        base = base.args[0]
    if settings.exclude_primals and base.op == "placeholder" != node.op:
        return VIEW
    while node.op == "call_function" and "convert_element" in str(node.target):
        node = node.args[0]
    if node.op == "placeholder" and roles.of(node) == "parameter":
        return CAST
    rows = value.numel() // value.shape[-1] if value.dim() else 1
    if value.numel() + 4 * rows >= value.numel() * value.element_size():
        return SMALL
    return None
