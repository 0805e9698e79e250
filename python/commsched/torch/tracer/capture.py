# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Capture a sharded module's training step as an FX graph.

AOT autograd traces the module and its derivative into one joint graph without
running anything. The graph keeps what a scheduler wants to know and the plain
trace loses: each operation's module path, and the attention kernel of a GPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.fx.traceback as fx_traceback
from torch import fx, nn
from torch.overrides import TorchFunctionMode

from commsched.torch.private.names import (
    SubclassGetAttrAOTInput,
    SubclassGetAttrAOTOutput,
    aot_export_joint_with_descriptors,
)


def capture_joint(
    model: nn.Module, args: Sequence[torch.Tensor]
) -> fx.GraphModule:
    """Trace ``model(*args)``, a scalar loss, and its gradients.

    ``model``'s tensors and ``args`` are fake tensors of one mode. The graph's
    inputs are the parameters (their local shards), the buffers, ``args`` and
    the loss's tangent; its outputs are the loss and every parameter's
    gradient, in the order of the parameters.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(fx_traceback.preserve_node_meta())
        stack.enter_context(_module_paths(model))
        stack.enter_context(_FlashAttention())
        joint = aot_export_joint_with_descriptors(stack, model, tuple(args))
        graph_module = joint.graph_module
    _keep_tensors_only(graph_module)
    _drop_identities(graph_module)
    return graph_module


def _keep_tensors_only(graph_module: fx.GraphModule) -> None:
    """Drop the device meshes of DTensors and the gradients that are None."""
    graph = graph_module.graph
    output = graph.output_node()
    kept = [
        (value, descriptor)
        for value, descriptor in zip(output.args[0], output.meta["desc"])
        if value is not None and not _is_mesh(descriptor)
    ]
    output.args = ([value for value, _ in kept],)
    output.meta["desc"] = [descriptor for _, descriptor in kept]
    for node in graph.find_nodes(op="placeholder"):
        if _is_mesh(node.meta["desc"]):
            graph.erase_node(node)
    graph_module.recompile()


def _is_mesh(descriptor: Any) -> bool:
    attributes = (SubclassGetAttrAOTInput, SubclassGetAttrAOTOutput)
    return (
        isinstance(descriptor, attributes) and descriptor.attr == "device_mesh"
    )


def _drop_identities(graph_module: fx.GraphModule) -> None:
    """Drop views that show their whole operand as it is.

    A detach means nothing in a graph that is already differentiated, and left
    in place it would be saved for the backward beside its operand.
    """
    identity = (
        torch.ops.aten.detach.default,
        torch.ops.aten.slice.Tensor,
        torch.ops.aten.view.default,
    )
    graph = graph_module.graph
    for node in graph.nodes:
        if node.target not in identity:
            continue
        operand = node.args[0]
        value, source = node.meta["val"], operand.meta["val"]
        if value.shape == source.shape and value.stride() == source.stride():
            node.replace_all_uses_with(operand)
            graph.erase_node(node)
    graph_module.recompile()


@contextlib.contextmanager
def _module_paths(model: nn.Module) -> Iterator[None]:
    """Record the running module's path on every node that is traced.

    Writes torch's own metadata, ``nn_module_stack``, which AOT autograd also
    copies to the nodes of the backward.
    """
    paths = {module: path for path, module in model.named_modules()}
    key = "nn_module_stack"
    stack: list[dict[str, tuple[str, type]]] = [{}]

    def enter(module: nn.Module, args: Any) -> None:
        path = paths.get(module)
        if path is None:
            return
        stack.append({**stack[-1], path: (path, type(module))})
        fx_traceback.get_current_meta()[key] = stack[-1]

    def leave(module: nn.Module, args: Any, result: Any) -> None:
        if module not in paths:
            return
        stack.pop()
        fx_traceback.get_current_meta()[key] = stack[-1]

    hooks = nn.modules.module
    handles = (
        hooks.register_module_forward_pre_hook(enter),
        hooks.register_module_forward_hook(leave),
    )
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class _FlashAttention(TorchFunctionMode):
    """Call the flash attention that a GPU runs.

    Without a GPU, ``scaled_dot_product_attention`` would pick the CPU's own
    kernel. Only causal attention without mask and dropout, in the 16-bit types
    and head sizes that the kernel takes as they are, is redirected; where
    values have another head size, to cuDNN's kernel.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is nn.functional.scaled_dot_product_attention:
            query = args[0]
            if (
                len(args) == 3
                and set(kwargs) <= {"is_causal", "enable_gqa"}
                and query.dtype in (torch.bfloat16, torch.float16)
                and query.shape[-1] % 8 == 0
                and query.shape[-1] <= 256
            ):
                if args[2].shape[-1] != query.shape[-1] and not kwargs.get(
                    "enable_gqa"
                ):
                    return torch.ops.aten._scaled_dot_product_cudnn_attention(
                        *args, None, True, 0.0, kwargs.get("is_causal", False)
                    )[0]
                return torch.ops.aten._scaled_dot_product_flash_attention(
                    *args, is_causal=kwargs.get("is_causal", False)
                )[0]
        return func(*args, **kwargs)
