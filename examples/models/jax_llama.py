# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Llama 3 decoder as functions of JAX whose parameters are sharded.

Pre-normalised transformer blocks: RMSNorm, rotary position embedding,
grouped-query attention and a SwiGLU feed-forward network, an untied output
projection, and the mean cross-entropy loss over every token. All functions are
for the inside of a `jax.shard_map`: a parameter is the shard of one device,
which `gather` makes whole where it is needed.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from decoder_sizes import LlamaConfig

#: Name of the mesh axis that parameters and batches are sharded over.
AXIS = "fsdp"

#: How many queries attend at once: scores of that many rows exist at one time.
ATTENTION_BLOCK = 2048


# -- Parameters ------------------------------------------------------------


def layer_shapes(config: LlamaConfig) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of one layer's parameters, unsharded."""
    kv_dim = config.num_kv_heads * config.head_dim
    return {
        "attention_norm": (config.dim,),
        "wq": (config.dim, config.dim),
        "wk": (config.dim, kv_dim),
        "wv": (config.dim, kv_dim),
        "wo": (config.dim, config.dim),
        "ffn_norm": (config.dim,),
        "w1": (config.dim, config.ffn_dim),
        "w3": (config.dim, config.ffn_dim),
        "w2": (config.ffn_dim, config.dim),
    }


def parameter_shapes(config: LlamaConfig, stacked: bool) -> dict[str, Any]:
    """Returns the shapes of all parameters, unsharded: of each layer, or with
    `stacked` of all layers in one array with the layer as its first index."""
    layer = layer_shapes(config)
    if stacked:
        layers: Any = {
            name: (config.num_layers, *shape) for name, shape in layer.items()
        }
    else:
        layers = [layer] * config.num_layers
    return {
        "embedding": (config.vocab_size, config.dim),
        "layers": layers,
        "norm": (config.dim,),
        "output": (config.dim, config.vocab_size),
    }


@jax.custom_vjp
def gather(shard: jax.Array) -> jax.Array:
    """Gathers a parameter along its first dimension, in bfloat16; its
    gradient is reduce-scattered in the type of the shard."""
    return lax.all_gather(shard.astype(jnp.bfloat16), AXIS, tiled=True)


def _gather_backward(_: Any, gradient: jax.Array) -> tuple[jax.Array]:
    return (scatter(gradient),)


def scatter(gradient: jax.Array) -> jax.Array:
    """Sums a gradient over the devices in float32; each keeps its shard."""
    gradient = gradient.astype(jnp.float32)
    return lax.psum_scatter(gradient, AXIS, tiled=True)


gather.defvjp(lambda shard: (gather(shard), None), _gather_backward)


@jax.custom_vjp
def linear(x: jax.Array, shard: jax.Array) -> jax.Array:
    """Multiplies `x` [batch, seq, in] with a gathered parameter [in, out],
    which the backward gathers again."""
    return _contract(x, (2,), gather(shard), (0,))


def _contract(a: jax.Array, axes: tuple, b: jax.Array, others: tuple):
    """Multiplies and sums over axes of `a` and of `b`, without a transpose."""
    return lax.dot_general(a, b, ((axes, others), ((), ())))


def _linear_backward(saved: tuple, gradient: jax.Array) -> tuple:
    x, shard = saved
    # Without the barrier XLA would find that the parameter was gathered
    # before, and keep it. The gradient is no part of it: the second gather
    # may start before there is one.
    weight = gather(lax.optimization_barrier(shard))
    of_weight = _contract(x, (0, 1), gradient, (0, 1))
    return _contract(gradient, (2,), weight, (1,)), scatter(of_weight)


linear.defvjp(lambda x, shard: (linear(x, shard), (x, shard)), _linear_backward)


# -- The model -------------------------------------------------------------


@functools.partial(jax.checkpoint, static_argnums=(2,))
def rms_norm(x: jax.Array, weight: jax.Array, eps: float) -> jax.Array:
    """`x / rms(x) * weight`, the root mean square taken in float32."""
    x32 = x.astype(jnp.float32)
    scale = lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + eps)
    return (x32 * scale).astype(x.dtype) * weight


@functools.partial(jax.checkpoint, static_argnums=(1,))
def rotate(x: jax.Array, theta: float) -> jax.Array:
    """Rotates the halves of each head of `x` [batch, seq, heads, head_dim] by
    the angles of its position (Su et al., "RoFormer", 2021, section 3.2.2)."""
    head_dim = x.shape[-1]
    # In float64: powers in float32 differ between processors in their last bit.
    frequencies = theta ** -(np.arange(0, head_dim, 2) / head_dim)
    positions = jnp.arange(x.shape[1], dtype=jnp.float32)
    angles = positions[:, None, None] * jnp.asarray(frequencies, jnp.float32)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    turned = (first * cos - second * sin, first * sin + second * cos)
    return jnp.concatenate(turned, axis=-1).astype(x.dtype)


@functools.partial(jax.checkpoint, static_argnums=(3,))
def attend(q: jax.Array, k: jax.Array, v: jax.Array, first: int) -> jax.Array:
    """Causal attention of queries that begin at position `first`; the scores
    are computed again in the backward.

    Takes q [batch, queries, kv_heads, heads of each, head_dim] and
    k, v [batch, keys, kv_heads, head_dim]; gives the shape of q.
    """
    scores = jnp.einsum(
        "bqhgd,bkhd->bhqgk", q, k, preferred_element_type=jnp.float32
    )
    rows = first + jnp.arange(q.shape[1])
    visible = rows[:, None, None] >= jnp.arange(k.shape[1])
    scores = jnp.where(visible, scores * q.shape[-1] ** -0.5, -1e30)
    scores = jnp.exp(scores - lax.stop_gradient(scores.max(-1, keepdims=True)))
    scores = scores / scores.sum(-1, keepdims=True)
    return jnp.einsum("bhqgk,bkhd->bqhgd", scores.astype(v.dtype), v)


def attention(config: LlamaConfig, layer: dict, x: jax.Array) -> jax.Array:
    """Causal grouped-query attention with rotary positions. A block of
    queries attends to the keys up to its own end."""
    batch, seq, _ = x.shape

    def heads(name: str, count: int) -> jax.Array:
        y = linear(x, layer[name])
        return y.reshape(batch, seq, count, config.head_dim)

    q = rotate(heads("wq", config.num_heads), config.rope_theta)
    k = rotate(heads("wk", config.num_kv_heads), config.rope_theta)
    v = heads("wv", config.num_kv_heads)
    q = q.reshape(batch, seq, config.num_kv_heads, -1, config.head_dim)
    blocks = []
    for first in range(0, seq, ATTENTION_BLOCK):
        end = min(first + ATTENTION_BLOCK, seq)
        blocks.append(attend(q[:, first:end], k[:, :end], v[:, :end], first))
    y = jnp.concatenate(blocks, axis=1) if len(blocks) > 1 else blocks[0]
    return linear(y.reshape(batch, seq, config.dim), layer["wo"])


@jax.checkpoint
def swiglu(gate: jax.Array, up: jax.Array) -> jax.Array:
    """`gate * sigmoid(gate) * up`."""
    return gate * jax.nn.sigmoid(gate) * up


def decoder_layer(config: LlamaConfig, layer: dict, x: jax.Array) -> jax.Array:
    """One block of the decoder."""
    h = rms_norm(x, gather(layer["attention_norm"]), config.norm_eps)
    x = x + attention(config, layer, h)
    h = rms_norm(x, gather(layer["ffn_norm"]), config.norm_eps)
    h = swiglu(linear(h, layer["w1"]), linear(h, layer["w3"]))
    return x + linear(h, layer["w2"])


@jax.checkpoint
def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """The sum over all tokens of this device, taken in float32."""
    logits = logits.astype(jnp.float32)
    highest = lax.stop_gradient(logits.max(-1, keepdims=True))
    total = jnp.log(jnp.exp(logits - highest).sum(-1)) + highest[..., 0]
    classes = jnp.arange(logits.shape[-1])
    chosen = jnp.where(labels[..., None] == classes, logits, 0.0).sum(-1)
    return (total - chosen).sum()


def forward(
    config: LlamaConfig,
    parameters: dict,
    tokens: jax.Array,
    labels: jax.Array,
) -> jax.Array:
    """This device's sum of losses over its [batch, seq] tokens.

    The backward gathers parameters again, and computes again what is cheap:
    norms, rotations, scores of the attention, the SwiGLU, the softmax.
    """
    x = gather(parameters["embedding"])[tokens]
    layers = parameters["layers"]
    if isinstance(layers, list):
        for layer in layers:
            x = decoder_layer(config, layer, x)
    else:
        x, _ = lax.scan(
            lambda x, layer: (decoder_layer(config, layer, x), None), x, layers
        )
    x = rms_norm(x, gather(parameters["norm"]), config.norm_eps)
    return cross_entropy(linear(x, parameters["output"]), labels)
