# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything that the package uses of PyTorch beyond its public interfaces.

Each function says which versions of PyTorch it was tested with. What is not
here is public, or part of an operator's schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional

import torch


def boxed(gm: torch.fx.GraphModule) -> Callable[[list], Any]:
    """Returns a function that runs `gm` in the order of its nodes, and frees
    each input of its one list of arguments after its last use (2.13, 2.15:
    torch.fx.graph._BoxedCodeGen)."""
    from torch.fx.graph import _BoxedCodeGen

    gm.graph.set_codegen(_BoxedCodeGen())
    gm.recompile()
    return _mark_boxed(gm.forward)


def _mark_boxed(forward: Callable) -> Callable[[list], Any]:
    def run(args: list) -> Any:
        return forward(args)

    run._boxed_call = True  # What AOT autograd asks for.
    return run


def aot_autograd(**compilers: Any) -> Callable:
    """Returns a Dynamo backend from compilers of AOT autograd's graphs
    (2.13, 2.15: torch._dynamo.backends.common.aot_autograd)."""
    from torch._dynamo.backends.common import aot_autograd

    return aot_autograd(**compilers)


def compile_frame() -> Optional[str]:
    """Returns "frame/compilation" of what Dynamo compiles just now, "!n/..."
    for the n-th graph of compiled autograd; None outside of it (2.13, 2.15:
    torch._guards.CompileContext)."""
    compile_id = torch._guards.CompileContext.current_compile_id()
    return None if compile_id is None else str(compile_id)


def compiled_code() -> Optional[Any]:
    """Returns the code object of the frame that Dynamo compiles just now, the
    user's own where Dynamo had rewritten it (2.13, 2.15:
    torch._guards.TracingContext.traced_code, torch._dynamo.utils)."""
    from torch._dynamo.utils import orig_code_map

    codes = torch._guards.TracingContext.get_traced_code()
    if not codes:
        return None
    return orig_code_map.get(codes[0], codes[0])


def input_index(placeholder: torch.fx.Node) -> Optional[int]:
    """Returns which input of Dynamo's graph a placeholder of AOT autograd's
    forward or joint graph is or is part of; None for what is no such input
    (2.13, 2.15: torch._functorch._aot_autograd.descriptors)."""
    from torch._functorch._aot_autograd import descriptors

    described = placeholder.meta.get("desc")
    while isinstance(described, descriptors.SubclassGetAttrAOTInput):
        described = described.base
    if isinstance(described, descriptors.PlainAOTInput):
        return described.idx
    return None


def default_partitioner() -> Callable:
    """Returns the partitioner of PyTorch's own compilers (2.13, 2.15)."""
    from torch._functorch.partitioners import (
        min_cut_rematerialization_partition,
    )

    return min_cut_rematerialization_partition


def trace_artifact(name: str, payload: Callable[[], str]) -> None:
    """Writes an artifact to the structured trace that tlparse reads, if one
    is written (2.13, 2.15: torch._logging.trace_structured)."""
    torch._logging.trace_structured(
        "artifact",
        metadata_fn=lambda: {"name": name, "encoding": "string"},
        payload_fn=payload,
        expect_trace_id=False,
    )


def is_tested(version: str, tested: Sequence[str]) -> bool:
    """Returns whether `version` lies between the first and the last of the
    tested ones, patch releases aside."""
    return _release(tested[0]) <= _release(version) <= _release(tested[-1])


def _release(version: str) -> tuple[int, ...]:
    digits = version.split("+")[0].split(".")[:2]
    return tuple(int("".join(filter(str.isdigit, d)) or 0) for d in digits)


def graph_kind() -> Optional[str]:
    """Returns which of AOT autograd's graphs is compiled just now: "forward",
    "backward" or "inference"; None outside of it (2.13, 2.15:
    torch._functorch._aot_autograd.logging_utils)."""
    from torch._functorch._aot_autograd import logging_utils

    names = logging_utils.get_aot_compilation_context()[0]
    kind = names[0].rpartition("_")[2] if names else None
    return kind if kind in ("forward", "backward", "inference") else None


def has_inductor_setting(name: str) -> bool:
    """Returns whether Inductor has a setting, dots in its name included
    (2.13, 2.15: torch._inductor.config)."""
    from torch._inductor import config

    return name in config.get_config_copy()
