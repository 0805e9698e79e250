# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders whose feed-forward networks are mixtures of experts.

Every token is computed by the few experts that its router picks (Shazeer et
al., "Outrageously Large Neural Networks", 2017): none is dropped and nothing
is padded, so that how many rows an expert gets is known on the device alone.
The experts may be spread over ranks (``Experts.spread``); then all-to-alls
bring the rows there and back, with numbers of rows that are exchanged first.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from decoder_sizes import DecoderConfig
from torch import nn
from torch.distributed import ProcessGroup
from torch.distributed import _functional_collectives as collectives
from torch.nn import functional as F
from torch_llama import Attention, Decoder, FeedForward, RMSNorm, apply_rotary


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


@dataclasses.dataclass(frozen=True)
class ExpertsConfig(DecoderConfig):
    """Sizes of one model.

    ``top_k`` of ``num_experts`` experts, each with ``expert_dim`` hidden
    features, compute a token; so does a network of ``shared_dim`` hidden
    features, if that is not 0. The first ``dense_layers`` layers have one
    network of ``dense_dim`` instead. ``normalize``: the weights of a token's
    experts add up to one. ``latent``: the sizes of latent attention, in place
    of grouped-query attention with ``num_kv_heads``.
    """

    vocab_size: int
    num_experts: int
    top_k: int
    expert_dim: int
    shared_dim: int = 0
    dense_layers: int = 0
    dense_dim: int = 0
    normalize: bool = False
    latent: LatentSizes | None = None
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5

    @property
    def rotary_dim(self) -> int:
        """Elements of a head that turn with the position."""
        return self.latent.rotary if self.latent else self.head_dim


#: The published sizes of two models, and one for tests. DeepSeek-AI,
#: "DeepSeek-V2", 2024, appendix B (the model of 16 B parameters); Jiang et
#: al., "Mixtral of Experts", 2024, table 1.
EXPERTS_CONFIGS: dict[str, ExpertsConfig] = {
    "deepseek-v3-16b": ExpertsConfig(
        num_layers=27,
        dim=2048,
        num_heads=16,
        num_kv_heads=16,
        vocab_size=102400,
        num_experts=64,
        top_k=6,
        expert_dim=1408,
        shared_dim=2 * 1408,
        dense_layers=1,
        dense_dim=10944,
        latent=LatentSizes(rank=512, plain=128, rotary=64, value=128),
    ),
    "mixtral-8x7b": ExpertsConfig(
        num_layers=32,
        dim=4096,
        num_heads=32,
        num_kv_heads=8,
        vocab_size=32000,
        num_experts=8,
        top_k=2,
        expert_dim=14336,
        normalize=True,
        rope_theta=1e6,
    ),
    "experts-tiny": ExpertsConfig(
        num_layers=2,
        dim=64,
        num_heads=4,
        num_kv_heads=4,
        vocab_size=256,
        num_experts=8,
        top_k=2,
        expert_dim=32,
        shared_dim=64,
        dense_layers=1,
        dense_dim=96,
        latent=LatentSizes(rank=32, plain=16, rotary=8, value=16),
    ),
}


class _Reorder(torch.autograd.Function):
    """``x[order]`` for a permutation, whose ``inverse`` is at hand: the
    gradient is a gather too, and adds nothing up."""

    @staticmethod
    def forward(ctx: Any, x, order, inverse):
        ctx.save_for_backward(inverse)
        return x[order]

    @staticmethod
    def backward(ctx: Any, gradient):
        (inverse,) = ctx.saved_tensors
        return gradient[inverse], None, None


class _Spread(torch.autograd.Function):
    """``x[order // copies]``: ``copies`` of every row, in ``order``."""

    @staticmethod
    def forward(ctx: Any, x, order, inverse, copies):
        ctx.save_for_backward(inverse)
        ctx.copies = copies
        return x[order // copies]

    @staticmethod
    def backward(ctx: Any, gradient):
        (inverse,) = ctx.saved_tensors
        rows = gradient[inverse].unflatten(0, (-1, ctx.copies))
        return rows.sum(1), None, None, None


class Experts(nn.Module):
    """The experts' networks, ``w2(silu(w1 x) * w3 x)`` each."""

    def __init__(self, config: ExpertsConfig) -> None:
        super().__init__()
        self.num_experts = config.num_experts
        inward = (config.num_experts, config.expert_dim, config.dim)
        outward = (config.num_experts, config.dim, config.expert_dim)
        self.w1 = nn.Parameter(torch.empty(inward))
        self.w2 = nn.Parameter(torch.empty(outward))
        self.w3 = nn.Parameter(torch.empty(inward))
        for weight in (self.w1, self.w2, self.w3):
            nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)
        self.group: ProcessGroup | None = None
        self.ranks = 1

    def spread(self, group: ProcessGroup) -> None:
        """Keep this rank's experts alone; ``group``'s size divides their
        number."""
        self.group, self.ranks = group, group.size()
        for name in ("w1", "w2", "w3"):
            parts = getattr(self, name).detach().chunk(self.ranks)
            self.register_parameter(name, nn.Parameter(parts[group.rank()]))

    def forward(
        self, rows: torch.Tensor, counts: torch.Tensor
    ) -> torch.Tensor:
        """``rows`` [n, dim], sorted by expert, of which expert ``e`` computes
        ``counts[e]``; returns what they compute, in the same order."""
        if self.group is None:
            return self._compute(rows, counts.cumsum(0))
        received = collectives.all_to_all_single(
            counts, None, None, self.group
        )
        received = received.view(self.ranks, -1)
        sent = counts.view(self.ranks, -1)
        total = received.sum().item()
        sent_sizes = _read_sizes(sent.sum(1), rows.shape[0])
        received_sizes = _read_sizes(received.sum(1), total)
        rows = self._exchange(rows, sent_sizes, received_sizes)
        order = _expert_major(received, total)
        inverse = order.argsort()
        rows = _Reorder.apply(rows, order, inverse)
        rows = self._compute(rows, received.sum(0).cumsum(0))
        rows = _Reorder.apply(rows, inverse, order)
        return self._exchange(rows, received_sizes, sent_sizes)

    def _exchange(
        self, rows: torch.Tensor, sent: list[int], received: list[int]
    ) -> torch.Tensor:
        return collectives.all_to_all_single_autograd(
            rows, received, sent, self.group
        )

    def _compute(
        self, rows: torch.Tensor, ends: torch.Tensor
    ) -> torch.Tensor:
        """Expert ``e`` computes the rows up to ``ends[e]``."""
        ends = ends.to(torch.int32)
        w1, w2, w3 = self.w1, self.w2, self.w3

        def product(x, weight):
            return torch._grouped_mm(x, weight.transpose(1, 2), offs=ends)

        return product(F.silu(product(rows, w1)) * product(rows, w3), w2)


def _read_sizes(sizes: torch.Tensor, total: int) -> list[int]:
    """``sizes``, whose sum is ``total``, from the device.

    The last one is what the others leave: then the sum is ``total`` for a
    compiler too, which knows only names of the sizes.
    """
    first = sizes[:-1].tolist()
    return [*first, total - sum(first)]


def _expert_major(counts: torch.Tensor, rows: int) -> torch.Tensor:
    """The order that puts rows from several ranks, each sorted by expert, in
    the order of the experts. ``counts`` [ranks, experts] adds up to
    ``rows``."""
    ranks, experts = counts.shape
    expert = torch.arange(experts, device=counts.device).repeat(ranks)
    expert = expert.repeat_interleave(counts.flatten(), output_size=rows)
    return expert.argsort(stable=True)


class Mixture(nn.Module):
    """A mixture of experts, and what is computed of all tokens beside it."""

    def __init__(self, config: ExpertsConfig) -> None:
        super().__init__()
        self.top_k = config.top_k
        self.normalize = config.normalize
        self.num_experts = config.num_experts
        self.router = nn.Linear(config.dim, config.num_experts, bias=False)
        self.experts = Experts(config)
        self.shared = (
            FeedForward(config.dim, config.shared_dim)
            if config.shared_dim
            else None
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(0, -2)
        weights, chosen = self._route(tokens)
        order = chosen.argsort(stable=True)
        inverse = order.argsort()
        counts = torch.zeros_like(chosen[: self.num_experts]).scatter_add(
            0, chosen, torch.ones_like(chosen)
        )
        rows = _Spread.apply(tokens, order, inverse, self.top_k)
        rows = self.experts(rows, counts)
        rows = _Reorder.apply(rows, inverse, order)
        rows = rows.unflatten(0, (-1, self.top_k))
        mixed = (rows * weights[..., None]).sum(1)
        if self.shared is not None:
            mixed = mixed + self.shared(tokens)
        return mixed.view(x.shape)

    def _route(self, tokens: torch.Tensor) -> tuple[Any, Any]:
        """The weights [tokens, top_k] of the experts that are chosen, and
        their numbers, flat."""
        scores = self.router(tokens).float().softmax(-1)
        weights, chosen = scores.topk(self.top_k)
        if self.normalize:
            weights = weights / weights.sum(-1, keepdim=True)
        return weights.to(tokens.dtype), chosen.flatten()


class ExpertsBlock(nn.Module):
    """One decoder layer."""

    def __init__(self, config: ExpertsConfig, index: int) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.dim, config.norm_eps)
        self.attention = (
            LatentAttention(
                config.dim, config.num_heads, config.latent, config.norm_eps
            )
            if config.latent
            else Attention(config)
        )
        self.ffn_norm = RMSNorm(config.dim, config.norm_eps)
        self.feed_forward = (
            FeedForward(config.dim, config.dense_dim)
            if index < config.dense_layers
            else Mixture(config)
        )

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.ffn_norm(x))


class ExpertsModel(Decoder):
    """The whole decoder.

    ``forward`` returns a rank's part of the mean loss over all ranks' tokens,
    as many of each rank: the sum over ``ranks`` is the loss, and the sum of
    the gradients its gradient. What an expert computes is of all ranks, so
    gradients cannot be averaged over ranks.
    """

    def __init__(self, config: ExpertsConfig, max_seq_len: int) -> None:
        super().__init__(
            config,
            config.rotary_dim,
            max_seq_len,
            lambda index: ExpertsBlock(config, index),
        )
        self.ranks = 1

    def forward(
        self, tokens: torch.Tensor, labels: torch.Tensor
    ) -> torch.Tensor:
        """``tokens`` and ``labels`` are [batch, seq] integers."""
        cos, sin = self.rotary(tokens.shape[1])
        return self.mean_loss(tokens, labels, cos, sin) / self.ranks
