# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models to train: a Llama, and a transformer with biases."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.append(str(Path(__file__).parents[1] / "models"))

from decoder_sizes import LlamaConfig  # noqa: E402
from torch_llama import Llama  # noqa: E402

VOCABULARY = 512


class Block(nn.Module):
    """A transformer block that normalises before attention and before its
    feed-forward network; 12 parameters."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.projection = nn.Linear(dim, dim)
        self.ffn_norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        qkv = self.qkv(self.attention_norm(x))
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in qkv.chunk(3, -1)
        )
        out = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.projection(out.transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.ffn_norm(x))))


class Transformer(nn.Module):
    """A decoder of such blocks; ``forward`` returns the mean loss."""

    def __init__(self, layers: int, dim: int, heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.layers = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, VOCABULARY, bias=False)

    def forward(
        self, tokens: torch.Tensor, labels: torch.Tensor
    ) -> torch.Tensor:
        """The mean cross-entropy of ``labels``, both [batch, seq] integers."""
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        logits = self.output(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def build(name: str, layers: int, dim: int, sequence: int) -> nn.Module:
    """Builds ``llama`` or ``transformer``, with heads of 16 elements."""
    heads = dim // 16
    if name == "transformer":
        return Transformer(layers, dim, heads)
    config = LlamaConfig(
        num_layers=layers,
        dim=dim,
        num_heads=heads,
        num_kv_heads=max(1, heads // 4),
        ffn_dim=7 * dim // 2,
        vocab_size=VOCABULARY,
    )
    return Llama(config, sequence)
