# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training steps of test/Equivalence on four ranks, against PyTorch's
autograd on the whole model in one process.

What the equivalence tests compare are two versions of one program; here is
where the program itself is right.
"""

import subprocess
import sys
from pathlib import Path

import pytest


np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
functional = torch.nn.functional

sys.path.append(str(Path(__file__).parents[2] / "test" / "Equivalence" / "Inputs"))
import transformer_step as generator  # noqa: E402

RANKS = 4


@pytest.fixture
def runner(built):
    """The path of commsched-run."""
    return built("commsched-run")


# The model.


def rms_norm(x, weight):
    mean = (x * x).mean(-1, keepdim=True)
    return x * torch.rsqrt(mean + 1e-5) * weight


def attention(params, prefix, x):
    normed = rms_norm(x, params[f"{prefix}.attention_norm"])
    query, key, value = (
        (normed @ params[f"{prefix}.attention.{name}"].T)
        .view(len(x), generator.HEADS, -1)
        .transpose(0, 1)
        for name in ("wq", "wk", "wv")
    )
    heads = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    joined = heads.transpose(0, 1).reshape(len(x), -1)
    return joined @ params[f"{prefix}.attention.wo"].T


def feed_forward(params, prefix, x):
    gate = functional.silu(x @ params[f"{prefix}.w1"].T)
    return (gate * (x @ params[f"{prefix}.w3"].T)) @ params[f"{prefix}.w2"].T


def run_model(params, layers, tokens, targets):
    x = params["embedding"][tokens]
    for index in range(layers):
        prefix = f"layers.{index}"
        x = x + attention(params, prefix, x)
        normed = rms_norm(x, params[f"{prefix}.ffn_norm"])
        x = x + feed_forward(params, f"{prefix}.feed_forward", normed)
    logits = rms_norm(x, params["norm"]) @ params["output"].T
    return functional.cross_entropy(logits, targets)


# The runs.


def make_parameters(shapes):
    """Numbers that bf16 has."""
    return {
        name: (
            1 + torch.randn(shape) / 8
            if len(shape) == 1
            else torch.randn(shape) * shape[-1] ** -0.5
        )
        .bfloat16()
        .float()
        .requires_grad_()
        for name, shape in shapes.items()
    }


class Case:
    """One step, its arguments, and what autograd makes of them."""

    def __init__(self, step, layers):
        torch.manual_seed(0)
        self.step = step
        self.params = make_parameters(
            {name: type.shape for name, type in step.params.types.items()}
        )
        shape = RANKS, 2, generator.TOKENS
        self.words = torch.randint(generator.VOCABULARY, shape)
        losses = [run_model(self.params, layers, *words) for words in self.words]
        self.loss = sum(losses) / RANKS
        self.loss.backward()

    def shard(self, whole, rank):
        size = self.step.params.size
        return whole.detach().chunk(size)[rank % size]

    def arguments(self, rank):
        values = [self.shard(p, rank) for p in self.params.values()]
        return [value.numpy() for value in (*values, *self.words[rank])]

    def results(self, rank):
        """The loss; of parameters the gradients, or what they are after them."""
        yield self.loss.detach()
        for parameter in self.params.values():
            gradient = self.shard(parameter.grad, rank)
            if self.step.optimizer == "sgd":
                gradient = self.shard(parameter, rank) - generator.RATE * gradient
            yield gradient


def run_step(runner, folder, case):
    for rank in range(RANKS):
        (folder / f"rank{rank}").mkdir()
        for index, value in enumerate(case.arguments(rank)):
            np.save(folder / f"rank{rank}" / f"arg{index}.npy", value)
    program = folder / "step.mlir"
    program.write_text(case.step.write())
    subprocess.run(
        [
            runner,
            program,
            f"--ranks={RANKS}",
            "--opt-level=0",
            f"--inputs-dir={folder}",
            f"--output-dir={folder / 'out'}",
            "-o",
            "/dev/null",
        ],
        check=True,
        timeout=60,
    )


@pytest.mark.parametrize("options, tolerance", [
    ("--sharding=plain --optimizer=none", 1e-4),
    ("--sharding=hybrid --optimizer=sgd", 1e-4),
    ("--sharding=mixed --optimizer=none", 1e-2),
    ("--sharding=packed --optimizer=none", 1e-2),
    ("--sharding=stored --optimizer=none", 1e-2),
])
def test_step_is_what_autograd_computes(runner, tmp_path, options, tolerance):
    case = Case(generator.parse_step(options.split()), layers=2)
    run_step(runner, tmp_path, case)
    for rank in range(RANKS):
        for index, expected in enumerate(case.results(rank)):
            file = tmp_path / "out" / f"rank{rank}" / f"result{index}.npy"
            result = torch.from_numpy(np.load(file))
            assert result.shape == expected.shape
            error = (result - expected).abs().max()
            assert error <= tolerance * expected.abs().max(), (rank, index)
