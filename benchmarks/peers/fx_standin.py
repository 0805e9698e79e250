# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of a problem dump as FX graphs for Inductor's passes.

A node of the dump becomes an FX node, and a value its FakeTensor. Differences
from the graph that Inductor would have traced:

  - An operator that PyTorch knows by its name is that operator, but has no
    arguments except tensors, in a list of a list, so that it cannot be run:
    Inductor, which runs users of a merged collective on FakeTensors to see
    whether their layout changes, lets them be. Casts are complete: Inductor
    looks through them.
  - An operator that the dump calls expensive, or that has another name, is one
    of two that are defined here. The expensive one has an entry in PyTorch's
    registry of FLOP formulas, by which Inductor knows what hides collectives.
  - Tensors are on a device of PyTorch's own for backends written in Python: on
    GPUs that are not there, merging cannot be traced.
  - Values are contiguous, but for views that are larger than their storage.
  - Only dependences that values carry are there: no others fit into FX.
  - A collective has the shapes of the dump, and gathers and scatters along the
    first dimension. An all-to-all splits evenly, or by two tensors, each of
    which stands in the graph for the numbers that it holds.
  - Arguments that stay are called primals_N: Inductor recognises them by this
    name.
"""

import contextlib
import functools
import operator

import torch
import torch.distributed as dist
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils import backend_registration
from torch.utils.flop_counter import register_flop_formula

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E5M2": torch.float8_e5m2,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "ui8": torch.uint8,
    "ui64": torch.uint64,
    "ui32": torch.uint32,
    "i1": torch.bool,
}
CASTS = (
    torch.ops.prims.convert_element_type.default,
    torch.ops.aten._to_copy.default,
)

@functools.cache
def get_device():
    """What is no processor, so that Inductor counts its memory."""
    name = "commsched"
    backend_registration._setup_privateuseone_for_python_backend(name)
    return name


LIBRARY = torch.library.Library("commsched_peers", "DEF")


def make_results(_, results):
    """Tensors as in "64x4096xbf16 f32"."""
    made = []
    for result in results.split():
        *shape, dtype = result.split("x")
        shape = [int(size) for size in shape]
        made.append(torch.empty(shape, dtype=DTYPES[dtype], device=get_device()))
    return made


def make_result(inputs, results):
    return make_results(inputs, results)[0]


def _define(name):
    """An operator whose results are as its last argument says."""
    LIBRARY.define(f"{name}(Tensor[] inputs, str results) -> Tensor")
    LIBRARY.define(f"{name}.several(Tensor[] inputs, str results) -> Tensor[]")
    for overload in ("", ".several"):
        torch.library.register_fake(
            f"commsched_peers::{name}{overload}",
            make_results if overload else make_result,
            lib=LIBRARY,
        )
    return getattr(torch.ops.commsched_peers, name)


EXPENSIVE = _define("expensive")
OTHER = _define("other")


@register_flop_formula(EXPENSIVE, get_raw=True)
def _count_flops(*_, **__):
    """Nothing that is decided rests on it: the dump says what nodes cost."""
    return 0


def find_operator(node):
    """What a node on the compute stream calls."""
    if node["expensive"]:
        return EXPENSIVE
    namespace, _, name = node["op"].partition(".")
    name, _, overload = name.partition(".")
    if namespace not in ("aten", "prims"):
        return OTHER
    packet = getattr(getattr(torch.ops, namespace), name, None)
    for candidate in [overload] if overload else ["default", "Tensor"]:
        if hasattr(packet, candidate):
            return getattr(packet, candidate)
    return OTHER


# The key of meta under which a node of the graph has its node of the dump.
INDEX = "commsched_node"


class Unsupported(Exception):
    """The function has something that the graph cannot express."""


@contextlib.contextmanager
def process_groups(streams):
    """The names of groups of the sizes of the streams, of which this process is
    the first rank and the only one."""
    world = max((stream["size"] for stream in streams), default=1)
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    try:
        yield [
            dist.new_group(list(range(stream["size"]))).group_name
            for stream in streams
        ]
    finally:
        dist.destroy_process_group()


class StandIn:
    """The graph module of one function, and what its nodes are."""

    def __init__(self, function, groups):
        self.function = function
        self.nodes = function["nodes"]
        self.values = function["values"]
        self.streams = function["streams"]
        self.groups = groups
        self.mode = FakeTensorMode()
        self.graph = fx.Graph()
        self.made = {}  # Value -> FX node.
        self.storages = {}  # Buffer -> FakeTensor that has its storage.
        self.index_of = {}  # Name of an FX node -> node of the dump.
        for value, description in enumerate(self.values):
            if description["producer"] < 0:
                self._add_argument(value)
        for index in range(len(self.nodes)):
            self._add_node(index)
        self.graph.output(tuple(self.made[v] for v in function["returns"]))
        self.module = fx.GraphModule(torch.nn.Module(), self.graph)

    def get_bytes(self, value):
        """Of a tensor of the dump."""
        described = self.values[value]
        count = torch.Size(described["shape"]).numel()
        return count * DTYPES[described["dtype"]].itemsize

    def _add_argument(self, value):
        buffer = self.values[value]["buffer"]
        freed = buffer >= 0 and self.function["buffers"][buffer][2]
        name = f"{'saved' if freed else 'primals'}_{value + 1}"
        self.made[value] = self.graph.placeholder(name)
        self.made[value].meta["val"] = self._make_tensor(value)

    def _make_tensor(self, value):
        """A FakeTensor as the dump describes it, in the storage of its buffer."""
        described = self.values[value]
        if described["type"] != "tensor" or min(described["shape"], default=0) < 0:
            raise Unsupported(
                f"a value of type {described['type']}{described['shape']} is no "
                "tensor of static shape"
            )
        dtype, shape = DTYPES.get(described["dtype"]), described["shape"]
        if dtype is None:
            raise Unsupported(f"unknown element type: {described['dtype']}")
        with self.mode:
            storage = self.storages.get(described["buffer"])
            if storage is None:
                made = torch.empty(shape, dtype=dtype, device=get_device())
                if described["buffer"] >= 0:
                    self.storages[described["buffer"]] = made
                return made
            strides = torch.empty(shape, device="meta").stride()
            numel = torch.Size(shape).numel()
            if numel * dtype.itemsize > storage.untyped_storage().nbytes():
                strides = [0] * len(shape)
            made = torch.empty(0, dtype=dtype, device=get_device())
            return made.set_(storage.untyped_storage(), 0, shape, strides)

    def _add_node(self, index):
        node = self.nodes[index]
        inputs = [self.made[value] for value in node["operands"]]
        if node["kind"] == "start":
            made = self._add_start(node, inputs)
        elif node["kind"] == "wait":
            wait = torch.ops._c10d_functional.wait_tensor.default
            made = self.graph.call_function(wait, (inputs[0],))
        elif node["kind"] == "compute":
            made = self._add_compute(node, inputs)
        else:
            raise Unsupported(f"{node['op']} starts and waits in one")
        made.meta[INDEX] = index
        self.index_of[made.name] = index
        self._add_results(made, node["results"], node["kind"])

    def _add_start(self, node, inputs):
        stream = self.streams[node["stream"]]
        group = self.groups[node["stream"]]
        size = stream["size"]
        ops = torch.ops._c10d_functional
        kind, tensor, sizes = node["collective"], inputs[0], inputs[1:]
        if sizes and (kind != "all-to-all" or len(sizes) != 2):
            raise Unsupported(f"{node['op']} of {len(inputs)} operands")
        if kind == "all-gather":
            call = ops.all_gather_into_tensor.default, (tensor, size, group)
        elif kind == "reduce-scatter":
            arguments = (tensor, node["reduction"], size, group)
            call = ops.reduce_scatter_tensor.default, arguments
        elif kind == "all-reduce":
            call = ops.all_reduce.default, (tensor, node["reduction"], group)
        elif kind == "all-to-all":
            rows = [(tensor.meta["val"].shape or [0])[0] // size] * size
            received, sent = ([value] for value in sizes) if sizes else (rows, rows)
            call = ops.all_to_all_single.default, (tensor, received, sent, group)
        else:
            raise Unsupported(f"{node['op']} is none of Inductor's collectives")
        return self.graph.call_function(*call)

    def _add_compute(self, node, inputs):
        target, results = find_operator(node), node["results"]
        described = [self.values[value] for value in results]
        if target in (EXPENSIVE, OTHER):
            overload = target.default if len(results) == 1 else target.several
            text = " ".join(
                "x".join([*map(str, value["shape"]), value["dtype"]])
                for value in described
            )
            return self.graph.call_function(overload, (inputs, text))
        if target not in CASTS:
            return self.graph.call_function(target, ([inputs],))
        dtype = DTYPES[described[0]["dtype"]]
        if target is CASTS[0]:
            return self.graph.call_function(target, (*inputs, dtype))
        return self.graph.call_function(target, (*inputs,), {"dtype": dtype})

    def _add_results(self, made, results, kind):
        if kind == "wait":
            made.meta["val"] = self._make_tensor(results[0])
            # Inductor's FakeTensors of a collective and of its wait have
            # storages of their own.
            with self.mode:
                made.args[0].meta["val"] = torch.empty_like(made.meta["val"])
        elif kind == "compute" and len(results) == 1:
            made.meta["val"] = self._make_tensor(results[0])
        elif kind == "compute":
            made.meta["val"] = tuple(self._make_tensor(v) for v in results)
            for place, value in enumerate(results):
                item = self.graph.call_function(operator.getitem, (made, place))
                item.meta["val"] = made.meta["val"][place]
                self.made[value] = item
            return
        self.made[results[0]] = made

    def find_members(self, node):
        """The starts of the dump that a node made by merging stands for, in the
        order of the bucket. Merged collectives may have been merged again."""
        members, sources = [], list(reversed(node.meta["from_node"]))
        while sources:
            source = sources.pop()
            if source.name in self.index_of:
                members.append(self.index_of[source.name])
            else:
                sources.extend(reversed(source.from_node))
        return members
