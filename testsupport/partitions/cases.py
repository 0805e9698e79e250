# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joint graphs for both partitioners."""

import contextlib
import copy
import warnings
from dataclasses import dataclass, field, replace

import torch
from torch._functorch import partitioners
from torch._functorch.compile_utils import fx_graph_cse
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import CheckpointPolicy

from commsched.torch.tracer.capture import capture_joint
from decorations import add_marks, add_seeds
from partition_models import MODELS
from random_models import RandomModel
from torch_step import StepOptions, trace_step

#: Training steps of the tracer, by name.
STEPS = {
    "llama3-tiny": StepOptions("llama3-tiny", 4, sequence=256),
    "llama3-tiny, kept gathered": StepOptions(
        "llama3-tiny", 4, sequence=256, reshard_after_forward=False
    ),
    "llama3-8b, two layers": StepOptions("llama3-8b", 64, layers=2),
    "llama3-8b, two layers, kept gathered": StepOptions(
        "llama3-8b", 64, layers=2, reshard_after_forward=False
    ),
}


@dataclass
class Case:
    """A joint graph. Every node has its value in its metadata; the forward's
    outputs are the first `num_forward` ones."""

    name: str
    graph: torch.fx.GraphModule
    num_forward: int = 1
    groups: dict = field(default_factory=dict)

    @property
    def is_marked(self):
        """Whether an operator is marked to be computed again: then the default
        is a minimum cut."""
        return partitioners.has_recomputable_ops(self.graph)

    @property
    def prefers_saving(self):
        """Whether an operator has the policy PREFER_SAVE: also a graph in which
        none is to be computed again can have it."""
        return any(
            node.meta.get("recompute") == CheckpointPolicy.PREFER_SAVE
            for node in self.graph.graph.nodes
        )

    @property
    def is_seeded(self):
        """Whether the backward has seeds."""
        return any(map(partitioners._is_bwd_seed_offset, self.graph.graph.nodes))


def trace(name, options):
    step = trace_step(StepOptions(**{**vars(options), "joint": True}))
    return Case(name, step.graphs["joint"], groups=step.groups)


@contextlib.contextmanager
def _default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def capture(name, make, shapes, dtype=torch.float32):
    """The joint graph of a model that gives its loss."""
    with FakeTensorMode(), _default_dtype(dtype):
        model = make()
        inputs = [torch.empty(shape) for shape in shapes]
    return Case(name, capture_joint(model, inputs))


def capture_random(seed, dtype=torch.float32):
    name = f"random {seed}"
    model = RandomModel(seed)
    return capture(name, lambda: RandomModel(seed), [model.input_shape], dtype)


def capture_seeded(seed, dtype=torch.float32):
    """The same with random states of both halves."""
    case = capture_random(seed, dtype)
    add_seeds(case.graph, seed)
    return replace(case, name=f"seeded {seed}")


def capture_marked(seed, dtype=torch.float32):
    """The same with random states, and with marks of checkpointing."""
    case = capture_seeded(seed, dtype)
    add_marks(case.graph, seed)
    return replace(case, name=f"marked {seed}")


#: What captures the random graph of a seed, by the first word of its name.
FAMILIES = {
    "random": capture_random,
    "seeded": capture_seeded,
    "marked": capture_marked,
}


def make_models():
    """The steps and the models, one after the other."""
    for name, options in STEPS.items():
        yield trace(name, options)
    for name, (make, shapes) in MODELS.items():
        yield capture(name, make, shapes)


def copied(graph):
    """A deep copy, whose nodes have the same names."""
    with warnings.catch_warnings():
        # Descriptions of inputs are copied with classes that torch will drop.
        warnings.simplefilter("ignore", FutureWarning)
        return copy.deepcopy(graph)


def simplified(case):
    """The case without dead and without repeated operators, as the reference's
    min-cut partitioner leaves its graph before it decides."""
    graph = copied(case.graph)
    graph.graph.eliminate_dead_code()
    graph.graph = fx_graph_cse(graph.graph)
    graph.recompile()
    return Case(case.name, graph, case.num_forward, case.groups)
