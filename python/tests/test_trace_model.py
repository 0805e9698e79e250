# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Llama model against an independent reference, and its sharding."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.distributed.tensor import DTensor  # noqa: E402

from commsched.torch import sharding  # noqa: E402
from commsched.torch.tracer.mesh import fake_mesh  # noqa: E402
from decoder_sizes import CONFIGS, LlamaConfig  # noqa: E402
from torch_experts import EXPERTS_CONFIGS, ExpertsModel  # noqa: E402
from torch_llama import Llama  # noqa: E402

SEQUENCE = 24


def make_model(seed=0):
    torch.manual_seed(seed)
    return Llama(CONFIGS["llama3-tiny"], SEQUENCE)


def make_batch(seed=1, batch=2):
    generator = torch.Generator().manual_seed(seed)
    vocab = CONFIGS["llama3-tiny"].vocab_size
    shape = (2, batch, SEQUENCE)
    return torch.randint(vocab, shape, generator=generator).unbind()


def reference_loss(weights, tokens, labels, config):
    """The model once more, by complex rotations and a loop over heads."""
    angles = torch.arange(SEQUENCE)[:, None] * config.rope_theta ** (
        -torch.arange(0, config.head_dim, 2) / config.head_dim
    )
    turns = torch.polar(torch.ones_like(angles), angles)
    causal = torch.tril(torch.ones(SEQUENCE, SEQUENCE)) == 1

    def norm(x, name):
        rms = (x.pow(2).sum(-1) / config.dim + config.norm_eps).sqrt()
        return x / rms[..., None] * weights[name]

    def rotate(x):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns).reshape(x.shape)

    def attention(x, path):
        q, k, v = (x @ weights[f"{path}.w{n}.weight"].T for n in "qkv")
        size, heads = config.head_dim, []
        for head in range(config.num_heads):
            shared = head * config.num_kv_heads // config.num_heads
            own = slice(head * size, (head + 1) * size)
            kv = slice(shared * size, (shared + 1) * size)
            scores = rotate(q[..., own]) @ rotate(k[..., kv]).mT / size**0.5
            scores = scores.masked_fill(~causal, -torch.inf)
            heads.append(scores.softmax(-1) @ v[..., kv])
        return torch.cat(heads, -1) @ weights[f"{path}.wo.weight"].T

    x = weights["embedding.weight"][tokens]
    for layer in range(config.num_layers):
        path = f"layers.{layer}"
        normed = norm(x, f"{path}.attention_norm.weight")
        x = x + attention(normed, f"{path}.attention")
        normed = norm(x, f"{path}.ffn_norm.weight")
        w1, w2, w3 = (
            weights[f"{path}.feed_forward.w{i}.weight"] for i in (1, 2, 3)
        )
        gate = normed @ w1.T
        x = x + (gate * torch.sigmoid(gate) * (normed @ w3.T)) @ w2.T
    logits = norm(x, "norm.weight") @ weights["output.weight"].T
    right = logits.gather(-1, labels[..., None])[..., 0]
    return (logits.logsumexp(-1) - right).mean()


def test_loss_and_gradients_match_reference():
    model = make_model()
    with torch.no_grad():  # All-ones norms would hide a missing weight.
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.uniform_(0.5, 1.5)
    tokens, labels = make_batch()
    weights = {
        name: weight.detach().clone().requires_grad_()
        for name, weight in model.named_parameters()
    }
    loss = model(tokens, labels)
    loss.backward()
    expected = reference_loss(weights, tokens, labels, model.config)
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-6)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(
            weight.grad, weights[name].grad, rtol=1e-4, atol=1e-6, msg=name
        )


@pytest.mark.parametrize(
    "make, config, parameters",
    [
        (Llama, CONFIGS["llama3-8b"], 8_030_261_248),
        (Llama, CONFIGS["llama3-70b"], 70_553_706_496),
        (ExpertsModel, EXPERTS_CONFIGS["deepseek-v3-16b"], 15_706_484_224),
        (ExpertsModel, EXPERTS_CONFIGS["mixtral-8x7b"], 46_702_792_704),
    ],
)
def test_published_parameter_counts(make, config, parameters):
    with torch.device("meta"):
        model = make(config, 16)
    assert sum(p.numel() for p in model.parameters()) == parameters


@pytest.mark.parametrize(
    "sizes, message",
    [
        ((2, 128, 3, 1, 448, 512), "num_heads 3 does not divide dim 128"),
        ((2, 128, 8, 3, 448, 512), "num_kv_heads 3 does not divide num_heads"),
        ((2, 24, 8, 8, 448, 512), "head dimension 3 is odd"),
        ((0, 128, 8, 2, 448, 512), "num_layers must be positive, got 0"),
    ],
)
def test_impossible_sizes_are_errors(sizes, message):
    with pytest.raises(ValueError, match=message):
        LlamaConfig(*sizes)


def test_sharded_model_computes_in_bfloat16_and_keeps_float32():
    """One real rank: the values of a model whose parameters are bfloat16."""
    plain, sharded = make_model(), make_model()
    for parameter in plain.parameters():
        parameter.data = parameter.data.bfloat16()
    tokens, labels = make_batch()
    expected = plain(tokens, labels)
    expected.backward()
    with fake_mesh({"dp": 1}) as mesh:
        sharding.shard_parameters(sharded, mesh)
        loss = sharded(tokens, labels)
        loss.backward()
        assert torch.equal(loss, expected)
        for (name, own), other in zip(
            sharded.named_parameters(), plain.parameters(), strict=True
        ):
            assert isinstance(own, DTensor) and own.dtype == torch.float32
            grad = own.grad.to_local()
            assert grad.dtype == torch.float32
            assert torch.equal(grad, other.grad.float()), name


def test_shards_hold_the_first_rank_slice():
    model = make_model()
    full = {n: p.detach().clone() for n, p in model.named_parameters()}
    with fake_mesh({"dp": 6}) as mesh:  # 6 divides no parameter.
        sharding.shard_parameters(model, mesh)
        for name, parameter in model.named_parameters():
            local = parameter.to_local()
            assert parameter.shape == full[name].shape
            assert local.shape[0] == -(-full[name].shape[0] // 6)
            assert torch.equal(local, full[name][: local.shape[0]])


def test_shared_and_scalar_parameters_are_errors():
    shared = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    shared[1].weight = shared[0].weight
    scalar = nn.Module()
    scalar.scale = nn.Parameter(torch.tensor(1.0))
    with fake_mesh({"dp": 2}) as mesh:
        with pytest.raises(ValueError, match="'1.weight' is shared with '0."):
            sharding.shard_parameters(shared, mesh)
        with pytest.raises(ValueError, match="'scale' has no dimension"):
            sharding.shard_parameters(scalar, mesh)
        # Nothing was sharded before the error.
        assert not isinstance(shared[0].weight, DTensor)
        assert type(shared[0]) is nn.Linear


def test_sharding_twice_is_an_error():
    model = nn.Linear(4, 4)
    with fake_mesh({"dp": 2}) as mesh:
        sharding.shard_parameters(model, mesh)
        with pytest.raises(ValueError, match="'weight' is sharded already"):
            sharding.shard_parameters(model, mesh)


def test_a_mesh_of_two_dimensions_has_names():
    from torch.distributed.device_mesh import DeviceMesh

    with fake_mesh({"dp": 4}):
        mesh = DeviceMesh("cpu", torch.arange(4).view(2, 2))
        with pytest.raises(ValueError, match="2 dimensions without names"):
            sharding.shard_parameters(nn.Linear(4, 4), mesh)


def test_a_module_in_two_places_is_sharded_once():
    layer = nn.Linear(4, 4)
    with fake_mesh({"dp": 2}) as mesh:
        sharding.shard_parameters(nn.Sequential(layer, layer), mesh)
        assert isinstance(layer._parameters["weight"], DTensor)


def test_second_process_group_is_an_error():
    with fake_mesh({"dp": 2}):
        with pytest.raises(RuntimeError, match="already initialized"):
            with fake_mesh({"dp": 2}):
                pass
    with fake_mesh({"dp": 3}) as mesh:
        assert mesh.size() == 3
