# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a node calls: its name, its schema, and whether it communicates."""

from __future__ import annotations

import functools
from typing import Any, Iterator, NamedTuple, Optional

import torch

from commsched.torch import private
from commsched.torch.private.names import (
    HigherOrderOperator,
    OpOverload,
    OpOverloadPacket,
    tree_leaves,
)

# Namespaces whose operators talk to other ranks unless listed below.
COMMUNICATION_NAMESPACES = frozenset(
    {
        "_c10d_functional",
        "_c10d_functional_autograd",
        "_dtensor",
        "c10d",
        "c10d_functional",
        "symm_mem",
    }
)

# Returns the process group of a dimension of a mesh, where code that is compiled
# once runs on all ranks.
GROUP_OF_MESH = "_dtensor::mesh_get_process_group"

# Members of those namespaces that stay on their rank.
_LOCAL = frozenset(
    {
        "_c10d_functional::_wrap_tensor_autograd",
        GROUP_OF_MESH,
        "c10d::check_for_nan",
    }
)

# Namespaces whose collectives are named by these rules: a stem, then what the
# call is besides.
_NAMED_BY_RULE = COMMUNICATION_NAMESPACES - {"c10d", "symm_mem"}
_STEMS = {
    "all_gather_into_tensor": "all_gather",
    "all_reduce": "all_reduce",
    "all_to_all_single": "all_to_all",
    "batch_p2p_ops": "batch",
    "broadcast": "broadcast",
    "irecv": "recv",
    "isend": "send",
    "permute_tensor": "permute",
    "reduce_scatter_tensor": "reduce_scatter",
    "shard_dim_alltoall": "all_to_all",
}
_ENDINGS = ("out", "coalesced")

_WAITS = frozenset({"wait_tensor", "wait_tensors"})

# Transfers between a device and its host, and their wait.
_TRANSFERS = {"ao::offload": "offload", "ao::reload": "reload"}
_TRANSFER_WAIT = "ao::wait_tensor"

# Argument names that give a process group, whatever the operator's namespace.
_GROUP_ARGUMENTS = frozenset({"group_name", "process_group", "pg_name"})


class Schema(NamedTuple):
    """The schema of an operator, read once: its parts are made anew by
    PyTorch at each access."""

    name: str
    overload_name: str
    arguments: tuple
    names: tuple
    defaults: dict
    returns: tuple
    is_mutable: bool


@functools.lru_cache(maxsize=4096)
def schema_of(overload: OpOverload) -> Schema:
    schema = private.schema(overload)
    arguments = tuple(schema.arguments)
    return Schema(
        schema.name,
        schema.overload_name,
        arguments,
        tuple(argument.name for argument in arguments),
        {
            argument.name: argument.default_value
            for argument in arguments
            if argument.has_default_value()
        },
        tuple(schema.returns),
        schema.is_mutable,
    )


def overload_of(target: Any) -> Optional[OpOverload]:
    """Returns the operator overload that `target` is, if it is one.

    A packet stands for its default overload, or for its only one.
    """
    if isinstance(target, OpOverload):
        return target
    if isinstance(target, OpOverloadPacket):
        names = target.overloads()
        if "default" in names:
            return target.default
        if len(names) == 1:
            return getattr(target, names[0])
    return None


def packet_of(target: Any) -> Any:
    """Returns the key of `target` in registries of operators."""
    if isinstance(target, OpOverload):
        return target.overloadpacket
    return target


def schema_name(target: Any) -> str:
    """Returns "namespace::name" of an operator, or "" for anything else."""
    if isinstance(target, OpOverload):
        return schema_of(target).name
    if isinstance(target, OpOverloadPacket):
        return str(target).replace(".", "::", 1)
    return ""


def operator_name(node: torch.fx.Node) -> str:
    """Returns the name that `commsched.compute` gives to what `node` calls.

    Operators are "namespace.name", with ".overload" unless it is the default
    one; functions are "module.name"; methods are "Tensor.name".
    """
    if node.op == "call_method":
        return f"Tensor.{node.target}"
    if node.op != "call_function":
        return f"{node.op} {node.target}" if node.op != node.target else node.op
    return target_name(node.target)


@functools.lru_cache(maxsize=4096)
def target_name(target: Any) -> str:
    """As `operator_name`, for the target of a call_function node."""
    if isinstance(target, OpOverload):
        schema = schema_of(target)
        name = schema.name.replace("::", ".")
        overload = schema.overload_name
        return f"{name}.{overload}" if overload else name
    if isinstance(target, OpOverloadPacket):
        return str(target)
    if isinstance(target, HigherOrderOperator):
        return f"{target.namespace}.{target.name()}"
    name = getattr(target, "__qualname__", None) or getattr(
        target, "__name__", type(target).__name__
    )
    module = getattr(target, "__module__", None) or ""
    module = {"_operator": "operator", "builtins": ""}.get(module, module)
    return f"{module}.{name}" if module else name


@functools.lru_cache(maxsize=4096)
def communicates(target: Any) -> bool:
    """Returns whether `target` may talk to other ranks.

    That is: it is in a communication namespace, or one of its arguments is a
    process group, or it is a function of `torch.distributed`.
    """
    overload = overload_of(target)
    if overload is None:
        name = schema_name(target)
        if name:
            return _is_communication_name(name)
        module = getattr(target, "__module__", None) or ""
        return module.split(".")[:2] == ["torch", "distributed"]
    schema = schema_of(overload)
    if _is_communication_name(schema.name):
        return True
    if schema.name in _LOCAL:
        return False
    return any(_is_group_argument(argument) for argument in schema.arguments)


class CollectiveCall(NamedTuple):
    """What the name of an operator says of the collective that it is: its
    `kind`, one of the dialect's or "batch"; whether it writes its operand or
    into given memory; and whether it takes and gives a list."""

    kind: str
    is_in_place: bool = False
    has_out: bool = False
    is_coalesced: bool = False

    @property
    def is_functional(self) -> bool:
        return not (self.is_in_place or self.has_out)


@functools.lru_cache(maxsize=4096)
def collective_of(target: Any) -> Optional[CollectiveCall]:
    """Returns the collective that `target` is; None for any other target."""
    namespace, _, name = schema_name(target).partition("::")
    if namespace not in _NAMED_BY_RULE:
        return None
    is_in_place = name.endswith("_")
    name = name[:-1] if is_in_place else name
    found = []
    for ending in _ENDINGS:
        found.append(name.endswith(f"_{ending}"))
        name = name.removesuffix(f"_{ending}")
    kind = _STEMS.get(name)
    return kind and CollectiveCall(kind, is_in_place, *found)


def is_unknown_collective(target: Any) -> bool:
    """Returns whether `target` is an operator that communicates, and of which
    nothing else is known."""
    return (
        overload_of(target) is not None
        and communicates(target)
        and not is_wait(target)
        and collective_of(overload_of(target)) is None
        and not schema_name(target).endswith("::_wrap_tensor_autograd")
    )


def is_gather(target: Any) -> bool:
    """Returns whether `target` gathers, into memory of its own."""
    call = collective_of(target)
    return call is not None and call.kind == "all_gather" and call.is_functional


def is_peer_to_peer(target: Any) -> bool:
    """Returns whether `target` sends or receives: its peers differ from rank
    to rank."""
    call = collective_of(target)
    return call is not None and call.kind in ("send", "recv", "batch")


@functools.lru_cache(maxsize=4096)
def is_wait(target: Any) -> bool:
    """Returns whether `target` is a `wait_tensor`, or the `wait_tensors` of a
    list, of any namespace; what they wait for is the first argument."""
    namespace, _, name = schema_name(target).partition("::")
    if name in _WAITS and namespace in COMMUNICATION_NAMESPACES:
        return True
    return is_transfer_wait(target)


def is_transfer_wait(target: Any) -> bool:
    """Returns whether `target` waits for a transfer. The second argument is
    what the transfer read: its memory is freed. The third is what has to
    stay in memory until then."""
    return schema_name(target) == _TRANSFER_WAIT


def transfer_kind(target: Any) -> Optional[str]:
    """Returns "offload" for the start of a transfer to the host, "reload" for
    that of one back, and None for anything else."""
    return _TRANSFERS.get(schema_name(target))


def communication_inside(node: torch.fx.Node) -> Optional[str]:
    """Returns the name of a collective that a higher-order call holds.

    Looks through the graph modules and operators that are among the
    arguments of `node`, however deep.
    """
    pending = list(_held(node))
    seen = set()
    while pending:
        item = pending.pop()
        if not isinstance(item, torch.fx.GraphModule):
            if communicates(item):
                return target_name(item)
            continue
        if id(item) in seen:
            continue
        seen.add(id(item))
        for inner in item.graph.nodes:
            if inner.op == "call_function":
                if communicates(inner.target):
                    return target_name(inner.target)
                pending.extend(_held(inner))
    return None


def nodes_in(argument: Any) -> list[torch.fx.Node]:
    """Returns the nodes in an argument, or in several, in order."""
    found: list[torch.fx.Node] = []
    torch.fx.node.map_arg(argument, found.append)
    return found


def bind(overload: OpOverload, node: torch.fx.Node) -> dict[str, Any]:
    """Returns the arguments of `node` by their names in the schema."""
    schema = schema_of(overload)
    bound = dict(schema.defaults)
    bound.update(zip(schema.names, node.args))
    bound.update(node.kwargs)
    return bound


def _held(node: torch.fx.Node) -> Iterator[Any]:
    """Yields the graph modules and operators among a call's arguments."""
    if not isinstance(node.target, HigherOrderOperator):
        return
    owner = node.graph.owning_module
    for leaf in tree_leaves((node.args, dict(node.kwargs))):
        if isinstance(leaf, torch.fx.Node) and leaf.op == "get_attr" and owner:
            leaf = attribute_of(owner, leaf.target)
        if isinstance(leaf, (torch.fx.GraphModule, OpOverload)):
            yield leaf


def attribute_of(module: torch.nn.Module, path: str) -> Any:
    """Returns the attribute at a dotted `path`, or None."""
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _is_communication_name(name: str) -> bool:
    namespace = name.partition("::")[0]
    return namespace in COMMUNICATION_NAMESPACES and name not in _LOCAL


def _is_group_argument(argument) -> bool:
    if argument.name in _GROUP_ARGUMENTS:
        return True
    text = str(argument.type)
    return "c10d.ProcessGroup" in text
