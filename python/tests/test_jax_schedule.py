# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduled functions compute what JAX computes, in the scheduled order; what
cannot be scheduled is an error that says why."""

import math
import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("jax")

import jax_models  # noqa: E402, F401  Makes eight devices of the processor.
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType, PartitionSpec as P  # noqa: E402

import commsched.jax as cs  # noqa: E402
from commsched import opt  # noqa: E402
from commsched.jax import private  # noqa: E402
from commsched.jax.schedule import NO_COLLECTIVES  # noqa: E402
import jax_llama as llama  # noqa: E402
import jax_step as step  # noqa: E402
from installed import ROOT  # noqa: E402

AXIS = llama.AXIS


def mesh_of(devices=8):
    return jax.make_mesh(
        (devices,), (AXIS,), axis_types=(AxisType.Auto,),
        devices=jax.devices()[:devices],
    )


def sharded(function, inputs=P(AXIS), outputs=P(AXIS), **options):
    mapped = jax.shard_map(
        function, mesh=mesh_of(), in_specs=inputs, out_specs=outputs,
        check_vma=False,
    )
    return jax.jit(mapped, **options)


def layers(shards, x):
    """Gathers each parameter where it is used; its gradient is scattered."""

    def loss(shards):
        y = x
        for shard in shards:
            y = jnp.tanh(y @ jax.lax.all_gather(shard, AXIS, tiled=True))
        return jnp.mean(y**2)

    return jax.grad(loss)(shards)


def layer_arguments(width=256, rows=2048):
    keys = jax.random.split(jax.random.key(0), 4)
    shards = [jax.random.normal(k, (width, width)) / 16 for k in keys]
    return shards, jnp.ones((rows, width))


def lower_layers(**sizes):
    arguments = layer_arguments(**sizes)
    return sharded(layers).lower(*arguments), arguments


def independent(a, b, c, x):
    """Three collectives, each of which could come first; the second is needed
    last."""
    permuted = jax.lax.ppermute(a, AXIS, [(i, (i + 1) % 8) for i in range(8)])
    gathered = jax.lax.all_gather(b, AXIS, tiled=True)
    reduced = jax.lax.psum(c, AXIS)
    return jnp.tanh(jnp.tanh(x @ permuted) @ reduced) @ gathered


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
    (report,) = scheduled.report.after.values()
    before = next(iter(scheduled.report.before.values()))
    assert report["step_time_ns"] < before["step_time_ns"]
    merges = options["buckets"] == "auto"
    assert (report["num_collectives"] < before["num_collectives"]) == merges
    has_pairs = "stablehlo.async_start" in scheduled.as_text()
    # One bucket of all may have nothing to hide it, and then blocks.
    assert merges or has_pairs == ("version" not in options)
    assert_equal_bits(
        scheduled.compile()(*arguments), lowered.compile()(*arguments)
    )


def test_a_step_with_a_loop_trains_alike(opt_program):
    options = step.StepOptions(
        model="llama3-tiny", devices=2, layers=1, sequence=16, scan=True
    )
    mesh = mesh_of(2)
    lowered = step.make_step(options, mesh).lower(
        *step.random_arguments(options, mesh)
    )
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
    """Collectives in a helper function, a loop, and a branch."""

    @jax.jit
    def helper(x, shard):
        return x @ jax.lax.all_gather(shard, AXIS, tiled=True)

    def body(shards, x):
        x = helper(x, shards[0])
        x, _ = jax.lax.scan(
            lambda x, shard: (jnp.tanh(helper(x, shard)), None), x, shards
        )
        return jax.lax.cond(
            x.sum() < 0, lambda x: x, lambda x: jax.lax.psum(x, AXIS), x
        )

    shards = jax.random.normal(jax.random.key(1), (3, 64, 64)) / 8
    arguments = shards, jnp.ones((64, 64))
    lowered = sharded(body, (P(None, AXIS), P(AXIS))).lower(*arguments)
    scheduled = cs.schedule(lowered)
    assert scheduled.report.after
    assert_equal_bits(
        scheduled.compile()(*arguments), lowered.compile()(*arguments)
    )


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


def test_xla_orders_independent_collectives_by_itself(opt_program):
    """XLA:CPU makes each pair one blocking collective and orders those that
    do not depend on each other alike, whatever their order in the module."""
    weight = jnp.ones((512, 64))
    arguments = weight, jnp.ones((64, 64)), weight, jnp.ones((64, 64))
    lowered = sharded(independent, (P(AXIS),) * 4).lower(*arguments)
    scheduled = cs.schedule(lowered, buckets="off")
    order = starts(scheduled.as_text())
    assert order == ["collective_permute", "all_reduce", "all_gather"]
    assert order != starts(lowered.as_text())
    compiled = scheduled.compile()
    found = compiled_starts(compiled.as_text())
    assert found == compiled_starts(lowered.compile().as_text()) != order
    assert_equal_bits(compiled(*arguments), lowered.compile()(*arguments))


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
    lowered, _ = lower_layers()
    scheduled = cs.schedule(lowered, buckets="off")
    assert "test_jax_schedule.py" in scheduled.as_text(debug_info=True)
    (report,) = scheduled.report.after.values()
    assert "all_gather" in report["collectives"][0]["name"]
    assert 'op_name="jit(layers)' in scheduled.compile().as_text()


def test_schedules_are_deterministic(opt_program):
    texts = [
        cs.schedule(lower_layers()[0]).as_text(debug_info=True)
        for _ in range(2)
    ]
    assert texts[0] == texts[1]


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
    steps = {
        target: next(
            iter(cs.schedule(lowered, target=target).report.before.values())
        )["compute_time_ns"]
        for target in ("a100", "h100")
    }
    assert steps["a100"] > steps["h100"]
    near, far = (
        next(
            iter(
                cs.schedule(lowered, ranks_per_node=n).report.before.values()
            )
        )["comm_time_ns"]
        for n in (8, 1)
    )
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
        ("memory_budget", "much"),
        ("target", "tpu"),
        ("buckets", "some"),
        ("mode", None),
        ("bitwise", 1),
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


def test_programs_that_fail_are_named(
    tmp_path, monkeypatch, opt_program, script
):
    lowered, _ = lower_layers()
    with pytest.raises(cs.ScheduleError, match="no-such.json"):
        cs.schedule(lowered, profile=str(tmp_path / "no-such.json"))
    with pytest.raises(cs.ScheduleError, match="has not ended after"):
        cs.schedule(lowered, timeout=0.001)

    script(f'case "$*" in *--version*) {opt_program} --version;; *) '
           "echo 'error: too bad' >&2; exit 1;; esac")
    with pytest.raises(cs.ScheduleError, match="failed: error: too bad"):
        cs.schedule(lowered)
    script("echo 'CommSched version 0.0.1'")
    with pytest.raises(cs.ScheduleError, match="is of version 0.0.1"):
        cs.schedule(lowered)
    monkeypatch.setenv(opt.VARIABLE, str(tmp_path / "none"))
    with pytest.raises(cs.ScheduleError, match="is no program"):
        cs.schedule(lowered)


def test_a_text_that_jaxlib_does_not_read_is_an_error(opt_program, monkeypatch):
    lowered, _ = lower_layers()
    run = opt.run_reports

    def broken(*arguments, **keywords):
        result = run(*arguments, **keywords)
        return result._replace(text="nonsense")

    monkeypatch.setattr(opt, "run_reports", broken)
    with pytest.raises(cs.ScheduleError, match="jaxlib does not read"):
        cs.schedule(lowered)


def test_an_unknown_jax_is_an_error(opt_program, monkeypatch):
    lowered, _ = lower_layers()
    monkeypatch.setattr(private, "_lowering_of", lambda lowered: None)
    with pytest.raises(cs.ScheduleError, match=f"JAX {jax.__version__} does"):
        cs.schedule(lowered)


def test_jax_is_named_where_it_is_missing():
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "try: import commsched.jax\n"
        "except ImportError as error: print(error)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, timeout=60,
        capture_output=True, text=True, check=True,
    )
    assert "pip install commsched[jax]" in done.stdout


def test_only_one_module_touches_what_is_private():
    package = ROOT / "python" / "commsched" / "jax"
    private_names = re.compile(r"jax\._src|\._lowering|\._hlo|\._executable")
    found = [
        path.name
        for path in sorted(package.rglob("*.py"))
        if private_names.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["private.py"]
