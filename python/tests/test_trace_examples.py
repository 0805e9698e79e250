# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The traced steps in ``examples/`` are what the tracer writes today."""

import difflib
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from commsched import opt  # noqa: E402
from torch_step import StepOptions, trace_module  # noqa: E402

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


@pytest.mark.usefixtures("opt_program")
def test_8b_example_is_a_whole_step():
    data = (EXAMPLES / "llama3-8b-fsdp64.mlirbc").read_bytes()
    assert len(data) < 2 << 20
    text = opt.run_bytes(data).decode()
    forward, backward = re.split(r"func\.func @", text)[1:]
    parameters = 3 + 9 * 32
    # The embedding's gradient does not need the table again.
    assert forward.count("commsched.all_gather ") == parameters
    assert backward.count("commsched.all_gather ") == parameters - 1
    assert backward.count("commsched.reduce_scatter ") == parameters


@pytest.mark.usefixtures("opt_program")
def test_adamw_example_is_a_step_that_repeats():
    data = (EXAMPLES / "llama3-8b-adamw-fsdp64.mlirbc").read_bytes()
    assert len(data) < 600 << 10
    text = opt.run_bytes(data).decode()
    _, _, _, optimizer, step = re.split(r"func\.func (?:private )?@", text)
    parameters = 3 + 9 * 32
    # Parameters, two states of each, and the number of the step.
    assert step.count("commsched.carried = ") == 3 * parameters + 1
    assert re.findall(r"call @(\w+)", step) == [
        "forward", "backward", "optimizer"
    ]
    assert optimizer.count('"aten.addcdiv"') == parameters


@pytest.mark.usefixtures("opt_program")
def test_tensor_parallel_example_is_a_whole_step():
    data = (EXAMPLES / "llama3-8b-tp8.mlirbc").read_bytes()
    assert len(data) < 500 << 10
    text = opt.run_bytes(data).decode()
    forward, backward = re.split(r"func\.func @", text)[1:]
    # Before and behind attention and the feed-forward network of 32 layers;
    # before the output projection, and behind the embedding.
    assert forward.count("commsched.all_gather ") == 65
    assert forward.count("commsched.reduce_scatter ") == 65
    assert backward.count("commsched.all_gather ") == 65
    assert backward.count("commsched.reduce_scatter ") == 65
    # Products say how they can be split.
    products = re.findall(r'"aten\.mm".*', text)
    assert len(products) == 32 * 7 * 3 + 3
    assert all('split = "a b, b c -> a c"' in product for product in products)
