# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``examples/models/torch_step.py``: what it writes, and its errors."""

import difflib
import math
import os
import re
from pathlib import Path

import pytest
import torch
import seeds
import torch_step as trace
from commsched import opt
from decoder_sizes import CONFIGS
from torch_step import StepOptions, trace_module

needs_opt = pytest.mark.usefixtures("opt_program")
TINY = ["--model", "llama3-tiny", "--dp", "4", "--seq", "32", "--layers", "1"]


def functions(text):
    """The text of each function of a module, by name."""
    parts = re.split(r"^func\.func @(\w+)", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def flops(text):
    return sum(map(float, re.findall(r"\bflops = ([0-9.e+]+) : f64", text)))


def test_two_processes_write_the_same_text(capsys, run_python):
    assert trace.main(TINY) == 0
    first = capsys.readouterr().out
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    second = run_python("-m", "commsched.torch.trace", *TINY, PYTHONHASHSEED=seed)
    assert second.returncode == 0, second.stderr
    assert first.startswith("commsched.group @")
    assert list(functions(first)) == ["forward", "backward"]
    assert first == second.stdout


def test_a_file_gets_what_standard_output_gets(tmp_path, capsys):
    output = tmp_path / "step.mlir"
    assert trace.main([*TINY, "--joint", "-o", str(output)]) == 0
    assert trace.main([*TINY, "--joint"]) == 0
    text = output.read_text()
    assert capsys.readouterr().out == text
    assert list(functions(text)) == ["joint"]
    # The loss; the gathers that the backward repeats are of one region.
    assert "attributes {commsched.num_forward_outputs = 1 : i64}" in text
    assert "commsched.recompute_region = 0 : i64" in text


def test_large_activations_are_sent_to_the_host():
    text = str(
        trace.trace_module(StepOptions("llama3-tiny", 4, sequence=8192, offload=1))
    )
    if opt.find() is not None:
        opt.run(text)
    forward, backward = functions(text).values()
    host = r"tensor<\S+, #commsched\.host>"
    sent = re.findall(r"%(\S+)_offload = commsched\.offload ", forward)
    taken = re.findall(r"%(\S+)_reload = commsched\.reload ", backward)
    assert len(sent) > 4
    assert sorted(sent) == sorted(taken)
    assert len(re.findall(rf"%\S+_host: {host}", backward)) == len(sent)
    # A megabyte is 2 ** 20 bytes, and smaller ones stay.
    for type_ in re.findall(rf"-> !commsched\.future<({host})>", forward):
        *sizes, element = type_[len("tensor<") :].split(",")[0].split("x")
        width = int(re.sub(r"\D", "", element)) // 8
        assert math.prod(map(int, sizes)) * width >= 1 << 20


def test_names_modules_roles_and_groups():
    text = str(trace.trace_module(StepOptions("llama3-tiny", 16), 4))
    assert re.search(r"group @\w*dp\w* size\(16\) ranks_per_node\(4\)", text)
    forward, backward = functions(text).values()
    gather = r"all_gather %\S+ on @\w*dp\w* dim\(0\) \{.*"
    assert re.search(
        gather + r'commsched\.module = "layers\.1\.attention\.wk".*'
        r"tensor<2x128xbf16> -> !commsched\.future<tensor<32x128xbf16>>",
        forward,
    )
    assert re.search(
        r"reduce_scatter %\S+ on @\w*dp\w* reduction\(avg\) dim\(0\) \{.*"
        r'commsched\.module = "layers\.1\.attention\.wk".*'
        r"tensor<32x128xf32> -> !commsched\.future<tensor<2x128xf32>>",
        backward,
    )
    names = re.findall(r'commsched\.name = "([^"]*)"', forward)
    assert names and len(names) == len(set(names))
    # The same operation carries the name that the joint graph gave it.
    assert 'commsched.name = "all_gather_into_tensor_1"' in backward

    def roles(function):
        signature = function.splitlines()[0]
        return re.findall(r'commsched\.role = "(\w+)"', signature)

    assert roles(forward).count("input") == 2  # Tokens and labels.
    assert roles(backward).count("tangent") == 1
    assert roles(backward).count("parameter") >= 21
    assert "saved_activation" in roles(backward)
    assert "saved_activation" not in roles(forward)


def test_flops_are_those_of_the_formula():
    """2 flops for each matmul weight and token forward and 4 backward.

    Attention's two matrix products add 4 s^2 d, counted without the causal
    mask; its backward has five, one of them repeating the forward's scores.
    """
    sequence, layers = 8192, 2
    options = StepOptions("llama3-8b", 64, sequence=sequence, layers=layers)
    forward, backward = functions(str(trace.trace_module(options))).values()
    config = CONFIGS["llama3-8b"]
    attention = 2 * config.dim * (config.dim + config.kv_dim)
    weights = layers * (attention + 3 * config.dim * config.ffn_dim)
    weights += config.dim * config.vocab_size
    scores = layers * sequence**2 * config.dim
    expected = 2 * weights * sequence + 4 * scores
    assert flops(forward) == pytest.approx(expected, rel=1e-9)
    expected = 4 * weights * sequence + 10 * scores
    assert flops(backward) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("args, status, message", [
    (["--dp", "0"], 2, "argument --dp: '0' is not a positive integer"),
    (["--dp", "many"], 2, "argument --dp: 'many' is not a positive integer"),
    (["--seq", "1.5"], 2, "argument --seq: '1.5' is not a positive integer"),
    (["--layers", "-1"], 2, "argument --layers: '-1' is not a positive"),
    (["--model", "llama9"], 2, "invalid choice: 'llama9'"),
    (["--partitioner", "x"], 2, "invalid choice: 'x'"),
    (["--dp", "1", "--tp", "3"], 1, "tensor 3 does not divide sequence 32"),
])
def test_bad_arguments_are_errors(args, status, message, capsys):
    try:
        ended = trace.main([*TINY, *args])
    except SystemExit as error:
        ended = error.code
    assert ended == status
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""


@pytest.mark.parametrize("path, message, program", [
    ("missing/step.mlir", "missing/step.mlir: No such file", None),
    ("file/step.mlir", "Not a directory", None),
    # Bytecode needs commsched-opt.
    ("step.mlirbc", "COMMSCHED_OPT", "/nowhere"),
])
def test_unwritable_output_is_an_error_before_the_work(
    path, message, program, tmp_path, capsys, monkeypatch
):
    (tmp_path / "file").touch()
    if program:
        monkeypatch.setenv("COMMSCHED_OPT", program)
    monkeypatch.setattr(
        trace, "trace_module", lambda *_: pytest.fail("traced all the same")
    )
    assert trace.main([*TINY, "-o", str(tmp_path / path)]) == 1
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@needs_opt
def test_bytecode_is_the_text_it_was_made_of(tmp_path):
    output = tmp_path / "step.mlirbc"
    assert trace.main([*TINY, "-o", str(output)]) == 0
    data = output.read_bytes()
    assert data.startswith(b"ML\xefR")
    text = str(trace.trace_module(StepOptions("llama3-tiny", 4, sequence=32, layers=1)))
    assert opt.run_bytes(data).decode() == opt.run(text)


DENSE = ["--model", "llama3-tiny", "--seq", "32", "--layers", "1"]
EXPERTS = ["--model", "experts-tiny", "--seq", "32"]
#: Options of each kind of parallelism, and how many are tried at once.
VARIANTS = [
    ([*DENSE, "--dp", "4"], 3, [
        "--joint",
        "--dp 24",  # Shards are padded.
        "--dp 1",
        "--dp 40",  # The last ranks have no keys and values.
        "--replicas 2",
        "--no-reshard-after-forward",
        "--partitioner default",
        "--batch 3 --seq 17",
    ]),
    ([*DENSE, "--tp", "2"], 1, ["--dp 1", "--dp 3 --replicas 2", "--joint --batch 3"]),
    (EXPERTS, 1, ["--ep 4", "--ep 2 --dp 3 --joint", "--dp 2"]),
]


@needs_opt
@pytest.mark.parametrize(
    "args",
    [
        [*common, *options.split()]
        for common, count, variants in VARIANTS
        for options in seeds.turns(variants, count)
    ],
    ids=" ".join,
)
def test_commsched_opt_accepts_every_variant(args, capsys):
    assert trace.main(args) == 0
    opt.run(capsys.readouterr().out)


def dense(**options):
    return lambda: StepOptions("llama3-tiny", 2, **options)


def experts(**options):
    options = {"experts": 2, **options}
    return lambda: StepOptions("experts-tiny", 1, **options)


@pytest.mark.parametrize("make, message", [
    (lambda: StepOptions("llama3-tiny", 0), "shards must be positive, got"),
    (dense(replicas=0), "replicas must be positive, got 0"),
    (dense(sequence=0), "sequence must be positive, got 0"),
    (dense(batch=0), "batch must be positive, got 0"),
    (dense(tensor=0), "tensor must be positive, got 0"),
    (dense(sequence=16, tensor=3), "tensor 3 does not divide sequence 16"),
    (dense(tensor=4), "tensor 4 does not divide num_kv_heads 2"),
    (dense(experts=2), "experts is 2, but .* no experts"),
    (experts(experts=3), "experts 3 does not divide the 8 experts of mod"),
    (experts(imbalance=0.5), "imbalance 0.5 is not between 1 and the 2 ra"),
    (experts(imbalance=3.0), "imbalance 3.0 is not between 1 and the 2 ra"),
    (experts(tensor=2), "tensor is 2, but model 'experts-tiny' has expert"),
    (dense(optimizer="sgd"), "unknown optimizer 'sgd' .known: none, adamw"),
    (dense(optimizer="adamw", clip_grad_norm=0.0),
     "clip_grad_norm must be positive, got 0.0"),
    (dense(optimizer="adamw", clip_grad_norm=math.nan),
     "clip_grad_norm must be positive, got nan"),
    (dense(clip_grad_norm=1.0), "clip_grad_norm is 1.0, but the step has no optimizer"),
])
def test_options_that_make_no_sense_are_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -- The traced steps in ``examples/`` are what the tracer writes today.


EXAMPLES = Path(__file__).parents[2] / "examples"

#: Another release of PyTorch may trace other operations.
TRACED_WITH = "2.13."


@pytest.mark.skipif(
    not torch.__version__.startswith(TRACED_WITH),
    reason=f"the examples were traced with PyTorch {TRACED_WITH}x",
)
@pytest.mark.usefixtures("opt_program")
def test_two_layer_example_is_up_to_date():
    data = (EXAMPLES / "llama3-2layer-fsdp64.mlirbc").read_bytes()
    checked_in = opt.run_bytes(data).decode()
    options = StepOptions("llama3-8b", 64, sequence=8192, layers=2)
    traced = opt.run_bytes(str(trace_module(options)).encode()).decode()
    difference = list(
        difflib.unified_diff(
            checked_in.splitlines(), traced.splitlines(), n=0, lineterm=""
        )
    )
    shown = "\n".join(line[:200] for line in difference[:20])
    assert not difference, (
        f"{shown}\nwrite the examples anew as examples/README.md says"
    )


def example(name, most):
    """The functions of an example of at most so many bytes, as text."""
    data = (EXAMPLES / f"{name}.mlirbc").read_bytes()
    assert len(data) < most
    return re.split(r"func\.func (?:private )?@", opt.run_bytes(data).decode())[1:]


def counts(text):
    return [text.count(f"commsched.{kind} ") for kind in ("all_gather", "reduce_scatter")]


@needs_opt
def test_examples_are_whole_steps():
    parameters = 3 + 9 * 32
    forward, backward = example("llama3-8b-fsdp64", 2 << 20)
    # The embedding's gradient does not need the table again.
    assert counts(forward) == [parameters, 0]
    assert counts(backward) == [parameters - 1, parameters]
    _, _, optimizer, step = example("llama3-8b-adamw-fsdp64", 600 << 10)
    # Parameters, two states of each, and the number of the step.
    assert step.count("commsched.carried = ") == 3 * parameters + 1
    assert re.findall(r"call @(\w+)", step) == ["forward", "backward", "optimizer"]
    assert optimizer.count('"aten.addcdiv"') == parameters
    # Before and behind attention and the feed-forward network of 32 layers;
    # before the output projection, and behind the embedding.
    forward, backward = example("llama3-8b-tp8", 500 << 10)
    assert counts(forward) == counts(backward) == [65, 65]
    # Products say how they can be split.
    products = re.findall(r'"aten\.mm".*', forward + backward)
    assert len(products) == 32 * 7 * 3 + 3
    assert all('split = "a b, b c -> a c"' in product for product in products)
