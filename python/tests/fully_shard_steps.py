# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models under FSDP2's `fully_shard` or `DistributedDataParallel`, trained as
they are and adopted."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import shutil
import tempfile
import warnings
from collections import defaultdict

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoints
from torch import nn
from torch.distributed._functional_collectives import all_to_all_single_autograd
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.utils.checkpoint import checkpoint

import commsched.torch as cs
from commsched.torch.compiling import records
from commsched.torch.compiling.store import current_job

WIDTH, VOCABULARY, STEPS = 32, 52, 3


class Experts(nn.Module):
    """Four, half of them on each rank of `group`. Each computes a quarter of the
    rows."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, WIDTH, WIDTH) * 0.1)
        self.group = None

    def exchange(self, rows):
        rows = rows.flatten(0, -2)
        rows = all_to_all_single_autograd(rows, None, None, self.group)
        return rows.view(2, 2, -1, WIDTH)

    def forward(self, x):
        rows = self.exchange(x.reshape(4, -1, WIDTH)).transpose(0, 1).flatten(1, 2)
        rows = torch.bmm(rows, self.weight.to_local()).view(2, 2, -1, WIDTH)
        return self.exchange(rows.transpose(0, 1)).view_as(x)


class Block(nn.Module):
    def __init__(self, recompute: bool = False, experts: bool = False):
        super().__init__()
        self.experts = Experts() if experts else None
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 3 * WIDTH)
        self.down = nn.Linear(3 * WIDTH, WIDTH)
        self.scale = nn.Parameter(torch.full((1,), 0.7))
        self.recompute = recompute

    def mix(self, x):
        x = self.norm(x)
        if self.experts is not None:
            x = self.experts(x)
        return self.down(torch.relu(self.up(x))) * self.scale

    def forward(self, x):
        if self.recompute:
            return x + checkpoint(self.mix, x, use_reentrant=False)
        return x + self.mix(x)


class Net(nn.Module):
    def __init__(
        self, tied: bool = True, recompute: bool = False, repeated: bool = False,
        normalized: bool = False, experts: bool = False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block(recompute, experts) for _ in range(2))
        self.normalize = nn.BatchNorm1d(WIDTH) if normalized else None
        nn.init.normal_(self.embedding.weight, std=0.05)
        self.repeated = repeated
        if not repeated:
            self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
            if tied:
                self.head.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            # The gradient of x is a sum of three, whose order tells.
            x = x + layer(x)
            if self.repeated:
                x = checkpoint(layer, x, use_reentrant=False)
        if self.normalize is not None:
            x = self.normalize(x.flatten(0, 1)).view_as(x)
        if self.repeated:
            logits = nn.functional.linear(x, self.embedding.weight)
        else:
            logits = self.head(x)
        logits = logits[:, :-1].flatten(0, 1)
        return nn.functional.cross_entropy(logits, tokens[:, 1:].flatten())


@dataclasses.dataclass
class Case:
    #: Options of the model, and of `fully_shard`; without, the model is under DDP.
    model: dict = dataclasses.field(default_factory=dict)
    options: dict | None = dataclasses.field(default_factory=dict)
    #: Of the mesh, and what its dimensions do.
    shape: tuple[int, ...] = (2,)
    dimensions: tuple[str, ...] = ("shard",)
    #: Whether only the last micro-batch of a step reduces gradients.
    accumulates: bool = False
    #: Whether the model is made without values, which it gets after it is adopted.
    empty: bool = False
    #: Of the collectives that have to be in the graphs.
    kinds: tuple[str, ...] = ("all_gather", "reduce_scatter")


LOW = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
LOWEST = MixedPrecisionPolicy(torch.bfloat16)
CASTS = MixedPrecisionPolicy(torch.bfloat16, output_dtype=torch.float32)
HYBRID = {"shape": (2, 2), "dimensions": ("replica", "shard")}
SEQUENCE = {
    "model": {"tied": False}, "shape": (2, 2), "dimensions": ("shard", "tensor"),
}
CASES = {
    "plain": Case({"tied": False}),
    "tied": Case(),
    "bfloat16": Case(options={"mp_policy": LOW}),
    "casts": Case(options={"mp_policy": CASTS}),
    "kept": Case(options={"reshard_after_forward": False}),
    "columns": Case(
        options={
            "shard_placement_fn": lambda p: Shard(p.ndim - 1) if p.ndim > 1 else None
        }
    ),
    "recomputed": Case({"recompute": True}),
    "grouped": Case(),
    "repeated": Case({"repeated": True}),
    "accumulated": Case({"normalized": True}, accumulates=True),
    "accumulated, bfloat16": Case(
        {"recompute": True}, {"mp_policy": LOW}, accumulates=True
    ),
    "resharded to two": Case(options={"reshard_after_forward": 2}, shape=(4,)),
    "replicated": Case(**HYBRID, kinds=("all_gather", "all_reduce")),
    "replicated, accumulated, bfloat16": Case(
        options={"mp_policy": LOWEST}, **HYBRID, accumulates=True
    ),
    "sequence parallel, empty, bfloat16": Case(
        options={"mp_policy": LOW}, **SEQUENCE, empty=True
    ),
    "sequence parallel, accumulated": Case(**SEQUENCE, accumulates=True),
    "sequence parallel, accumulated, bfloat16, replicated": Case(
        {"tied": False}, {"mp_policy": LOW}, (2, 1, 2), ("replica", "shard", "tensor"),
        accumulates=True, kinds=("all_gather", "all_reduce"),
    ),
    "experts, accumulated, bfloat16": Case(
        {"tied": False, "experts": True}, {"mp_policy": LOW}, (2, 2),
        ("shard", "expert"), accumulates=True, kinds=("all_to_all", "reduce_scatter"),
    ),
    "DDP": Case(options=None, kinds=("all_reduce",)),
    "DDP, repeated": Case({"repeated": True}, None, kinds=("all_reduce",)),
    "DDP, accumulated": Case(
        {"normalized": True}, None, accumulates=True,
        kinds=("merged: all_reduce", "broadcast"),
    ),
}


def make(name: str):
    case = CASES[name]
    torch.manual_seed(0)
    with torch.device("meta" if case.empty else "cpu"):
        model = Net(**case.model)
    if case.options is None:
        return nn.parallel.DistributedDataParallel(model)
    mesh = init_device_mesh("cpu", case.shape, mesh_dim_names=case.dimensions)
    inner = dict(case.options)
    if policy := inner.get("mp_policy"):
        inner["mp_policy"] = dataclasses.replace(policy, output_dtype=None)
    if "tensor" in case.dimensions:
        distribute_sequence(model, mesh["tensor"])
        mesh = mesh["shard"] if mesh.ndim == 2 else mesh["replica", "shard"]
    if "expert" in case.dimensions:
        distribute_experts(model, mesh, inner)
        mesh = init_device_mesh("cpu", (4,))
    if name == "grouped":
        fully_shard(list(model.layers), mesh=mesh, **inner)
    else:
        for layer in model.layers:
            fully_shard(layer, mesh=mesh, **inner)
    return fully_shard(model, mesh=mesh, **case.options)


def distribute_sequence(model: Net, mesh):
    """Tensors, and the sequence between them."""
    parts = {"input_layouts": Shard(1)}
    plan = {
        "embedding": RowwiseParallel(
            input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False
        ),
        "layers.*.norm": SequenceParallel(),
        "layers.*.up": ColwiseParallel(**parts),
        "layers.*.down": RowwiseParallel(
            output_layouts=Shard(1), use_local_output=False
        ),
        "head": ColwiseParallel(**parts, output_layouts=Replicate()),
    }
    parallelize_module(model, mesh, plan)
    for layer in model.layers:
        distribute(layer, "scale", mesh, Replicate())


def distribute_experts(model: Net, mesh, options: dict):
    for layer in model.layers:
        experts = layer.experts
        experts.group = mesh["expert"]
        distribute(experts, "weight", mesh["expert"], Shard(0))
        fully_shard(experts, mesh=mesh["shard"], **options)
        # They have the rows of all ranks.
        experts.set_gradient_divide_factor(4.0)
        experts.set_force_sum_reduction_for_comms(True)


def distribute(module: nn.Module, name: str, mesh, placement):
    tensor = distribute_tensor(getattr(module, name).detach(), mesh, [placement])
    setattr(module, name, nn.Parameter(tensor))


def fill(model: nn.Module):
    """Gives a model that is empty its values."""
    torch.manual_seed(0)
    model.to_empty(device="cpu")
    for module in model.modules():
        for name, _ in module.named_parameters(recurse=False):
            nn.init.normal_(getattr(module, name), std=0.2)


def clip_gradients(model: nn.Module) -> torch.Tensor:
    """`nn.utils.clip_grad_norm_`, which takes parameters of one mesh."""
    by_mesh = defaultdict(list)
    for parameter in model.parameters():
        by_mesh[getattr(parameter, "device_mesh", None)].append(parameter)
    norms = [
        get_local(nn.utils.get_total_norm([p.grad for p in parameters]), whole=True)
        for parameters in by_mesh.values()
    ]
    norm = torch.stack(norms).norm()
    for parameters in by_mesh.values():
        nn.utils.clip_grads_with_norm_(parameters, 1.0, norm)
    return norm


def train(rank: int, case: Case, model, optimizer, call, steps=STEPS, seed: int = 0):
    """Losses and norms of gradients."""
    is_replica = case.options is None
    if "tensor" in case.dimensions:
        rank //= 2  # Its ranks work on the same data.
    generator = torch.Generator().manual_seed(7 * rank + seed)
    told = []
    for _ in range(steps):
        # DDP reduces what was reduced before once more, which rounds otherwise.
        for last in (True,) if is_replica and not case.accumulates else (False, True):
            reduces = last or not case.accumulates
            if not is_replica:
                model.set_requires_gradient_sync(reduces)
                model.set_is_last_backward(last)
            tokens = torch.randint(VOCABULARY, (4, 16), generator=generator)
            with model.no_sync() if not reduces and is_replica else SYNCHRONOUS:
                loss = call(tokens)
                loss.backward()
        norm = clip_gradients(model)
        optimizer.step()
        optimizer.zero_grad()
        told.append((loss.item(), norm.item()))
    return told


SYNCHRONOUS = contextlib.nullcontext()


def get_local(tensor, whole: bool = False):
    if not isinstance(tensor, DTensor):
        return tensor
    return tensor.full_tensor() if whole else tensor.to_local()


def state(model):
    return {name: get_local(v).clone() for name, v in model.state_dict().items()}


def differs(model, other) -> bool:
    values, others = state(model), state(other)
    return any(not torch.equal(value, others[name]) for name, value in values.items())


def load_saved(case: str, model, optimizer):
    """Another model under `fully_shard`, and its optimizer's state, from a checkpoint
    of both."""
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder)
    other = make(case)
    other_optimizer = torch.optim.AdamW(other.parameters(), foreach=False)
    saved = get_state_dict(model, optimizer)
    checkpoints.save(dict(zip(("model", "optimizer"), saved)), checkpoint_id=folder[0])
    loaded = dict(zip(("model", "optimizer"), get_state_dict(other, other_optimizer)))
    checkpoints.load(loaded, checkpoint_id=folder[0])
    set_state_dict(
        other, other_optimizer, model_state_dict=loaded["model"],
        optim_state_dict=loaded["optimizer"],
    )
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder[0])
    return other, other_optimizer


def compare(rank: int, case: str, inner: str):
    """Trains both models; then saves, releases and trains on. Returns what differs,
    and what `explain` says."""
    warnings.filterwarnings("ignore", ".*all_gather.*deprecated.*")
    differing, told, states = [], [], []
    said = io.StringIO()
    for adopted in (False, True):
        model = make(case)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
        names = [name for name, _ in model.named_parameters()]
        call = model
        if adopted:
            assert cs.adopt(model) is model
            torch._dynamo.reset()
            call = torch.compile(
                model,
                backend="commsched",
                fullgraph=True,
                options={"inner": inner, "memory_budget": "50%"},
            )
        if CASES[case].empty:
            fill(model)
        found = [train(rank, CASES[case], model, optimizer, call), state(model)]
        if adopted:
            with contextlib.redirect_stdout(said):
                cs.explain(call)
            # Into another model that is adopted, as a checkpoint is.
            other = cs.adopt(make(case))
            if CASES[case].empty:
                other.to_empty(device="cpu")
            other.load_state_dict(model.state_dict())
            if differs(other, model):
                differing.append("a loaded state")
            if case == "plain":
                other, other_optimizer = load_saved(case, model, optimizer)
                if differs(other, model):
                    differing.append("a saved state")
                train(rank, CASES[case], other, other_optimizer, other, 1, seed=1)
            assert cs.release(model) is model
        found.append(train(rank, CASES[case], model, optimizer, model, steps=1, seed=1))
        if adopted and case == "plain" and differs(other, model):
            differing.append("what was trained after it was saved")
        assert names == [name for name, _ in model.named_parameters()]
        told.append(found[::2])
        states.append(found[1])
    if told[0] != told[1]:
        differing.append(f"losses and norms: {told[0]} and {told[1]}")
    for name, value in states[0].items():
        if not torch.equal(value, states[1][name]):
            differing.append(name)
    return differing, said.getvalue()


def compare_all(rank: int, cases: list[str], inner: str):
    return {case: compare(rank, case, inner) for case in cases}


def adopted(model: nn.Module, way: str):
    """What calls a model that is left as it is, adopted, or compiled besides."""
    if way != "plain":
        cs.adopt(model)
    if way != "compiled":
        return model
    torch._dynamo.reset()
    return torch.compile(model, backend="commsched", options={"inner": "eager"})


class Twice(nn.Module):
    """Uses a parameter before and behind a break of the graph, and one as often as
    data says, which ranks do not share; sets a buffer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.scale = nn.Parameter(torch.ones(8))
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x):
        x = torch.tanh(self.layer(x) + self.mean)
        self.mean = x.detach().mean(0)
        for _ in range(1 + dist.get_rank()):
            torch._dynamo.graph_break()
            x = x * self.scale
        return torch.tanh(self.layer(x)).square().sum()


def accumulate_twice(rank: int, is_replica: bool, way: str):
    """Gradients of three steps of three micro-batches each, of which the last reduces;
    in the third step this is said behind its forward. An adopted model gets other
    parameters with the same values between them."""
    torch.manual_seed(0)
    model = Twice()
    if is_replica:
        model = nn.parallel.DistributedDataParallel(model)
    else:
        fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    call = adopted(model, way)
    generator = torch.Generator().manual_seed(rank)
    found, seen = [], []
    for is_late in (False, False, True):
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.shape))
        for last in (False, False, True):
            if not is_replica:
                model.set_requires_gradient_sync(last and not is_late)
            with SYNCHRONOUS if last or not is_replica else model.no_sync():
                loss = call(torch.randn(4, 8, generator=generator))
                if not is_replica:
                    model.set_requires_gradient_sync(last)
                loss.backward()
        found += [get_local(p.grad).clone() for p in model.parameters()]
        model.zero_grad()
        if way != "plain":
            values = {name: v.clone() for name, v in model.state_dict().items()}
            model.load_state_dict(values, assign=True)
    return found


def make_pair():
    """Models of one class over two meshes."""
    for shape in ((2,), (2, 1)):
        torch.manual_seed(0)
        names = ("replica", "shard")[-len(shape):]
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
        yield fully_shard(Net(tied=False), mesh=mesh)


def interrupt(rank: int, is_adopted: bool):
    """Losses and parameters of both models of a pair, of which compiled code of one
    function trains the first. A micro-batch of it raises, and the model is released
    and adopted again."""
    model, other = make_pair()
    optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)

    def call(model, tokens):
        return model(tokens)

    if is_adopted:
        torch._dynamo.reset()
        call = torch.compile(call, backend="commsched", options={"inner": "eager"})
        cs.adopt(model)
        cs.adopt(other)
    generator = torch.Generator().manual_seed(rank)
    told = []

    def run(model, shift: int = 0):
        tokens = torch.randint(VOCABULARY, (4, 16), generator=generator)
        loss = call(model, tokens + shift)
        loss.backward()
        told.append(loss.item())

    for release in (True, False):
        model.set_requires_gradient_sync(False)
        with contextlib.suppress(IndexError):
            run(model, shift=VOCABULARY)
            told.append("no error")
        model.reset_iter_state()
        run(model)
        model.set_requires_gradient_sync(True)
        run(model)
        run(other)
        optimizer.step()
        optimizer.zero_grad()
        if is_adopted:
            cs.release(model)
            cs.adopt(model) if release else cs.release(other)
    return told, [state(model), state(other)]


def train_half(rank: int, is_adopted: bool):
    """Losses and parameters of a model whose layers alone are under `fully_shard`,
    with hooks of the user's own at the first, and what those have seen."""
    torch.manual_seed(0)
    model = Net(tied=False)
    seen = []
    mesh = init_device_mesh("cpu", (2,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    first = model.layers[0]
    first.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 0.9,))
    first.register_forward_hook(lambda module, inputs, output: output + inputs[0])
    first.up.register_full_backward_hook(
        lambda module, gradients, _: seen.append(gradients[0].abs().sum().item())
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    call = adopted(model, "compiled" if is_adopted else "plain")
    generator = torch.Generator().manual_seed(rank)
    losses = []
    for _ in range(STEPS):
        loss = call(torch.randint(VOCABULARY, (4, 16), generator=generator))
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    return (losses, seen), [state(model)]


class Hidden(nn.Linear):
    def forward(self, x):
        return (x @ self._parameters["weight"] + self.bias).square().mean()


def use_hidden(rank: int, way: str):
    """The gradients of three backwards of a replica that uses a parameter without
    reading it, of which the second reduces no gradients; and warnings."""
    torch.manual_seed(0)
    records.reset()
    model = nn.parallel.DistributedDataParallel(Hidden(8, 8))
    call = adopted(model, way)
    generator = torch.Generator().manual_seed(rank)
    found = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", cs.CommSchedWarning)
        for last in (True, False, True):
            with SYNCHRONOUS if last else model.no_sync():
                call(torch.randn(4, 8, generator=generator)).backward()
            if last:
                found += [p.grad.flatten().clone() for p in model.parameters()]
                model.zero_grad()
    messages = [str(w.message) for w in said if w.category is cs.CommSchedWarning]
    return torch.cat(found), messages


def adopt_apart(rank: int):
    """What is said where each rank adopts another half of a model; None to the first."""
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    fully_shard(model[rank], mesh=init_device_mesh("cpu", (2,)))
    try:
        cs.adopt(model)
    except cs.RanksDiffer as error:
        return str(error)


def adopt_alone(rank: int):
    """What is said to a rank that runs a model that it alone has adopted."""
    model = fully_shard(nn.Linear(8, 8), mesh=init_device_mesh("cpu", (2,)))
    if rank == 0:
        current_job().timeout = 0.2
        try:
            cs.adopt(model)(torch.ones(1, 8))
        except cs.RanksSilent as error:
            return str(error)


def check_all(rank: int):
    ways = ("plain", "eager", "compiled")
    return {
        (is_replica, way): accumulate_twice(rank, is_replica, way)
        for is_replica in (False, True)
        for way in ways
    }, [
        [run(rank, is_adopted) for is_adopted in (False, True)]
        for run in (interrupt, train_half)
    ], [use_hidden(rank, way) for way in ways], [adopt_apart(rank), adopt_alone(rank)]
