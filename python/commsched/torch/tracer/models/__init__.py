# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that the tracer builds by name.

``CONFIGS`` maps a name such as ``llama3-8b`` to the configuration that
``build`` turns into a module; ``EXPERTS_CONFIGS`` maps the names of models
with experts to those of ``ExpertsModel``. The ``forward(tokens, labels)`` of
both is a whole training step's forward: it returns the mean cross-entropy
loss, or the rank's part of it.
"""

from __future__ import annotations

from commsched.llama import CONFIGS, LlamaConfig

from .experts import EXPERTS_CONFIGS, Experts, ExpertsConfig, ExpertsModel
from .llama import Llama


def build(
    config: LlamaConfig, max_seq_len: int, sequence_first: bool = False
) -> Llama:
    """Build the model of ``config`` for sequences of up to ``max_seq_len``."""
    return Llama(config, max_seq_len, sequence_first)


__all__ = [
    "CONFIGS",
    "EXPERTS_CONFIGS",
    "Experts",
    "ExpertsConfig",
    "ExpertsModel",
    "Llama",
    "LlamaConfig",
    "build",
]
