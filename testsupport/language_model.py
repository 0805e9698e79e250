# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small model for tests and benchmarks of compiled steps."""

from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Attention and a feed-forward layer, as a transformer has them."""

    def __init__(self, width, heads=2):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        split = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1))
        q, k, v = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(
            q, k, v, is_causal=True
        )
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class Model(nn.Module):
    """A small language model; gives a loss."""

    def __init__(self, layers, width=32, words=64):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x).float().square().mean()
