# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models, each of which tests one feature of partitioners."""

import torch
import torch.fx.traceback as fx_traceback
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

WIDTH = 256
TOKENS = 128


class Mlp(nn.Module):
    """Matrix products with pointwise operators between them, and a buffer."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.middle = nn.Linear(4 * WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("scale", torch.empty(WIDTH))

    def forward(self, x):
        hidden = functional.gelu(self.up(x * self.scale))
        hidden = functional.silu(self.middle(hidden)) * hidden
        return functional.mse_loss(self.down(hidden), x)


class Experts(nn.Module):
    """A mixture of experts: each token's two best, which a soft-max weighs."""

    NUM_EXPERTS = 8

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, self.NUM_EXPERTS, bias=False)
        shape = (self.NUM_EXPERTS, WIDTH, 2 * WIDTH)
        self.up = nn.Parameter(torch.empty(shape))
        self.down = nn.Parameter(torch.empty(shape).transpose(1, 2))

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        weights = weights / weights.sum(-1, keepdim=True)
        routing = torch.zeros(len(x), self.NUM_EXPERTS)
        routing = routing.scatter(1, chosen, weights)
        given = torch.einsum("te,tw->etw", (routing > 0).to(x.dtype), x)
        hidden = functional.silu(torch.bmm(given, self.up))
        results = torch.bmm(hidden, self.down)
        return torch.einsum("te,etw->tw", routing, results).square().mean()


class Dropout(nn.Module):
    """Draws random numbers that the backward needs again."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x):
        for layer in self.layers:
            y = torch.native_dropout(functional.relu(layer(x)), 0.1, True)[0]
            x = self.norm(x + y)
        return x.sum()


class Attention(nn.Module):
    """One transformer block, of which nothing is checkpointed itself."""

    NUM_HEADS = 4

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.ffn = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        batch, tokens, width = x.shape
        heads = (batch, tokens, self.NUM_HEADS, width // self.NUM_HEADS)
        q, k, v = (
            part.view(heads).transpose(1, 2)
            for part in self.qkv(self.norm(x)).chunk(3, -1)
        )
        weights = (q @ k.transpose(2, 3) * heads[-1] ** -0.5).softmax(-1)
        mixed = (weights @ v).transpose(1, 2).reshape(x.shape)
        x = x + self.out(mixed)
        return x + self.ffn(x)


class Checkpointed(nn.Module):
    """Two transformer blocks, one region of activation checkpointing each:
    the backward computes all again but the matrix products with weights."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Attention() for _ in range(2))

    def forward(self, x):
        for region, block in enumerate(self.blocks):
            # Without this context the tags outlive the region.
            with fx_traceback.preserve_node_meta():
                x = checkpoint(
                    block,
                    x,
                    use_reentrant=False,
                    preserve_rng_state=False,
                    early_stop=False,
                    context_fn=lambda region=region: _contexts(region),
                )
        return x.square().mean()


def _contexts(region):
    forward, repeated = create_selective_checkpoint_contexts(_policy)
    forward.ac_graph_id = region
    return forward, repeated


def _policy(_context, operator, *_args, **_kwargs):
    if operator is torch.ops.aten.addmm.default:
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.MUST_RECOMPUTE


#: The models with the shapes of their inputs, by name.
MODELS = {
    "MLP": (Mlp, [(TOKENS, WIDTH)]),
    "mixture of experts": (Experts, [(TOKENS, WIDTH)]),
    "dropout": (Dropout, [(TOKENS, WIDTH)]),
    "attention": (Attention, [(2, TOKENS, WIDTH)]),
    "checkpointed attention": (Checkpointed, [(2, TOKENS, WIDTH)]),
}
