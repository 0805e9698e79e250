# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of the ways into torch.compile."""

import dataclasses
import math

import pytest
import torch
from commsched.torch.compiling.backend import commsched
from commsched.torch.compiling import records
from commsched.torch import (
    Options,
    OptionsError,
    inductor_options,
    runtime_estimator,
    schedule_pass,
)


def test_a_dictionary_becomes_options():
    options = Options.of({"memory_budget": "10%", "inner": "eager"})
    assert options == Options(memory_budget="10%", inner="eager")
    assert Options.of(None) == Options()
    assert Options.of(options) is options


def test_an_unknown_option_is_an_error_with_the_known_ones():
    for given in (
        Options.of,
        lambda options: inductor_options(**options),
        lambda options: runtime_estimator(**options),
        lambda options: schedule_pass(**options),
    ):
        with pytest.raises(OptionsError) as error:
            given({"memory_buget": "5%"})
        assert "'memory_buget'" in str(error.value)
        for field in dataclasses.fields(Options):
            assert field.name in str(error.value)


@pytest.mark.parametrize("name, value", [
    ("memory_budget", "5 percent"),
    ("memory_budget", True),
    ("memory_budget", -1),
    ("target", "v100"),
    ("buckets", True),
    ("mode", None),
    ("inner", "cudagraphs"),
    ("bitwise", "yes"),
    ("strict", 1.5),
    ("timeout", 0),
    ("timeout", math.nan),
    ("ranks_per_node", 0),
    ("ranks_per_node", 2.0),
    ("profile", 5),
    ("profile", len),
    ("target", len),
    ("hints", 5),
    ("hints", "u0"),
    ("hints", {"u0": -1}),
    ("hints", {"u0": 1.5}),
    ("hints", {0: 1}),
    ("hints", [("u0", 1), "u"]),
    ("activation_memory_budget", -0.1),
    ("activation_memory_budget", 1.5),
    ("activation_memory_budget", math.nan),
    ("activation_memory_budget", True),
    ("activation_memory_budget", "50%"),
    ("activation_memory_budget", [0.5]),
    ("quantize_activations", 5),
    ("quantize_activations", "f8"),
    ("partition", "max"),
    ("collectives", "all"),
    ("reshard_after_forward", 1),
])
def test_a_wrong_value_is_an_error_that_names_the_option(name, value):
    with pytest.raises(OptionsError, match=f"'{name}' (is|must)"):
        Options(**{name: value})


@pytest.mark.parametrize("name, value", [
    ("size_in_mb", -1),
    ("size_in_mb", math.nan),
    ("size_in_mb", "100"),
    ("size", 1),
    ("allowed_dtypes", "f8E5M2"),
    ("allowed_dtypes", "bf16;f32"),
    ("allowed_dtypes", ""),
    ("use_scaling", 1),
    ("exclude_primals", None),
])
def test_a_wrong_setting_of_quantization_is_named(name, value):
    with pytest.raises(OptionsError, match=f"'{name}' of option 'quantize_"):
        Options(quantize_activations={name: value})


@pytest.mark.parametrize("budget", ["0%", "12.5%", "4.5GiB", "640MB", 2**30])
def test_budgets_are_percentages_or_bytes(budget):
    assert f"memory-budget={budget}" in Options(
        memory_budget=budget
    ).pipeline_flags()[-1]


@pytest.mark.parametrize("size", [1, 2])
def test_a_symbol_has_one_hint(size):
    with pytest.raises(OptionsError, match=f"'u0' twice, with 1 and {size}"):
        Options(hints=[("u0", 1), ("u1", 3), ("u0", size)])


def test_options_with_hints_can_be_hashed():
    options = Options(hints={"u1": 3, "u0": 2})
    assert options.hints == (("u0", 2), ("u1", 3))
    assert hash(options) == hash(Options(hints={"u0": 2, "u1": 3}))


def test_the_fingerprint_has_the_bytes_of_the_profile(tmp_path):
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    one.write_text("{}")
    other.write_text("{}")
    fingerprint = Options(profile=one).fingerprint()
    assert fingerprint == Options(profile=other).fingerprint()
    other.write_text("[]")
    assert fingerprint != Options(profile=other).fingerprint()
    assert fingerprint != Options().fingerprint()


def test_the_fingerprint_has_every_option():
    assert Options().fingerprint() == Options().fingerprint()
    for changed in (
        {"memory_budget": "6%"},
        {"target": "b200"},
        {"buckets": "off"},
        {"mode": "copy"},
        {"bitwise": False},
        {"ranks_per_node": 4},
        {"hints": {"u0": 7}},
    ):
        assert Options(**changed).fingerprint() != Options().fingerprint()


def test_the_fingerprint_has_the_bytes_of_the_program(tmp_path, monkeypatch, script):
    script("")
    before = Options().fingerprint()
    script("exit 1")
    assert Options().fingerprint() != before
    monkeypatch.setenv("COMMSCHED_OPT", str(tmp_path / "none"))
    assert Options().fingerprint() != before


def test_pytorch_merges_what_it_has_operators_for():
    assert "buckets=gathers-and-reductions" in Options().pipeline_flags()[-1]
    assert "buckets=off" in Options(buckets="off").pipeline_flags()[-1]


# -- How PyTorch finds the backend, and what works without PyTorch.


def test_pytorch_finds_the_backend_by_its_name(metadata, run_python):
    done = run_python(
        """
        import sys
        import torch

        assert "commsched" in torch._dynamo.list_backends()
        assert "commsched.torch" not in sys.modules
        options = {"inner": "eager", "strict": True}
        step = torch.compile(lambda x: x.sin(), backend="commsched", options=options)
        x = torch.randn(3, requires_grad=True)
        step(x).sum().backward()
        assert torch.equal(x.grad, x.detach().cos())
        import commsched.torch as cs

        kinds = [record.kind for record in cs.explain(step).records]
        assert kinds == ["forward", "backward"], kinds
        """,
        paths=[metadata],
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("left as it was: no collectives") == 2


@pytest.mark.parametrize("call, message", [
    ('options={"memory_buget": 1}', "unknown option 'memory_buget'"),
    (
        'options={"max_autotune": True}',
        r"'max_autotune' is one of Inductor's.*inductor_options\(\{'max_a",
    ),
    ('options={"target": "tpu"}', "option 'target' is 'tpu'"),
    ('mode="max-autotune"', r"no mode.*inductor_options\(torch._inductor.list_mode_op"),
])
def test_bad_options_are_errors(call, message):
    step = eval(f"torch.compile(torch.sin, backend=commsched, {call})")
    with pytest.raises(Exception, match=message):
        step(torch.randn(3))


def test_a_backward_has_the_options_of_its_forward(fake_world, opt_program):
    """It is compiled when it first runs, whatever became of the options."""
    from compiled_steps import shard

    fake_world(4)
    merged = {}
    for buckets in ("off", "auto"):
        torch._dynamo.reset()
        records.reset()
        model = shard(torch.nn.Linear(64, 64), dtype=torch.bfloat16)
        options = {"inner": "eager", "buckets": buckets, "strict": True}
        step = torch.compile(model, backend="commsched", options=options)
        loss = step(torch.randn(8, 64, dtype=torch.bfloat16)).sum()
        options["buckets"] = "none of these"
        loss.backward()
        backward = records.records()[1]
        assert backward.kind == "backward"
        merged[buckets] = len(backward.merged)
    assert merged == {"off": 0, "auto": 1}


def test_public_names_are_imported_when_they_are_used(run_python):
    done = run_python(
        """
        import sys
        import commsched.torch as cs

        assert "commsched.torch.compiling" not in sys.modules
        assert "torch._inductor" not in sys.modules
        for name in cs.__all__:
            assert getattr(cs, name) is not None
            assert name in dir(cs)
        try:
            cs.nothing
        except AttributeError as error:
            assert "'nothing'" in str(error)
        """
    )
    assert done.returncode == 0, done.stderr
