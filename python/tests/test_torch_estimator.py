# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched's times for Inductor's own overlap scheduler."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

from commsched import opt  # noqa: E402
from commsched.torch import import_graph_module, runtime_estimator  # noqa: E402
from graphs import fake_trace  # noqa: E402

pytestmark = pytest.mark.usefixtures("opt_program")

c10d = torch.ops._c10d_functional
WIDTH = 512


@pytest.fixture
def layers(fake_world):
    """Two linear layers with gathered weights, traced on stand-ins."""
    group = fake_world(8)

    def gather(shard):
        whole = c10d.all_gather_into_tensor(shard, 8, group)
        return c10d.wait_tensor(whole)

    def forward(x, first, second):
        x = torch.mm(x, gather(first))
        return torch.mm(torch.relu(x), gather(second))

    x = torch.randn(WIDTH, WIDTH)
    shard = torch.randn(WIDTH // 8, WIDTH)
    return fake_trace(forward, x, shard, shard.clone())


@pytest.fixture
def no_roofline(monkeypatch):
    """Inductor computes its own estimate too, for its log, and asks Triton
    about the device."""
    from torch._inductor.fx_passes import overlap_scheduling

    monkeypatch.setattr(
        overlap_scheduling, "estimate_roofline_runtime_ms", lambda node: 0.0
    )


def estimated(gm, **costs):
    """Milliseconds by node name, as commsched-opt writes them."""
    text = str(import_graph_module(gm))
    flags = [opt.flag("commsched-set-costs", costs)] if costs else []
    program = opt.run_programs(
        text, *flags, "--commsched-estimate-runtime"
    ).after
    return {
        op.name: op.attributes["commsched.runtime_ns"] / 1e6
        for op in program.function("main").operations
    }


def test_times_are_those_of_the_cost_model(layers):
    expected = estimated(layers, target="b200")
    estimator = runtime_estimator(target="b200")
    for node in layers.graph.nodes:
        assert estimator(node) == expected.get(node.name)
    assert expected["mm"] > 0 and expected["all_gather_into_tensor"] > 0
    other = runtime_estimator(target="a100")
    (product, *_) = layers.graph.find_nodes(
        op="call_function", target=torch.ops.aten.mm.default
    )
    assert other(product) > estimator(product)


def test_a_graph_that_is_not_in_order_is_estimated_and_left_so(layers):
    """As Inductor's merge of gathers before its scheduling leaves one."""
    expected = estimated(layers, target="h100")
    (*_, last) = layers.graph.find_nodes(
        op="call_function", target=c10d.wait_tensor.default
    )
    (product,) = last.users
    product.append(last)
    before = list(layers.graph.nodes)
    estimator = runtime_estimator(target="h100")
    for node in before:
        assert estimator(node) == expected.get(node.name)
    assert list(layers.graph.nodes) == before


def test_one_run_estimates_all_nodes(layers, monkeypatch):
    runs = []
    original = opt.run_programs
    monkeypatch.setattr(
        opt, "run_programs", lambda *a, **k: runs.append(a) or original(*a, **k)
    )
    estimator = runtime_estimator(target="gh200")
    for _ in range(2):
        for node in layers.graph.nodes:
            estimator(node)
    assert len(runs) == 1


def test_another_size_scales_what_exceeds_the_latency(layers):
    estimator = runtime_estimator()
    (gather, *_) = layers.graph.find_nodes(
        op="call_function", target=c10d.all_gather_into_tensor.default
    )
    from torch._inductor.comm_analysis import estimate_fx_collective_size

    size = estimate_fx_collective_size(gather)
    latency, own = estimator(gather, 0), estimator(gather)
    assert 0 < latency < own
    assert estimator(gather, size) == pytest.approx(own)
    assert estimator(gather, 3 * size) == pytest.approx(
        latency + 3 * (own - latency)
    )


def test_inductors_scheduler_decides_by_these_times(layers, no_roofline):
    from torch._inductor.fx_passes.overlap_scheduling import OverlapScheduler

    estimator = runtime_estimator(target="h100")
    scheduler = OverlapScheduler(
        layers,
        max_in_flight_gb=1,
        max_compute_pre_fetch=100,
        collective_bucketing=False,
        insert_overlap_deps=False,
        compute_overlap_multipler=1.0,
        max_coll_distance=100,
        custom_runtime_estimation=estimator,
        collective_estimator="analytical",
    )
    gathers = {
        info.start_node.name: info.estimated_time_ms
        for info in scheduler.collective_info.values()
    }
    assert gathers == {
        node.name: estimator(node)
        for node in layers.graph.find_nodes(
            op="call_function", target=c10d.all_gather_into_tensor.default
        )
    }


def test_inductor_compiles_with_it(fake_world, no_roofline):
    """The way of the documentation; every collective and matrix product is
    asked for."""
    group = fake_world(8)
    asked = []

    class Listening(type(runtime_estimator())):
        def __call__(self, node, override_size=None):
            time = super().__call__(node, override_size)
            asked.append((str(node.target), time))
            return time

    def forward(x, shard):
        whole = c10d.wait_tensor(c10d.all_gather_into_tensor(shard, 8, group))
        return torch.mm(torch.relu(torch.mm(x, x)), whole)

    torch._dynamo.reset()
    estimator = Listening(runtime_estimator().options)
    step = torch.compile(
        forward,
        options={
            "aten_distributed_optimizations.enable_overlap_scheduling": True,
            "aten_distributed_optimizations.custom_runtime_estimation":
                estimator,
            "fx_graph_cache": False,
        },
    )
    step(torch.randn(WIDTH, WIDTH), torch.randn(WIDTH // 8, WIDTH))
    times = dict(asked)
    assert times["_c10d_functional.all_gather_into_tensor.default"] > 0
    assert times["aten.mm.default"] > 0


def test_an_estimator_is_part_of_cache_keys_by_its_options(tmp_path):
    profile = tmp_path / "profile.json"
    profile.write_text("{}")

    def key(target):
        return pickle.dumps(runtime_estimator(target=target, profile=profile))

    one = key("h100")
    assert one == key("h100") and one != key("b200")
    profile.write_text("[]")
    assert one != key("h100")
    restored = pickle.loads(one)
    assert restored.options.target == "h100"
    assert copy.deepcopy(restored) is restored


def test_a_graph_that_cannot_be_estimated_is_left_to_inductor(
    layers, monkeypatch
):
    from commsched.torch import CommSchedWarning

    monkeypatch.setenv("COMMSCHED_OPT", "/nowhere/commsched-opt")
    estimator = runtime_estimator()
    nodes = list(layers.graph.nodes)
    with pytest.warns(CommSchedWarning, match="no program") as warned:
        assert [estimator(node) for node in nodes] == [None] * len(nodes)
    assert len(warned) == 1
