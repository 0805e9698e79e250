# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models, and training steps of them with a given partitioner."""

import copy
import functools

import torch
from captures import Capture, aot_backend
from torch import nn
from torch._functorch.partitioners import default_partition
from torch.nn import functional as F
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

_aten = torch.ops.aten


class Block(nn.Module):
    """A perceptron with a norm and dropout."""

    def __init__(self, width=16):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        return x + self.drop(self.down(F.gelu(self.up(self.norm(x)))))


class Checkpointed(nn.Module):
    """Blocks that are computed again in the backward, dropout included, but
    for matrix products."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        contexts = functools.partial(
            create_selective_checkpoint_contexts, _save_products
        )
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False, context_fn=contexts)
        return x


def _save_products(_context, operator, *_args, **_kwargs):
    if operator is _aten.addmm.default:
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.MUST_RECOMPUTE


class Attention(nn.Module):
    """Causal attention with four heads."""

    def __init__(self, width=32):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 3 * width)
        self.outer = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape

        def heads(part):
            return part.view(batch, length, 4, width // 4).transpose(1, 2)

        parts = map(heads, self.inner(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(*parts, is_causal=True)
        return x + self.outer(y.transpose(1, 2).reshape(x.shape))


class Written(nn.Module):
    """Writes buffers in place, and returns views, inputs and None."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 16))
        self.register_buffer("mean", torch.ones(16))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.mean.mul_(0.9).add_(x.mean(0) * 0.1)
        self.count += 1
        y = torch.tanh(x @ self.weight) * self.mean
        return y, x.view(-1), None, self.mean, y.t()


class Outputs(nn.Module):
    """Frozen parameters, an output without a gradient, and a size that only
    the values decide."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(16, 16)
        self.outer = nn.Linear(16, 16)
        self.outer.weight.requires_grad_(False)

    def forward(self, x):
        y = self.outer(F.gelu(self.inner(x)))
        chosen = y[x[:, 0] > 0].sin().tanh()
        return chosen, y.argmax(-1), x[1:], y.cos()


def perceptron():
    return nn.Sequential(
        nn.Linear(16, 64),
        nn.GELU(),
        nn.LayerNorm(64),
        nn.Dropout(0.3),
        nn.Linear(64, 16),
        nn.BatchNorm1d(16),
    )


def attention():
    return nn.Sequential(Attention(), Attention())


def deep():
    """Cheap operations on large activations."""
    layers = [(nn.Linear(8, 8), nn.GELU(), nn.Tanh()) for _ in range(4)]
    return nn.Sequential(*(layer for group in layers for layer in group))


#: By name: what makes the model, the shapes of its inputs in each step, and
#: what torch.compile is told of dynamic shapes.
MODELS = {
    "perceptron": (perceptron, [(8, 16)] * 2, None),
    "checkpointed": (Checkpointed, [(8, 16)] * 2, False),
    "attention": (attention, [(2, 8, 32)] * 2, False),
    "dynamic": (Attention, [(2, 8, 32), (3, 16, 32)], True),
    "deep": (deep, [(256, 8)] * 2, False),
    "outputs": (Outputs, [(8, 16)] * 2, False),
    "written": (Written, [(8, 16)] * 2, None),
}


class Trained:
    """What a few steps gave.

    values:  in each step the output, the gradients and the buffers.
    forward, backward: the graphs.
    outputs: how many of the forward's outputs are its own.
    """

    def __init__(self, model, inputs, partition, dynamic=None):
        capture = Capture()

        def partitioned(joint, joint_inputs, **settings):
            self.outputs = settings["num_fwd_outputs"]
            return partition(joint, joint_inputs, **settings)

        backend = aot_backend(capture, partition_fn=partitioned)
        torch._dynamo.reset()
        step = torch.compile(model, backend=backend, fullgraph=True, dynamic=dynamic)
        self.values = train(step, model, inputs)
        self.forward, self.backward = (graph for _, graph in capture.graphs[:2])

    @property
    def saved(self):
        """The saved nodes, but those that are inputs."""
        saved = self.forward.graph.output_node().args[0][self.outputs :]
        return [node for node in saved if node.op != "placeholder"]

    @property
    def saved_bytes(self):
        """The bytes of saved storages that are not those of inputs."""
        held = {key: size for node in self.saved for key, size in _held(node)}
        for node in self.forward.graph.find_nodes(op="placeholder"):
            for key, _ in _held(node):
                held.pop(key, None)
        return sum(held.values())


def _held(node):
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        yield storage._cdata, storage.nbytes()


def train(step, model, inputs, seed=0):
    torch.manual_seed(seed)
    values = []
    for x in inputs:
        model.zero_grad()
        y = step(x)
        y = y[0] if isinstance(y, tuple) else y
        (y * y).sum().backward()
        values.append([y.detach().clone()])
        gradients = [p.grad for p in model.parameters()]
        values[-1] += [g.clone() for g in gradients if g is not None]
        values[-1] += [b.clone() for b in model.buffers()]
    return values


def case(name):
    """A model of MODELS, its inputs, and what it is compiled with."""
    make, shapes, dynamic = MODELS[name]
    torch.manual_seed(1)
    model = make()
    return model, [torch.randn(shape) for shape in shapes], dynamic


def joint_graph(name="attention", dtype=torch.float32):
    """A joint graph, and how many outputs are the forward's."""
    joint, count = _joint_graph(name, dtype)
    return copy.deepcopy(joint), count


@functools.cache
def _joint_graph(name, dtype):
    model, inputs, dynamic = case(name)
    found = []

    def partition(joint, joint_inputs, **settings):
        found.extend((copy.deepcopy(joint), settings["num_fwd_outputs"]))
        return default_partition(joint, joint_inputs, **settings)

    Trained(model.to(dtype), [x.to(dtype) for x in inputs], partition, dynamic)
    return found[:2]


def are_equal(one, other):
    return all(
        torch.equal(a, b)
        for left, right in zip(one, other, strict=True)
        for a, b in zip(left, right, strict=True)
    )
