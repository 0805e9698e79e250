# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduling problems as PyTorch Inductor's scheduler sees them.

Builds a list of scheduler nodes from the dump of a block by commsched-parity,
so that the functions of torch._inductor.comms and torch._inductor.memory run on
it unmodified. Nodes and buffers are Inductor's own classes, filled with no more
than those functions read:

  - an operation is a BaseSchedulerNode whose `node` is an ir._CollectiveKernel,
    ir._WaitKernel or ir.ExternKernelOut; one that CommSched calls expensive has
    the name of an extern kernel, by which Inductor knows a matrix product,
  - a buffer that an operation makes is a SchedulerBuffer of that operation, and
    each user depends on its name,
  - a dependence between two operations that share no such buffer goes over an
    output without storage (NoneLayout),
  - an input is a read of a name that the graph lists among its inputs; those
    that are not freed are called primals_N: Inductor recognises them by this
    name.

Sizes are uint8 elements. A buffer that stays to the end is a graph output.
"""

import torch
from torch._inductor import dependencies, ir, memory, scheduler
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

START, WAIT, BLOCKING = "start", "wait", "blocking"
# What Inductor takes for a collective that is waited for inside.
BLOCKING_KERNEL = "torch.ops._dtensor.shard_dim_alltoall.default"
KERNELS = {
    START: (ir._CollectiveKernel, "torch.ops._c10d_functional.all_reduce"),
    WAIT: (ir._WaitKernel, "torch.ops._c10d_functional.wait_tensor"),
    BLOCKING: (ir._CollectiveKernel, BLOCKING_KERNEL),
}


def make(cls, **fields):
    """An object of Inductor's IR without running its constructor."""
    made = object.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def make_kernel(index, kind, expensive):
    cls, kernel = KERNELS.get(
        kind,
        (
            ir.ExternKernelOut,
            "extern_kernels.mm" if expensive else "torch.ops.aten.add.out",
        ),
    )
    name = f"op{index}"
    return make(
        cls,
        operation_name=name,
        name=name,
        python_kernel_name=kernel,
        op_overload=None,
    )


class SizeVars:
    """All sizes are known."""

    def optimization_hint(self, expression, fallback=None):
        return int(expression)


class Graph:
    """What the functions ask of the graph and of its scheduler."""

    name = ""
    sizevars = SizeVars()

    def __init__(self):
        self.graph_inputs = {}  # Name -> bytes.
        self.outputs = []
        self.scheduler = self
        self.mutation_real_name = {}
        self.available_buffer_names = OrderedSet()

    def get_output_names(self):
        return self.outputs

    def get_dep_size_hint(self, dep):
        return self.graph_inputs[dep.name]


class Node(scheduler.BaseSchedulerNode):
    """An operation of the problem."""

    # For Inductor's messages about differences that it finds itself.
    min_input_distance = max_input_distance = 0

    def __init__(self, graph, index, kind, cost, stream, expensive, start):
        super().__init__(graph)
        self.index = index
        # Of a collective its stream, of a wait the index of its collective.
        self.stream = stream
        self.start = start if kind == WAIT else None
        self.is_collective = kind in (START, BLOCKING)
        self.node = make_kernel(index, kind, expensive)
        self.override_estimated_runtime = float(cost)
        self.ancestors = ()
        self.outputs = []
        self.outputs_by_name = {}
        self.reads = OrderedSet()

    def add_output(self, name, size):
        layout = (
            ir.NoneLayout(device=None)
            if size is None
            else ir.FixedLayout(torch.device("cpu"), torch.uint8, [size], [1])
        )
        output = make(ir.Buffer, name=name, layout=layout)
        made = scheduler.SchedulerBuffer(self.scheduler, output, self)
        self.outputs.append(made)
        self.outputs_by_name[name] = made

    def close(self):
        self.set_read_writes(
            dependencies.ReadWrites(
                self.reads,
                OrderedSet(dependencies.StarDep(b.get_name()) for b in self.outputs),
                OrderedSet(),
            )
        )


class StandIn:
    """The scheduler nodes of one problem, in the order of the program."""

    def __init__(self, problem):
        self.graph = Graph()
        self.nodes = [
            Node(self.graph, index, *node)
            for index, node in enumerate(problem["nodes"])
        ]
        through_buffers = self._add_buffers(problem["buffers"])
        self._add_tokens(problem["dependences"], through_buffers)
        for node in self.nodes:
            node.close()
        self.name_to_buf = {
            name: b for n in self.nodes for name, b in n.outputs_by_name.items()
        }
        self.name_to_node = {n.get_name(): n for n in self.nodes}
        # Warm the caches that Inductor has filled long before these passes.
        for node in self.nodes:
            node.get_buffer_names()
            node.get_operation_names()
        with self.installed():
            memory.assign_memory_planning_info_for_scheduler_buffers(
                self.nodes, self.name_to_buf
            )

    def installed(self):
        return V.set_graph_handler(self.graph)

    def _add_buffers(self, buffers):
        pairs = set()
        for index, (size, producer, freed, users) in enumerate(buffers):
            if producer < 0:
                name = f"saved_{index}" if freed else f"primals_{index}"
                self.graph.graph_inputs[name] = size
                self.graph.available_buffer_names.add(name)
            else:
                name = f"buf{index}"
                self.nodes[producer].add_output(name, size)
                if not freed:
                    self.graph.outputs.append(name)
            for user in users:
                if user != producer:
                    self.nodes[user].reads.add(dependencies.StarDep(name))
                    pairs.add((producer, user))
        return pairs

    def _add_tokens(self, pairs, through_buffers):
        sources = {}
        for source, user, _ in pairs:
            if (source, user) not in through_buffers:
                sources.setdefault(source, []).append(user)
        for node in self.nodes:
            users = sources.get(node.index, [])
            # Inductor's nodes all have an output.
            if users or not node.outputs:
                name = f"token{node.index}"
                node.add_output(name, None)
                for user in users:
                    self.nodes[user].reads.add(dependencies.StarDep(name))

    def order_collectives(self, comms):
        """Fixes the order of collectives as Inductor does."""
        comms.decide_global_ordering_of_comms(
            self.nodes, self.name_to_buf, self.name_to_node
        )
        # Only those of collectives are read.
        known = {}
        for node in self.nodes:
            bits = 0
            for dep in node.unmet_dependencies:
                source = self.name_to_buf[dep.name].defining_op
                bits |= known[source.index] | 1 << source.index
            known[node.index] = bits
            if comms.contains_collective(node):
                node.ancestors = tuple(
                    self.nodes[i].get_name()
                    for i, bit in enumerate(reversed(bin(bits)[2:]))
                    if bit == "1"
                )
