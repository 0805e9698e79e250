# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules under Inductor: that its code has their order."""

import copy
import pickle

import pytest
import torch
import commsched.torch as cs
import seeds
from commsched import opt
from commsched.torch import import_graph_module, private, runtime_estimator
from commsched.torch.compiling import inductor
from compiled_steps import shard
from generated_code import EXTERNAL, events_of_code, events_of_graph, without_compiler
from graphs import calls, fake_trace, gather
from language_model import Model
from torch._inductor import config
from torch._inductor.codecache import PyCodeCache
from torch._inductor.comm_analysis import estimate_fx_collective_size
from torch._inductor.custom_graph_pass import CustomGraphPass, CustomSchedulerPass
from torch._inductor.fx_passes import overlap_scheduling
from torch._inductor.graph import GraphLowering
from torch._inductor.scheduler import NopKernelSchedulerNode, Scheduler
from torch._inductor.virtualized import V

pytestmark = pytest.mark.usefixtures("opt_program")

BF16, F32 = torch.bfloat16, torch.float32


@pytest.fixture
def codegen(monkeypatch):
    """Returns a function that runs `step` and its backward and returns the
    code of its graphs. Kernels are generated but not compiled: they do
    nothing, as the collectives of a fake process group."""
    codes = []
    monkeypatch.setattr(GraphLowering, "save_output_code", staticmethod(codes.append))

    def run(step, *inputs):
        codes.clear()
        torch._dynamo.reset()
        with without_compiler(), config.patch(force_disable_caches=True):
            step(*inputs).backward()
        return list(codes)

    return run


@pytest.fixture
def graphs(monkeypatch):
    """The kinds and orders of the graphs that were scheduled."""
    seen = []
    schedule = inductor.optimize_graph

    def record(gm, kind, *args, **kw):
        done = schedule(gm, kind, *args, **kw)
        seen.append((kind, done, events_of_graph(gm.graph)))
        return done

    monkeypatch.setattr(inductor, "optimize_graph", record)
    return seen


def sharded(world, dtype, layers=1):
    world(4)
    torch.manual_seed(0)
    return shard(Model(layers), dtype=dtype)


TOKENS = torch.zeros(2, 8, dtype=torch.long)


@pytest.mark.parametrize("precision, buckets", [(F32, "off"), (BF16, "auto")])
def test_code_has_the_order_of_the_schedule(
    opt_program, fake_world, codegen, graphs, precision, buckets
):
    model = sharded(fake_world, precision, layers=2)
    options = cs.inductor_options(buckets=buckets, strict=True)
    codes = codegen(torch.compile(model, options=options), TOKENS)
    assert [(kind, done) for kind, done, _ in graphs] == [
        ("forward", True),
        ("backward", True),
    ]
    assert len(codes) == 2
    for code, (_, _, events) in zip(codes, graphs):
        assert events_of_code(code) == events


class Ungroup(CustomSchedulerPass):
    """Takes nodes of several operations apart, of which there is no code for a
    processor."""

    seen = 0

    def __call__(self, nodes):
        known = V.graph.scheduler.name_to_fused_node
        self.seen += sum(node.is_foreach() for node in nodes)
        parts = [part for node in nodes
                 for part in (node.get_nodes() if node.is_foreach() else [node])]
        known.update((name, part) for part in parts
                     for name in part.get_operation_names())
        return parts

    def uuid(self):
        return None


def test_the_order_beside_operations_of_one_kernel(
    opt_program, fake_world, codegen, graphs, monkeypatch
):
    """On a GPU, Inductor makes one node of what fills the parts of a buffer."""
    create = Scheduler.create_foreach_nodes

    def group(self):
        casts = [node.get_name() for node in self.nodes
                 if not node.is_extern() and not node.unmet_dependencies]
        V.graph.lists["parts"] = casts[:3]
        create(self)

    monkeypatch.setattr(Scheduler, "create_foreach_nodes", group)
    model = sharded(fake_world, BF16)
    ungroup = Ungroup()
    options = cs.inductor_options(
        {"_post_fusion_custom_pass": ungroup}, buckets="auto", strict=True
    )
    codes = codegen(torch.compile(model, options=options), TOKENS)
    assert ungroup.seen == 2
    for code, (_, done, events) in zip(codes, graphs):
        assert done and events_of_code(code) == events


@pytest.fixture
def copies(monkeypatch):
    """How many kernels copy what is merged, by graph that was scheduled."""
    seen = []
    schedule = inductor.optimize_graph

    def record(gm, *args, **kw):
        done = schedule(gm, *args, **kw)
        nodes = gm.graph.nodes
        packs = [n for n in nodes if n.name.endswith("_bucket_copy_in")]
        unpacks = [n for n in nodes if n.name.endswith("_of_bucket_copy")]
        seen.append(
            sum(not is_written_in_place(part) for n in packs for part in n.args[0])
            + sum(map(is_needed_whole, unpacks))
        )
        return done

    monkeypatch.setattr(inductor, "optimize_graph", record)
    return seen


VIEWS = ("view", "permute", "reshape")


def operator_of(node):
    return str(node.target).split(".")[1] if node.op == "call_function" else None


def is_written_in_place(part):
    """Whether what computes a part of a buffer can write it there."""
    while operator_of(part) in VIEWS and len(part.users) == 1:
        part = part.args[0]
    return part.op == "call_function" and len(part.users) == 1


def is_needed_whole(node):
    """Whether an external call or the backward reads a tensor, so that no kernel of
    Inductor's can compute it as it goes."""
    return any(
        user.op == "output"
        or operator_of(user) in EXTERNAL
        or operator_of(user) in VIEWS and is_needed_whole(user)
        for user in node.users
    )


@pytest.mark.parametrize("precision", seeds.turns([F32, BF16], 1))
def test_kernels_are_inductors_and_those_that_copy(
    opt_program, fake_world, codegen, copies, precision
):
    def count(**settings):
        kernels = []

        def count_kernels(nodes):
            kernels.append(
                sum(
                    not (node.is_extern() or isinstance(node, NopKernelSchedulerNode))
                    for node in nodes
                )
            )
            return nodes

        model = sharded(fake_world, precision)
        with config.patch(_post_fusion_custom_pass=count_kernels):
            codegen(torch.compile(model, **settings), TOKENS)
        return kernels

    plain = count()
    options = {"mode": "copy", "target": "h100", "strict": True}
    merged = count(backend="commsched", options=options)
    assert len(plain) == len(merged) == len(copies) == 2
    assert copies[0] > 0
    assert merged[0] <= plain[0] + copies[0]
    # Inductor computes sums together of which the schedule sends one before what
    # another one needs.
    assert merged[1] <= plain[1] + copies[1] + 1


# -- Code of Inductor's begins with what its cache entry has to know.


#: What was carried, in the order in which code was loaded.
seen = []

library = torch.library.Library("commsched_test", "FRAGMENT")
library.define("note(str text) -> ()")
library.impl(
    "note",
    lambda text: seen.append(f"ran {text}"),
    "CompositeExplicitAutograd",
)
torch.library.register_fake("commsched_test::note", lambda text: None, lib=library)
note = torch.ops.commsched_test.note.default
torch.fx.node.has_side_effect(note)


class _Insert(CustomGraphPass):
    def __call__(self, graph):
        first = next(n for n in graph.nodes if n.op != "placeholder")
        with graph.inserting_before(first):
            graph.call_function(note, ("it",)).meta["val"] = None

    def uuid(self):
        return "carried lines"


def _line(text):
    return f"__import__({__name__!r}).seen.append({'carried ' + text!r})"


def _step():
    torch._dynamo.reset()
    options = {"post_grad_custom_post_pass": _Insert()}
    return torch.compile(lambda x: x @ x, options=options)


def _count(what):
    return torch._dynamo.utils.counters["inductor"][f"fxgraph_cache_{what}"]


def test_code_carries_its_line_into_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    private.carry_line(note, _line)
    torch._dynamo.utils.counters.clear()
    seen.clear()
    _step()(torch.ones(4, 4))
    assert seen == ["carried it", "ran it"]
    seen.clear()
    PyCodeCache.cache_clear()
    _step()(torch.ones(4, 4))
    assert _count("hit") == 1
    assert seen == ["carried it", "ran it"]


def test_a_line_that_raises_oserror_is_a_miss(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    private.carry_line(note, _line)
    torch._dynamo.utils.counters.clear()
    _step()(torch.ones(4, 4))
    PyCodeCache.cache_clear()
    seen.clear()

    # AOT autograd looks up, and then Inductor.
    class Twice(list):
        def append(self, text):
            list.append(self, text)
            if len(self) <= 2:
                raise OSError("outdated")

    monkeypatch.setattr(f"{__name__}.seen", Twice())
    _step()(torch.ones(4, 4))
    assert _count("hit") == 0
    assert _count("miss") == 3


# -- CommSched's times for Inductor's own overlap scheduler.


c10d = torch.ops._c10d_functional
WIDTH = 512


@pytest.fixture
def layers(fake_world):
    """Two linear layers with gathered weights, traced on stand-ins."""
    group = fake_world(8)

    def forward(x, first, second):
        x = torch.relu(torch.mm(x, gather(first, group, 8)))
        return torch.mm(x, gather(second, group, 8))

    shard = torch.randn(WIDTH // 8, WIDTH)
    return fake_trace(forward, torch.randn(WIDTH, WIDTH), shard, shard.clone())


@pytest.fixture
def no_roofline(monkeypatch):
    """Inductor computes its own estimate too, for its log, and asks Triton
    about the device."""
    monkeypatch.setattr(
        overlap_scheduling, "estimate_roofline_runtime_ms", lambda node: 0.0
    )


def estimated(gm, **costs):
    """Milliseconds by node name, as commsched-opt writes them."""
    text = str(import_graph_module(gm))
    flags = [opt.flag("commsched-set-costs", costs)] if costs else []
    program = opt.run_programs(text, *flags, "--commsched-estimate-runtime").after
    return {
        op.name: op.attributes["commsched.runtime_ns"] / 1e6
        for op in program.function("main").operations
    }


def test_times_are_those_of_the_cost_model(layers, monkeypatch):
    runs, original = [], opt.run_programs
    monkeypatch.setattr(
        opt, "run_programs", lambda *a, **k: runs.append(a) or original(*a, **k)
    )
    expected = estimated(layers, target="b200")
    estimator = runtime_estimator(target="b200")
    for node in (*layers.graph.nodes, *layers.graph.nodes):
        assert estimator(node) == expected.get(node.name)
    # One run of its own estimates all nodes.
    assert len(runs) == 2
    assert expected["mm"] > 0 and expected["all_gather_into_tensor"] > 0
    other = runtime_estimator(target="a100")
    product, *_ = calls(layers, torch.ops.aten.mm.default)
    assert other(product) > estimator(product)


def test_a_graph_that_is_not_in_order_is_estimated_and_left_so(layers):
    """As Inductor's merge of gathers before its scheduling leaves one."""
    expected = estimated(layers, target="h100")
    *_, last = calls(layers, c10d.wait_tensor.default)
    (product,) = last.users
    product.append(last)
    before = list(layers.graph.nodes)
    estimator = runtime_estimator(target="h100")
    for node in before:
        assert estimator(node) == expected.get(node.name)
    assert list(layers.graph.nodes) == before


def test_another_size_scales_what_exceeds_the_latency(layers):
    estimator = runtime_estimator()
    gather, *_ = calls(layers, c10d.all_gather_into_tensor.default)
    size = estimate_fx_collective_size(gather)
    latency, own = estimator(gather, 0), estimator(gather)
    assert 0 < latency < own
    assert estimator(gather, size) == pytest.approx(own)
    assert estimator(gather, 3 * size) == pytest.approx(latency + 3 * (own - latency))


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
        return torch.mm(torch.relu(torch.mm(x, x)), gather(shard, group, 8))

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


def test_a_graph_that_cannot_be_estimated_is_left_to_inductor(layers, monkeypatch):
    monkeypatch.setenv("COMMSCHED_OPT", "/nowhere/commsched-opt")
    estimator = runtime_estimator()
    nodes = list(layers.graph.nodes)
    with pytest.warns(cs.CommSchedWarning, match="no program") as warned:
        assert [estimator(node) for node in nodes] == [None] * len(nodes)
    assert len(warned) == 1
