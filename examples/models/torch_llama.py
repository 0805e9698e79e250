# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Llama 3 decoder as a plain ``torch.nn.Module``.

Pre-normalised transformer blocks: RMSNorm, rotary position embedding,
grouped-query attention and a SwiGLU feed-forward network, an untied output
projection, and the mean cross-entropy loss over every token. The module knows
nothing of parallelism: ``commsched.torch.sharding`` shards it from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from decoder_sizes import LlamaConfig

if TYPE_CHECKING:
    from torch_experts import ExpertsConfig


def rotary_table(
    head_dim: int, max_seq_len: int, theta: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine of every position's angles, each [seq, head_dim / 2].

    Pair ``i`` of a head turns by ``position * theta ** (-2 i / head_dim)``
    (Su et al., "RoFormer", 2021, section 3.2.2).
    """
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    positions = torch.arange(max_seq_len, dtype=torch.float32)
    angles = torch.outer(positions, theta**-exponents)
    return angles.cos(), angles.sin()


def apply_rotary(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> torch.Tensor:
    """Rotate the pairs (2i, 2i + 1) of ``x`` [..., heads, head_dim].

    ``cos`` and ``sin`` [..., head_dim / 2] hold the angles of each position.
    Works in float32 and returns ``x``'s type.
    """
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = cos[..., None, :], sin[..., None, :]
    rotated = torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1)
    return rotated.flatten(-2).to(x.dtype)


def heads_first(x: torch.Tensor, sequence_first: bool) -> torch.Tensor:
    """``x`` as [batch, heads, seq, head_dim], which attention kernels take,
    from [batch, seq, heads, head_dim] or [seq, batch, heads, head_dim]."""
    return x.permute(1, 2, 0, 3) if sequence_first else x.transpose(1, 2)


def heads_last(x: torch.Tensor, sequence_first: bool) -> torch.Tensor:
    """Undoes ``heads_first``."""
    return x.permute(2, 0, 1, 3) if sequence_first else x.transpose(1, 2)


class RMSNorm(nn.Module):
    """``x / rms(x) * weight``, the root mean square taken in float32."""

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x32 = x.float()
        scale = torch.rsqrt(x32.square().mean(-1, keepdim=True) + self.eps)
        return (x32 * scale).to(x.dtype) * self.weight


class Attention(nn.Module):
    """Causal grouped-query attention with rotary positions."""

    def __init__(
        self, config: LlamaConfig, sequence_first: bool = False
    ) -> None:
        super().__init__()
        self.sequence_first = sequence_first
        self.head_dim = config.head_dim
        self.enable_gqa = config.num_kv_heads != config.num_heads
        self.wq = nn.Linear(config.dim, config.dim, bias=False)
        self.wk = nn.Linear(config.dim, config.kv_dim, bias=False)
        self.wv = nn.Linear(config.dim, config.kv_dim, bias=False)
        self.wo = nn.Linear(config.dim, config.dim, bias=False)

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> torch.Tensor:
        heads = (-1, self.head_dim)
        query = apply_rotary(self.wq(x).unflatten(-1, heads), cos, sin)
        key = apply_rotary(self.wk(x).unflatten(-1, heads), cos, sin)
        value = self.wv(x).unflatten(-1, heads)
        out = F.scaled_dot_product_attention(
            heads_first(query, self.sequence_first),
            heads_first(key, self.sequence_first),
            heads_first(value, self.sequence_first),
            is_causal=True,
            enable_gqa=self.enable_gqa,
        )
        return self.wo(heads_last(out, self.sequence_first).flatten(-2))


class FeedForward(nn.Module):
    """SwiGLU: ``w2(silu(w1 x) * w3 x)``."""

    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    """One decoder layer."""

    def __init__(self, config: LlamaConfig, sequence_first: bool) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.dim, config.norm_eps)
        self.attention = Attention(config, sequence_first)
        self.ffn_norm = RMSNorm(config.dim, config.norm_eps)
        self.feed_forward = FeedForward(config.dim, config.ffn_dim)

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.ffn_norm(x))


class Decoder(nn.Module):
    """What the models have in common: all but their layers, of which
    ``make_layer`` makes the one of each index."""

    def __init__(
        self,
        config: LlamaConfig | ExpertsConfig,
        rotary_dim: int,
        max_seq_len: int,
        make_layer: Callable[[int], nn.Module],
    ) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.dim)
        self.layers = nn.ModuleList(map(make_layer, range(config.num_layers)))
        self.norm = RMSNorm(config.dim, config.norm_eps)
        self.output = nn.Linear(config.dim, config.vocab_size, bias=False)
        cos, sin = rotary_table(rotary_dim, max_seq_len, config.rope_theta)
        self.register_buffer("rope_cos", cos, persistent=False)
        self.register_buffer("rope_sin", sin, persistent=False)

    def rotary(self, seq_len: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosine and sine of the first positions, each [seq, pairs]."""
        return self.rope_cos[:seq_len], self.rope_sin[:seq_len]

    def mean_loss(
        self,
        tokens: torch.Tensor,
        labels: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
    ) -> torch.Tensor:
        """The mean cross-entropy of ``labels``, laid out as ``tokens``."""
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, cos, sin)
        logits = self.output(self.norm(x)).float()
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


class Llama(Decoder):
    """The whole decoder; ``forward`` returns the mean loss of a batch.

    Activations are [batch, seq, dim], or with ``sequence_first`` [seq, batch,
    dim]: then parts of the sequence are contiguous whatever the batch.
    """

    def __init__(
        self,
        config: LlamaConfig,
        max_seq_len: int,
        sequence_first: bool = False,
    ) -> None:
        super().__init__(
            config,
            config.head_dim,
            max_seq_len,
            lambda _: Block(config, sequence_first),
        )
        self.sequence_first = sequence_first

    def forward(
        self, tokens: torch.Tensor, labels: torch.Tensor
    ) -> torch.Tensor:
        """The mean cross-entropy of ``labels``, both [batch, seq] integers."""
        cos, sin = self.rotary(tokens.shape[1])
        if self.sequence_first:
            tokens, labels = tokens.t(), labels.t()
            cos, sin = cos[:, None], sin[:, None]
        return self.mean_loss(tokens, labels, cos, sin)
