# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models: programs of the operators that networks are made of."""

import random

import torch
from torch import nn
from torch.nn import functional

POINTWISE = (
    torch.sin, torch.exp, torch.tanh, torch.sigmoid, functional.relu,
    functional.gelu, functional.silu, torch.abs, torch.square,
    lambda x: x * 0.5, lambda x: x + 1, lambda x: torch.where(x > 0, x, -x),
)
BINARY = (
    torch.add, torch.mul, torch.sub, torch.maximum,
    lambda x, y: x / (1 + y.abs()),
)
REDUCTIONS = (torch.sum, torch.mean, torch.amax, torch.var)
# So many rows that activations are larger than parameters, as they usually are:
# then a memory budget has something to choose.
ROWS, WIDTHS = (256, 512, 1024), (32, 64, 128)


class RandomModel(nn.Module):
    """A program that `seed` determines, on matrices of a few sizes.

    It keeps a list of values. Each step takes late ones more often than early
    ones, so that there are long chains, with residual connections and values
    used far from where they were made.
    """

    def __init__(self, seed: int):
        super().__init__()
        self._seed = seed
        draw = random.Random(seed)
        self._rows = draw.choice(ROWS)
        self._steps = draw.randint(6, 40)
        self.input_shape = (self._rows, draw.choice(WIDTHS))
        for width in WIDTHS:
            self.register_parameter(
                f"scale_{width}", nn.Parameter(torch.empty(width))
            )
            for other in WIDTHS:
                self.register_parameter(
                    f"weight_{width}_{other}",
                    nn.Parameter(torch.empty(width, other)),
                )

    def forward(self, x):
        draw = random.Random(self._seed + 1)
        values = [x]
        for _ in range(self._steps):
            chosen = values[-1]
            if draw.random() < 0.25:
                chosen = draw.choice(values)
            values.append(self._step(draw, chosen, values))
        results = [v.sum() for v in draw.sample(values, min(3, len(values)))]
        return values[-1].mean() + sum(results)

    def _step(self, draw, x, values):
        kind = draw.choices(
            ("pointwise", "binary", "matrix", "weights", "soft-max", "norm",
             "shape", "cat", "reduction"),
            (8, 6, 4, 2, 1, 2, 3, 1, 2),
        )[0]
        width = x.shape[1]
        if kind == "pointwise":
            return draw.choice(POINTWISE)(x)
        if kind == "binary":
            alike = [v for v in values if v.shape == x.shape]
            return draw.choice(BINARY)(x, draw.choice(alike))
        if kind == "matrix":
            weight = f"weight_{width}_{draw.choice(WIDTHS)}"
            return x @ self._parameters[weight]
        if kind == "weights":
            return x * self._parameters[f"scale_{width}"]
        if kind == "soft-max":
            return (x @ x.t() * width**-0.5).softmax(-1) @ x
        if kind == "norm":
            scale = self._parameters[f"scale_{width}"]
            return functional.layer_norm(x, [width], scale)
        if kind == "shape":
            return self._reshape(draw, x)
        if kind == "cat":
            half = width // 2
            parts = (x[:, :half], torch.tanh(x[:, half:]))
            return torch.cat(draw.sample(parts, 2), 1)
        reduced = draw.choice(REDUCTIONS)(x, draw.choice((0, 1)), keepdim=True)
        return x - reduced

    def _reshape(self, draw, x):
        """As heads, which are moved or scaled, and back."""
        heads = x.view(self._rows, 4, -1)
        way = draw.randrange(3)
        if way == 0:
            moved = heads.transpose(1, 2).reshape(x.shape)
        elif way == 1:
            moved = (heads * heads.sum(2, keepdim=True)).view(x.shape)
        else:
            moved = heads.permute(1, 0, 2).contiguous().permute(1, 0, 2)
            moved = moved.reshape(x.shape)
        return moved
