# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multi-head latent attention (DeepSeek-AI, "DeepSeek-V2", 2024, section
2.1): keys and values of all heads are computed from one short vector."""

from __future__ import annotations

import dataclasses

import torch
from torch import nn
from torch.nn import functional as F

from torch_llama import RMSNorm, apply_rotary


@dataclasses.dataclass(frozen=True)
class LatentSizes:
    """rank: elements of the vector that keys and values are computed from.
    A head's queries and keys have ``plain`` elements and ``rotary`` ones that
    turn with the position, its values have ``value``."""

    rank: int
    plain: int
    rotary: int
    value: int


class LatentAttention(nn.Module):
    """Causal; the rotary part of a key is the same for all heads."""

    def __init__(
        self, dim: int, num_heads: int, sizes: LatentSizes, norm_eps: float
    ) -> None:
        super().__init__()
        self.sizes = sizes
        self.num_heads = num_heads
        query = num_heads * (sizes.plain + sizes.rotary)
        key_and_value = num_heads * (sizes.plain + sizes.value)
        self.wq = nn.Linear(dim, query, bias=False)
        self.wkv_down = nn.Linear(dim, sizes.rank + sizes.rotary, bias=False)
        self.kv_norm = RMSNorm(sizes.rank, norm_eps)
        self.wkv_up = nn.Linear(sizes.rank, key_and_value, bias=False)
        self.wo = nn.Linear(num_heads * sizes.value, dim, bias=False)

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> torch.Tensor:
        sizes, heads = self.sizes, (self.num_heads, -1)
        query, turning = (
            self.wq(x)
            .unflatten(-1, heads)
            .split((sizes.plain, sizes.rotary), -1)
        )
        query = torch.cat((query, apply_rotary(turning, cos, sin)), -1)
        latent, turning = self.wkv_down(x).split(
            (sizes.rank, sizes.rotary), -1
        )
        key, value = (
            self.wkv_up(self.kv_norm(latent))
            .unflatten(-1, heads)
            .split((sizes.plain, sizes.value), -1)
        )
        turning = apply_rotary(turning.unsqueeze(-2), cos, sin)
        turning = turning.expand(*key.shape[:-1], sizes.rotary)
        key = torch.cat((key, turning), -1)
        out = F.scaled_dot_product_attention(
            query.transpose(1, 2),
            key.transpose(1, 2),
            value.transpose(1, 2),
            is_causal=True,
        )
        return self.wo(out.transpose(1, 2).flatten(-2))
