# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that the tracer builds by name.

``CONFIGS`` maps a name such as ``llama3-8b`` to the configuration that
``build`` turns into a module. The module's ``forward(tokens, labels)`` is a
whole training step's forward: it returns the mean cross-entropy loss.
"""

from __future__ import annotations

from commsched.llama import CONFIGS, LlamaConfig

from .llama import Llama


def build(
    config: LlamaConfig, max_seq_len: int, sequence_first: bool = False
) -> Llama:
    """Build the model of ``config`` for sequences of up to ``max_seq_len``."""
    return Llama(config, max_seq_len, sequence_first)


__all__ = ["CONFIGS", "Llama", "LlamaConfig", "build"]
