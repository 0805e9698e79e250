# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traced steps that tests share: a process traces each once.

Nothing may change the graphs of these steps.
"""

import functools

from commsched.torch import trace
from commsched.torch.trace import TracedStep
from torch_step import StepOptions, trace_step


@functools.cache
def step(options: StepOptions, rank: int = 0) -> TracedStep:
    """A step as a rank runs it."""
    return trace_step(options, rank)


@functools.cache
def text(options: StepOptions, gpus_per_node: int = 8) -> str:
    """The module of a step."""
    return str(trace.import_step(step(options), gpus_per_node))
