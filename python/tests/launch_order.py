# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order in which a scheduled graph launches and waits, in the schedule and
in what PyTorch's compilers made of it."""

from torch.utils._python_dispatch import TorchDispatchMode

from commsched.torch.compiling import records


def landmark(target):
    """Returns the name of a launch, a wait or a product of matrices, or None
    for another operator. Compilers call some as operators with outputs."""
    space, _, name = str(getattr(target, "overloadpacket", "")).rpartition(".")
    if space == "_c10d_functional":
        return name.removesuffix("_out")
    return name if (space, name) == ("aten", "mm") else None


def landmarks(graph):
    """Returns those of a graph, in order."""
    names = [landmark(node.target) for node in graph.nodes]
    return [name for name in names if name]


def watch_schedules():
    """Returns a list that gets the landmarks of each graph that is scheduled."""
    found, trace = [], records.trace_graph

    def keep(gm, kind, when):
        if when == "after":
            found.append(landmarks(gm.graph))
        trace(gm, kind, when)

    records.trace_graph = keep
    return found


class Calls(TorchDispatchMode):
    """Records the landmarks that are called, in order."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = landmark(function)
        self.names.extend([name] if name else [])
        return function(*args, **(kwargs or {}))
