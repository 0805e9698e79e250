# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The optimizer of a traced step, and the function that calls its parts."""

import copy
import re

import pytest
import torch
import lockstep
import seeds
import traces

from commsched import opt
from commsched.torch import GraphImportError, GraphSpec, import_graphs, shard_parameters
from commsched.torch.trace import Sharded, TraceOptions, import_step, trace_step
from commsched.torch.importer.links import Source
from decoder_sizes import CONFIGS
from graphs import calls
from commsched.torch.tracer.optimizer import Parameter, adamw_graph
from torch_llama import Llama
from torch_step import StepOptions

c10d = torch.ops._c10d_functional
TINY = CONFIGS["llama3-tiny"]
NUM_PARAMETERS = 3 + 9 * TINY.num_layers
SEQUENCE = 16
RANKS = 4
needs_opt = pytest.mark.usefixtures("opt_program")


def options(**others):
    others = {"sequence": SEQUENCE, "optimizer": "adamw", **others}
    return StepOptions(
        others.pop("model", "llama3-tiny"), others.pop("shards", 2), **others
    )


def shard(whole, rank, shards=RANKS):
    return whole.chunk(shards)[rank % shards]


@pytest.mark.parametrize("max_norm", [None, 0.5])
def test_shards_are_updated_as_the_whole_parameters_are(max_norm):
    torch.manual_seed(0)
    whole = [torch.randn(8, 3), torch.randn(12), torch.randn(4, 2)]
    shapes = [shard(w, 0).shape for w in whole]
    with torch._subclasses.FakeTensorMode():
        parameters = [
            Parameter(f"p{i}", f"{i}.weight", torch.empty(shape), ("dp",))
            for i, shape in enumerate(shapes)
        ]
    graph_module = adamw_graph(parameters, max_norm)
    expected = [torch.nn.Parameter(w.clone()) for w in whole]
    optimizer = torch.optim.AdamW(expected)
    values = [
        {"step": torch.tensor(0.0)}
        | {p.name: shard(w, rank) for p, w in zip(parameters, whole)}
        | {
            p.state(kind): torch.zeros_like(shard(w, rank))
            for p, w in zip(parameters, whole)
            for kind in ("exp_avg", "exp_avg_sq")
        }
        for rank in range(RANKS)
    ]
    names = [
        *(p.name for p in parameters),
        *(p.state("exp_avg") for p in parameters),
        *(p.state("exp_avg_sq") for p in parameters),
        "step",
    ]
    for _ in range(3):
        for parameter in expected:
            parameter.grad = torch.randn_like(parameter)
        for rank, own in enumerate(values):
            for p, whole_one in zip(parameters, expected):
                own[p.state("grad")] = shard(whole_one.grad, rank).clone()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(expected, max_norm)
        optimizer.step()
        results = lockstep.run(graph_module, values, {"dp": [list(range(RANKS))]})
        for own, result in zip(values, results):
            own.update(zip(names, result, strict=True))
    for p, want in zip(parameters, expected):
        got = torch.cat([own[p.name] for own in values])
        torch.testing.assert_close(got, want.detach(), rtol=1e-5, atol=1e-6)
    assert values[0]["step"] == 3.0


def run_linked(step, initial, batches):
    """Runs repetitions of a step on ranks, each argument from its source;
    returns every repetition's losses. `initial` gives a rank's value of an
    argument that nothing has fed yet."""
    ranks = range(len(batches[0]))
    before, losses = {}, []
    # Of what a repetition before will feed, which several graphs may take.
    firsts = {}
    for batch in batches:
        now = {}
        for function, graph_module in step.graphs.items():
            inputs = [{} for _ in ranks]
            for node in graph_module.graph.find_nodes(op="placeholder"):
                source = step.sources[function].get(node.name)
                for rank in ranks:
                    fed = None
                    if source is not None:
                        outputs = before if source.iterations else now
                        fed = outputs.get(source.function)
                    if fed is not None:
                        value = fed[rank][source.output]
                    elif (source, rank) in firsts:
                        value = firsts[source, rank]
                    else:
                        value = initial(node, rank, batch[rank])
                        if source is not None:
                            firsts[source, rank] = value
                    inputs[rank][node.target] = value
            now[function] = lockstep.run(graph_module, inputs, step.groups)
        before = now
        first = next(iter(step.graphs))
        losses.append([outputs[0] for outputs in now[first]])
    return losses


@pytest.mark.parametrize(
    "others",
    seeds.turns([{}, {"joint": True}, {"partitioner": "default"},
                 {"reshard_after_forward": False, "clip_grad_norm": 1.0}], 1),
)
def test_repetitions_of_the_step_train_the_model(others):
    """Losses of three repetitions are those of torch's own training loop."""
    step = traces.step(options(**others))
    torch.manual_seed(0)
    model = Llama(TINY, SEQUENCE)
    batches = [torch.randint(TINY.vocab_size, (2, 2, 1, SEQUENCE))] * 3

    def initial(node, rank, batch):
        if "desc" in node.meta:
            values = lockstep.inputs_of_rank(
                only(node), model, batch, lambda _, p: shard(p, rank, 2)
            )
            return values[node.target]
        return torch.zeros(node.meta["val"].shape)

    losses = run_linked(step, initial, batches)
    trained = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(trained.parameters())
    for own, batch in zip(losses, batches, strict=True):
        low = copy.deepcopy(trained)
        expected, gradients = lockstep.train_alone(low, list(batch))
        torch.testing.assert_close(
            torch.stack(own), torch.stack(expected).detach(), rtol=2e-3, atol=0
        )
        for name, parameter in trained.named_parameters():
            parameter.grad = sum(gradients[name]) / 2
        if "clip_grad_norm" in others:
            torch.nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
        optimizer.step()
    # Far more than the tolerance: all three steps are taken.
    assert losses[0][0] - 0.1 > losses[1][0] > losses[2][0] + 0.1


def only(node):
    """A graph with one input, such as `node`."""
    graph = torch.fx.Graph()
    graph.placeholder(node.target).meta["desc"] = node.meta["desc"]
    graph.output(())
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def arguments(text, function):
    """The attributes of a function's arguments, by name."""
    head = re.search(rf"func\.func(?: private)? @{function}\((.*)", text)[1]
    return dict(re.findall(r"%(\w+): tensor<[^>]*> (\{.*?\}+)[,)]", head))


def operands(text, function):
    """What the step calls `function` with."""
    return re.findall(r"%([\w#]+)", re.search(rf"call @{function}\((.*?)\) :", text)[1])


def returned(text):
    """What the step returns."""
    step = text[text.index("func.func @step(") :]
    return re.findall(r"%([\w#]+)", re.search(r"return (.*?) :", step)[1])


def test_the_step_calls_its_parts(imported_step):
    text = imported_step(options())
    step = arguments(text, "step")
    carried = [name for name in step if "commsched.carried" in step[name]]
    # The parameters, two states of each, and how many steps were taken.
    assert len(carried) == 3 * NUM_PARAMETERS + 1
    assert len(step) == len(carried) + 5  # Rope, batch, tangent.
    results = returned(text)
    for index, name in enumerate(carried):
        assert f"commsched.carried = {index} : i64" in step[name]
        assert results[index] == f"optimizer#{index}"
    # Behind what is carried only the loss.
    assert results[len(carried) :] == ["forward#0"]
    count = NUM_PARAMETERS
    forward, optimizer = operands(text, "forward"), operands(text, "optimizer")
    assert [name for name in forward if name in carried] == carried[:count]
    *saved, tangent = operands(text, "backward")
    assert saved == [f"forward#{1 + i}" for i in range(len(saved))]
    assert tangent in step
    assert optimizer[:count] == carried[:count]
    assert optimizer[count : 2 * count] == [f"backward#{i}" for i in range(count)]
    assert optimizer[2 * count :] == carried[count:]
    for name, attributes in arguments(text, "optimizer").items():
        assert "commsched.freeable" in attributes
        is_gradient = name.endswith("_grad")
        assert ('role = "parameter"' in attributes) != is_gradient


class Normed(torch.nn.BatchNorm1d):
    def forward(self, rows):
        return super().forward(rows).square().mean()


def make_normed(mesh):
    model = Normed(8)
    shard_parameters(model, mesh)
    return Sharded(model, [torch.empty(4, 8)])


@needs_opt
@pytest.mark.parametrize("first", ["joint", "forward"])
def test_updated_buffers_feed_the_next_repetition(first):
    made = TraceOptions(joint=first == "joint", optimizer="adamw")
    text = str(import_step(trace_step(make_normed, {"dp": 2}, made)))
    opt.run(text)
    results, step = returned(text), arguments(text, "step")
    fed = [results[int(re.search(r"carried = (\d+)", step[name])[1])]
           for name in operands(text, first) if "carried" in step[name]]
    assert fed == ["optimizer#0", "optimizer#1", *(f"{first}#{i}" for i in range(3))]
    assert operands(text, "optimizer")[2:4] == (
        ["joint#4", "joint#5"] if made.joint else ["backward#0", "backward#1"])
    assert results[-1] == f"{first}#3"


@pytest.fixture
def imported_step():
    """Traces a step to text, which commsched-opt accepts if it is there."""

    def run(options):
        text = traces.text(options)
        if opt.find() is not None:
            opt.run(text)
        return text

    return run


@pytest.mark.parametrize(
    ("others", "groups"),
    [
        ({"shards": 1, "layers": 1}, []),
        ({"shards": 2, "replicas": 2, "layers": 1}, ["dp"]),
        ({"shards": 2, "tensor": 2, "layers": 1}, ["tp", "dp"]),
        ({"model": "experts-tiny", "shards": 2, "experts": 2}, ["ep", "dp", "all"]),
    ],
    ids=["one-rank", "replicas", "tensor", "experts"],
)
def test_the_norm_is_reduced_once_over_each_group(others, groups):
    step = traces.step(options(clip_grad_norm=1.0, **others))
    reductions = calls(step.graphs["optimizer"], c10d.all_reduce.default)
    assert [node.args[-1] for node in reductions] == groups
    assert all(node.meta["val"].shape == () for node in reductions)
    assert set(groups) <= set(step.groups)


@pytest.mark.parametrize(("source", "message"), [
    (Source("step", 0), "fed by 'step', which is none of the graphs: f"),
    (Source("f", 1, 1), "by output 1 of 'f', which has 1 outputs"),
    (Source("f", 0), "of 'f' is fed by 'f', which does not run before it"),
])
def test_sources_that_are_not_there_are_errors(source, message):
    graph_module = torch.fx.symbolic_trace(torch.nn.Identity())
    for node in graph_module.graph.nodes:
        node.meta["val"] = torch.empty(2)
    (name,) = (node.name for node in graph_module.graph.find_nodes(op="placeholder"))
    with pytest.raises(GraphImportError, match=message):
        import_graphs([GraphSpec("f", graph_module, sources={name: source})])
