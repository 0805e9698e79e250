# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduled functions compute what JAX computes, in the scheduled order; what
cannot be scheduled is an error that says why."""

import functools
import math
import re

import pytest
from jax_models import mesh_of, per_device  # Makes eight devices.
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import commsched.jax as cs
from commsched import opt
from commsched.jax import private
from commsched.jax.schedule import NO_COLLECTIVES
import jax_llama as llama
import jax_step as step
from installed import ROOT

AXIS = llama.AXIS
MESH = mesh_of(**{AXIS: 8})


def sharded(function, inputs=P(AXIS), outputs=P(AXIS)):
    return jax.jit(per_device(function, MESH, inputs, outputs))


def layers(shards, x):
    """Gathers each parameter where it is used; its gradient is scattered."""

    def loss(shards):
        y = x
        for shard in shards:
            y = jnp.tanh(y @ jax.lax.all_gather(shard, AXIS, tiled=True))
        return jnp.mean(y**2)

    return jax.grad(loss)(shards)


@functools.cache
def lower_layers():
    keys = jax.random.split(jax.random.key(0), 4)
    shards = [jax.random.normal(k, (256, 256)) / 16 for k in keys]
    arguments = shards, jnp.ones((2048, 256))
    return sharded(layers).lower(*arguments), arguments


def reports(scheduled):
    """What is said of the only function before and after."""
    (before,) = scheduled.report.before.values()
    (after,) = scheduled.report.after.values()
    return before, after


def assert_equal_bits(mine, theirs):
    mine, theirs = jax.device_get((mine, theirs))
    pairs = list(zip(jax.tree.leaves(mine), jax.tree.leaves(theirs)))
    assert pairs
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)


def starts(text):
    """The collectives of a module's text in order."""
    kinds = "all_gather|reduce_scatter|all_reduce|collective_permute"
    return re.findall(rf'"stablehlo\.({kinds})"\(', text)


def compiled_starts(text):
    """The same of a module that XLA compiled and scheduled."""
    assert "is_scheduled=true" in text
    kinds = "all-gather|reduce-scatter|all-reduce|collective-permute"
    found = re.findall(rf"= .*? ({kinds})\(", text)
    return [kind.replace("-", "_") for kind in found]


# -- Results ---------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"buckets": "off"},
        {"buckets": "auto", "mode": "copy", "memory_budget": "50%"},
        {"buckets": "auto", "mode": "coalesced", "memory_budget": "50%"},
        {"buckets": "off", "version": "1.16"},
    ],
    ids=["order", "copy", "coalesced", "blocking"],
)
def test_results_have_equal_bits(opt_program, options):
    lowered, arguments = lower_layers()
    scheduled = cs.schedule(lowered, **options)
    before, after = reports(scheduled)
    assert after["step_time_ns"] < before["step_time_ns"]
    merges = options["buckets"] == "auto"
    assert (after["num_collectives"] < before["num_collectives"]) == merges
    has_pairs = "stablehlo.async_start" in scheduled.as_text()
    # One bucket of all may have nothing to hide it, and then blocks.
    assert merges or has_pairs == ("version" not in options)
    assert_equal_bits(scheduled.compile()(*arguments), lowered.compile()(*arguments))


def test_a_step_with_a_loop_trains_alike(opt_program):
    options = step.StepOptions(
        model="llama3-tiny", devices=2, layers=1, sequence=16, scan=True
    )
    mesh = jax.make_mesh((2,), (AXIS,), devices=jax.devices()[:2],
                         axis_types=(jax.sharding.AxisType.Auto,))
    lowered = step.make_step(options, mesh).lower(*step.random_arguments(options, mesh))
    scheduled = cs.schedule(lowered, memory_budget="20%")
    assert scheduled.as_text() != lowered.as_text()
    results = []
    for compiled in (lowered.compile(), scheduled.compile()):
        state, *batch = step.random_arguments(options, mesh)
        donated = jax.tree.leaves(state)[0]
        for _ in range(2):
            state, loss = compiled(state, *batch)
        assert donated.is_deleted()
        results.append((state, loss))
    assert_equal_bits(*results)


def test_calls_and_loops_are_scheduled(opt_program):
    """Collectives in a helper function, a loop, and a branch; of those of the loop
    one gathers the same in each iteration."""

    @jax.jit
    def helper(x, shard):
        return x @ jax.lax.all_gather(shard, AXIS, tiled=True)

    def body(shards, x):
        x = helper(x, shards[0])
        x, _ = jax.lax.scan(
            lambda x, shard: (jnp.tanh(helper(helper(x, shard), shards[1])), None),
            x,
            shards,
        )
        return jax.lax.cond(
            x.sum() < 0, lambda x: x, lambda x: jax.lax.psum(x, AXIS), x
        )

    shards = jax.random.normal(jax.random.key(1), (3, 64, 64)) / 8
    arguments = shards, jnp.ones((64, 64))
    lowered = sharded(body, (P(None, AXIS), P(AXIS))).lower(*arguments)
    scheduled = cs.schedule(lowered, memory_budget="100%", buckets="off")
    reports = scheduled.report.before, scheduled.report.after
    counts = [next(iter(r.values()))["num_collectives"] for r in reports]
    assert counts == [8, 6]
    # It overlaps with what is around it, not only with its own product.
    texts = lowered.as_text(), scheduled.as_text()
    assert [text.count("call @helper") for text in texts] == [3, 0]
    assert_equal_bits(scheduled.compile()(*arguments), lowered.compile()(*arguments))


# -- Order -----------------------------------------------------------------


def test_the_module_has_the_order_of_the_report(opt_program):
    lowered, _ = lower_layers()
    scheduled = cs.schedule(lowered, buckets="off")
    (report,) = scheduled.report.after.values()
    text = scheduled.as_text()
    assert starts(text) == [c["kind"] for c in report["collectives"]]
    # Computation stands between a start and its wait, which was not there.
    windows = re.findall(r"async_start(?:.*?\n)*?.*?async_done", text)
    assert any("dot_general" in window for window in windows)
    assert "async" not in lowered.as_text()


def test_xla_keeps_what_was_merged(opt_program):
    lowered, _ = lower_layers()
    scheduled = cs.schedule(lowered, memory_budget="50%", mode="coalesced")
    (report,) = scheduled.report.after.values()
    merged = [c["kind"] for c in report["collectives"]]
    text = scheduled.compile().as_text()
    assert sorted(compiled_starts(text)) == sorted(merged)
    assert len(merged) < len(compiled_starts(lowered.compile().as_text()))
    assert "-start(" not in text


def test_names_and_locations_are_kept(opt_program):
    both = [cs.schedule(lower_layers()[0], buckets="off") for _ in range(2)]
    text, again = (scheduled.as_text(debug_info=True) for scheduled in both)
    assert "test_jax_schedule.py" in text and text == again
    scheduled, _ = both
    assert "all_gather" in reports(scheduled)[1]["collectives"][0]["name"]
    assert 'op_name="jit(layers)' in scheduled.compile().as_text()


# -- Reports ---------------------------------------------------------------


def test_the_report_shows_figures_and_buckets(opt_program):
    lowered, _ = lower_layers()
    report = cs.schedule(lowered, memory_budget="50%").report
    (name,) = report.after
    shown = str(report)
    # Fused operations are pinned.
    for when in ("before", "after"):
        line = rf"^  {when} simulated: target h100; costs: model \(\d+ of \d+"
        assert re.search(line, shown, re.M)
    assert f"function {name}" in shown
    for word in ("step", "exposed", "peak memory", "collectives", "bound"):
        assert re.search(rf"^  {word}|{word}$", shown, re.M), word
    assert report.merged(name)
    assert "  merged: " in shown
    assert report.seconds > 0


def test_options_reach_the_scheduler(opt_program):
    lowered, _ = lower_layers()

    def before(**options):
        return reports(cs.schedule(lowered, **options))[0]

    slow, fast = (before(target=t)["compute_time_ns"] for t in ("a100", "h100"))
    assert slow > fast
    near, far = (before(ranks_per_node=n)["comm_time_ns"] for n in (8, 1))
    assert near < far


# -- What is not scheduled -------------------------------------------------


def test_without_collectives_nothing_changes(opt_program):
    lowered = jax.jit(lambda x: x + 1).lower(jnp.ones(8))
    scheduled = cs.schedule(lowered)
    assert scheduled.lowered is lowered
    assert scheduled.report.note == NO_COLLECTIVES
    assert NO_COLLECTIVES in str(scheduled.report)
    assert scheduled.compile()(jnp.ones(8)).tolist() == [2] * 8


def test_options_are_checked():
    lowered, _ = lower_layers()
    with pytest.raises(cs.OptionsError, match="unknown option 'budget'.*slack"):
        cs.schedule(lowered, budget="5%")
    for name, value in [
        ("memory_budget", "much"),  # As others that PyTorch has, too.
        ("slack", -1),
        ("ranks_per_node", 0),
        ("version", "new"),
        ("timeout", "long"),
        ("timeout", -1),
        ("timeout", math.nan),
        ("timeout", math.inf),
    ]:
        with pytest.raises(cs.OptionsError, match=f"option '{name}' (is|must)"):
            cs.schedule(lowered, **{name: value})


def test_only_lowered_functions_are_taken():
    function = jax.jit(lambda x: x)
    with pytest.raises(cs.ScheduleError, match="not the jitted function"):
        cs.schedule(function)
    with pytest.raises(cs.ScheduleError, match="of type function"):
        cs.schedule(lambda x: x)


def test_programs_that_fail_are_named(tmp_path, monkeypatch, opt_program, script):
    lowered, _ = lower_layers()

    def refused(match, **options):
        with pytest.raises(cs.ScheduleError, match=match):
            cs.schedule(lowered, **options)

    refused("no-such.json", profile=str(tmp_path / "no-such.json"))
    refused("has not ended after", timeout=0.001)
    script(f'case "$*" in *--version*) {opt_program} --version;; *) '
           "echo 'error: too bad' >&2; exit 1;; esac")
    refused("failed: error: too bad")
    script("echo 'CommSched version 0.0.1'")
    refused("is of version 0.0.1")
    monkeypatch.setenv(opt.VARIABLE, str(tmp_path / "none"))
    refused("is no program")


def test_what_jax_does_not_know_is_an_error(opt_program, monkeypatch):
    lowered, _ = lower_layers()
    run = opt.run_reports
    with monkeypatch.context() as patch:
        patch.setattr(
            opt, "run_reports", lambda *a, **k: run(*a, **k)._replace(text="nonsense")
        )
        with pytest.raises(cs.ScheduleError, match="jaxlib does not read"):
            cs.schedule(lowered)
    monkeypatch.setattr(private, "_lowering_of", lambda lowered: None)
    with pytest.raises(cs.ScheduleError, match=f"JAX {jax.__version__} does"):
        cs.schedule(lowered)


def test_jax_is_named_where_it_is_missing(run_python):
    done = run_python("import sys; sys.modules['jax'] = None; import commsched.jax")
    assert "pip install commsched[jax]" in done.stderr


def test_only_one_module_touches_what_is_private():
    package = ROOT / "python" / "commsched" / "jax"
    private_names = re.compile(r"jax\._src|\._lowering|\._hlo|\._executable")
    found = [
        path.name
        for path in sorted(package.rglob("*.py"))
        if private_names.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["private.py"]
