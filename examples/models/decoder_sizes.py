# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sizes of the Llama 3 models whose steps are traced."""

from __future__ import annotations

import dataclasses
from typing import TypeVar


_Config = TypeVar("_Config", bound="DecoderConfig")


@dataclasses.dataclass(frozen=True)
class DecoderConfig:
    """Sizes of a decoder whatever its feed-forward networks are."""

    num_layers: int
    dim: int
    num_heads: int
    num_kv_heads: int

    @property
    def head_dim(self) -> int:
        """Elements of one attention head."""
        return self.dim // self.num_heads

    @property
    def kv_dim(self) -> int:
        """Elements of all key (or value) heads of one token."""
        return self.num_kv_heads * self.head_dim

    def with_layers(self: _Config, num_layers: int | None) -> _Config:
        """Returns the model with that many layers; None keeps its own."""
        if num_layers is None:
            return self
        return dataclasses.replace(self, num_layers=num_layers)


@dataclasses.dataclass(frozen=True)
class LlamaConfig(DecoderConfig):
    """Sizes of one model of the family.

    ``num_kv_heads`` must divide ``num_heads``, and ``num_heads`` must divide
    ``dim`` into heads of even size (rotary embedding rotates pairs).
    """

    ffn_dim: int
    vocab_size: int
    rope_theta: float = 500000.0
    norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise ValueError(f"{field.name} must be positive, got {value}")
        if self.dim % self.num_heads:
            raise ValueError(
                f"num_heads {self.num_heads} does not divide dim {self.dim}"
            )
        if self.num_heads % self.num_kv_heads:
            raise ValueError(
                f"num_kv_heads {self.num_kv_heads} does not divide "
                f"num_heads {self.num_heads}"
            )
        if self.head_dim % 2:
            raise ValueError(f"head dimension {self.head_dim} is odd")


#: The published sizes of the family, and one for tests.
CONFIGS: dict[str, LlamaConfig] = {
    "llama3-8b": LlamaConfig(32, 4096, 32, 8, 14336, 128256),
    "llama3-70b": LlamaConfig(80, 8192, 64, 8, 28672, 128256),
    # What torchtitan tries things out with.
    "llama3-debug": LlamaConfig(6, 256, 16, 16, 768, 2048),
    "llama3-tiny": LlamaConfig(2, 128, 8, 2, 448, 512),
}
