# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is private of JAX: all access to it is here.

`jax.stages.Lowered` gives its module away but takes none. It keeps what it
compiles in `_lowering`, an object of `jax._src.interpreters.pxla` with the
module in `_hlo` and the program, once it is compiled, in `_executable`. This
holds for JAX 0.10.
"""

from __future__ import annotations

import copy
from typing import Any

import jax


class UnknownJax(RuntimeError):
    """This version of JAX keeps a module elsewhere."""


class ParseError(ValueError):
    """jaxlib does not read a text."""


def module_of(lowered: jax.stages.Lowered) -> Any:
    """Returns the StableHLO module that `lowered` compiles. Raises
    UnknownJax."""
    module = lowered.compiler_ir("stablehlo")
    if getattr(_lowering_of(lowered), "_hlo", None) is not module:
        raise UnknownJax(
            f"JAX {jax.__version__} does not keep the module of a lowered "
            "function where commsched.jax looks for it, as JAX 0.10 does; "
            "install commsched[jax], which names versions that fit"
        )
    return module


def with_module(lowered: jax.stages.Lowered, module: Any) -> Any:
    """Returns a copy of `lowered` that compiles `module`, which takes and
    gives the same arrays. Raises UnknownJax."""
    module_of(lowered)
    lowering = copy.copy(lowered._lowering)
    lowering._hlo = module
    lowering._executable = None
    result = copy.copy(lowered)
    result._lowering = lowering
    return result


def parse_like(module: Any, text: str) -> Any:
    """Parses text to a module with the dialects of another one. Raises
    ParseError."""
    try:
        return type(module).parse(text, module.context)
    except Exception as error:  # jaxlib's MLIRError has no public name.
        raise ParseError(str(error)) from error


def _lowering_of(lowered: jax.stages.Lowered) -> Any:
    return getattr(lowered, "_lowering", None)
