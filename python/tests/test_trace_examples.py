# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The traced steps in ``examples/`` are what the tracer writes today."""

import difflib
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from commsched import opt  # noqa: E402
from commsched.torch import trace  # noqa: E402
from commsched.torch.tracer.step import StepOptions  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Another release of PyTorch may trace other operations.
TRACED_WITH = "2.13."


@pytest.mark.skipif(
    not torch.__version__.startswith(TRACED_WITH),
    reason=f"the examples were traced with PyTorch {TRACED_WITH}x",
)
def test_two_layer_example_is_up_to_date():
    checked_in = (EXAMPLES / "llama3-2layer-fsdp64.mlir").read_text()
    options = StepOptions("llama3-8b", 64, sequence=8192, layers=2)
    traced = str(trace.trace_module(options))
    difference = list(
        difflib.unified_diff(
            checked_in.splitlines(), traced.splitlines(), n=0, lineterm=""
        )
    )
    shown = "\n".join(line[:200] for line in difference[:20])
    assert not difference, (
        f"{shown}\nwrite the examples anew as examples/README.md says"
    )


@pytest.mark.skipif(opt.find() is None, reason="commsched-opt is not on PATH")
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
