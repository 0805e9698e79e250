# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces whole training steps of torchtitan's, as one of their ranks has them,
and compares CommSched's schedule with buckets of torchtitan and of PyTorch.

    titan_graphs.py [--cases REGEX] [--folder FOLDER] -o CSV

No rank and no memory of a model is there: the process group is fake, and so are
parameters. The steps are those of `titan_cases.py`. Their programs are kept in
FOLDER, as bytecode, and are not made again if they are there:

    NAME.import.mlirbc  as traced, behind what torchtitan does before it merges
                        collectives
    NAME.manual.mlirbc  behind torchtitan's own pass that does
    NAME.auto.mlirbc    behind PyTorch's schedule_overlap_bucketing, with the
                        times that CommSched simulates by
    NAME.applied.mlirbc behind CommSched's pass, with --put-back

torchtitan 0.3.0 and what is in testsupport have to be on PYTHONPATH.
docs/results/torchtitan.md says how, and has the table.
"""

import argparse
import copy
import csv
import importlib
import json
import math
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from unittest import mock

import titan
from titan_cases import CASES

BUCKETING = "joint_transformer_block_bucketing_reordering_pass"
#: What a step may take to trace, and a schedule.
SECONDS = 3600
#: The programs of a step, and CommSched's schedules, by their columns' names.
KINDS = {
    "import": "input",
    "manual": "torchtitan",
    "auto": "pytorch",
    "ours": "ours",
    "ours_auto": "ours_at_pytorch",
    "applied": "put_back",
}
#: The columns of each, what they are in a report, and their units.
FIGURES = (
    ("ms", "step_time_ns", 1e6),
    ("peak_mib", "peak_memory_bytes", 1 << 20),
    ("collectives", "num_collectives", 1),
)
#: The passes behind which the graph is as the bucketing pass leaves it.
LAST = ("concretize_ep_chunk_symbolic_shapes_pass", BUCKETING)


def import_model(name):
    """Returns the package of a model, and the configuration of its debug
    model, in the flavor that is named."""
    absent = titan.pretend_missing("triton", "triton.language")
    absent += titan.pretend_missing("datasets", "datasets.distributed")
    base = f"torchtitan.experiments.graph_trainer.{name}"
    package = importlib.import_module(base)
    registry = importlib.import_module(base + ".config_registry")
    for module in absent:
        del sys.modules[module]
    return package, registry


def configuration(settings):
    """Returns torchtitan's configuration of a step."""
    from torchtitan.components.loss import ChunkedLossWrapper
    from torchtitan.models.common.config_utils import decoder_vocab_size

    name = settings["model"]
    package, registry = import_model(name)
    config = getattr(registry, f"graph_trainer_{name}_debugmodel")()
    config.model_spec = package.model_registry(
        settings["flavor"],
        attn_backend=settings.get("attention", "flex"),
        **settings.get("registry", {}),
    )
    vocabulary = decoder_vocab_size(config.model_spec)
    loss = config.loss
    if isinstance(loss, ChunkedLossWrapper.Config):
        loss = loss.loss_fn
    loss.global_vocab_size = vocabulary
    layers = settings.get("layers")
    if layers is not None:
        del config.model_spec.model.layers[layers:]
    config.compile.disable_passes = ["cudagraph_pass"]
    config.training.disable_cuda_graphs = True
    for part in ("parallelism", "compile", "training"):
        titan.change(getattr(config, part), settings.get(part, {}))
    return config


def parallel_dims(config):
    """The meshes of a fake group of as many ranks as the degrees need."""
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torchtitan.distributed import ParallelDims

    degrees = config.parallelism
    world = math.prod(
        (
            degrees.data_parallel_replicate_degree,
            degrees.data_parallel_shard_degree,
            degrees.context_parallel_degree,
            degrees.tensor_parallel_degree,
        )
    )
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    dims = ParallelDims.from_config(degrees, world)
    dims.build_mesh()
    return dims


def trace(config):
    """Returns torchtitan's traced step, and its meshes."""
    import torch
    from torch._subclasses import FakeTensorMode
    from torchtitan.components.loss import ChunkedLossWrapper
    from torchtitan.config import TORCH_DTYPE_MAP
    from torchtitan.distributed import utils as dist_utils
    from torchtitan.experiments.graph_trainer import trainer as titan_trainer
    from torchtitan.tools import utils

    dist_utils.set_spmd_backend(config.parallelism.spmd_backend)
    dims = parallel_dims(config)
    spec = config.model_spec
    spec.model.update_from_config(config=config)
    with (
        torch.device("meta"),
        utils.set_default_dtype(TORCH_DTYPE_MAP[config.training.dtype]),
    ):
        model = spec.model.build()
    model = spec.parallelize_fn(
        model,
        parallel_dims=dims,
        training=config.training,
        parallelism=config.parallelism,
        compile_config=config.compile,
        ac_config=config.activation_checkpoint,
        dump_folder="",
    )
    loss = config.loss.build(compile_config=config.compile)
    if isinstance(loss, ChunkedLossWrapper):
        loss.set_lm_head(model.lm_head)
        model._skip_lm_head = True
    trainer = object.__new__(titan_trainer.GraphTrainer)
    trainer.config, trainer.parallel_dims = config, dims
    trainer.model_parts, trainer.loss_fn = [model], loss
    trainer.model_config, trainer.device = spec.model, torch.device("cpu")
    trainer.ntokens_seen, trainer._traced_step = 0, None
    trainer.train_context = dist_utils.get_spmd_context(parallel_dims=dims)
    shape = config.training.local_batch_size, config.training.seq_len
    with FakeTensorMode(allow_non_fake_inputs=True):
        model.to_empty(device="cpu")
    model.train()
    tokens = torch.zeros(shape, dtype=torch.int64)
    places = torch.arange(shape[1], dtype=torch.int32).expand(shape)
    total = torch.tensor(math.prod(shape))
    batch = {"input": tokens, "positions": places}
    # Both refuse processors, or take a compiler for what is only traced.
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    flex._validate_device = lambda *_: None
    attention = importlib.import_module("torchtitan.models.common.attention")
    attention._compiled_create_block_mask = flex.create_block_mask
    traced = None

    def stop(gm, inputs, passes, **_):
        raise Traced(passes)

    with mock.patch.object(titan_trainer, "apply_graph_passes", stop):
        try:
            trainer.forward_backward_step(
                input_dict=batch, labels=tokens, global_valid_tokens=total
            )
        except Traced as found:
            traced = found
    return trainer._traced_step, traced.passes


class Traced(Exception):
    """Raised with the list of passes where torchtitan would apply them."""

    def __init__(self, passes):
        super().__init__("traced")
        self.passes = passes


def name_of(each):
    return getattr(each, "func", each).__name__


def apply(gm, inputs, passes, config):
    from torchtitan.experiments.graph_trainer.passes import apply_graph_passes

    return apply_graph_passes(gm, inputs, passes, compile_config=config.compile)


def write(gm, parameters, path):
    """Writes the program of a graph."""
    from commsched import opt
    from commsched.torch.compiling.graph_pass import GraphPass
    from commsched.torch.compiling.options import Options
    from commsched.torch.compiling.schedule import import_options
    from commsched.torch.importer.graphs import GraphSpec, import_graphs
    from commsched.torch.importer.ordering import put_in_order

    options = Options.of({"target": "h100", "strict": True})
    put_in_order(gm.graph)
    roles = GraphPass(options, parameters)._roles(gm.graph, ())
    spec = GraphSpec("step", gm, "step", roles)
    text = str(import_graphs([spec], import_options(options, gm)))
    command = [opt.find(), "-", "--emit-bytecode", "-o", path]
    subprocess.run(command, input=text, text=True, check=True)


def automatic(gm):
    """Merges and orders as PyTorch does, with the times that CommSched
    simulates by."""
    import commsched.torch as cs
    from torch._inductor.fx_passes.overlap_scheduling import (
        schedule_overlap_bucketing,
    )

    return schedule_overlap_bucketing(
        gm,
        collective_bucketing=True,
        custom_runtime_estimation=cs.runtime_estimator(target="h100"),
        compute_estimator="analytical",
    )


def trace_variants(settings, out, kinds):
    """Writes the programs of a step; those that fail are said and left out."""
    config = configuration(settings)
    begin = time.perf_counter()
    traced, passes = trace(config)
    names = [name_of(each) for each in passes]
    print(f"traced in {time.perf_counter() - begin:.1f} s: {names}", flush=True)
    parameters, inputs = traced.num_static_inputs, list(traced.example_inputs)
    place = names.index(BUCKETING)
    last = max(names.index(name) for name in LAST if name in names) + 1
    others = passes[place:last]
    if names[last - 1] == BUCKETING:
        others = []  # Chunks of experts are not interleaved without the buckets.
    gm = apply(traced.gm, inputs, passes[:place], config)
    makers = {
        "import": lambda graph: graph,
        "manual": lambda graph: graph,
        "auto": automatic,
        "applied": lambda graph: scheduled(graph, parameters),
    }
    for kind in kinds:
        begin = time.perf_counter()
        try:
            behind = passes[place:last] if kind == "manual" else others
            graph = apply(copy.deepcopy(gm), inputs, behind, config)
            write(makers[kind](graph), parameters, f"{out}.{kind}.mlirbc")
        except Exception as error:
            traceback.print_exc()
            print(f"{kind}: FAILED {type(error).__name__}: {error}", flush=True)
        else:
            print(f"{kind}: {time.perf_counter() - begin:.1f} s", flush=True)


def scheduled(gm, parameters):
    """Schedules a graph by CommSched's pass."""
    import commsched.torch as cs

    run = cs.schedule_pass(
        parameters=parameters, target="h100", agree=False, strict=True
    )
    gm = run(gm)
    print(cs.explain(), flush=True)
    return gm


def in_child(settings, out, kinds):
    """Traces a step in a process of its own, since torchtitan changes classes
    and has one world; what it prints is in OUT.log."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        with open(f"{out}.log", "w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        signal.alarm(SECONDS)
        trace_variants(settings, out, kinds)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def report(program, *flags):
    """What commsched-report says of a program behind passes."""
    from commsched import opt

    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        flag = f"--commsched-report=format=json output={file.name}"
        command = [opt.find(), program, *flags, flag, "-o", os.devnull]
        subprocess.run(command, check=True, timeout=SECONDS)
        (line,) = pathlib.Path(file.name).read_text().splitlines()
    return json.loads(line)


def row(name, out):
    """The row of a step: its figures as traced, behind each peer, and in CommSched's
    schedule at torchtitan's peak, or 5 % over that as traced if that is more; then, if
    that is longer than PyTorch's, at PyTorch's peak."""
    found = {
        kind: report(f"{out}.{kind}.mlirbc")
        for kind in KINDS
        if os.path.exists(f"{out}.{kind}.mlirbc")
    }

    def scheduled_within(budget):
        flag = f"--commsched-pipeline=memory-budget={budget}"
        begin = processor_time()
        answer = report(f"{out}.import.mlirbc", flag)
        return {**answer, "seconds": processor_time() - begin}

    def peak(kind):
        return found[kind]["peak_memory_bytes"] if kind in found else 0

    budget = max(int(1.05 * peak("import")), peak("manual"))
    ours = found["ours"] = scheduled_within(budget)
    longer = peak("auto") and ours["step_time_ns"] > found["auto"]["step_time_ns"]
    if longer and peak("auto") > budget:
        found["ours_auto"] = scheduled_within(peak("auto"))
    cells = {"step": name, "operations": found["import"]["num_ops"]}
    for kind, title in KINDS.items():
        for column, key, unit in FIGURES:
            value = f"{found[kind][key] / unit:.5g}" if kind in found else ""
            cells[f"{title}_{column}"] = value
    cells["bound_ms"] = f"{ours['merging_lower_bound_ns'] / 1e6:.5g}"
    cells["schedule_s"] = f"{ours['seconds']:.1f}"
    return cells


def processor_time():
    """Seconds that processes have used which have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read(path):
    """The rows of a CSV file by step, if it is there."""
    if not os.path.exists(path):
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {cells["step"]: cells for cells in csv.DictReader(file)}


def write_rows(path, rows):
    first = next(iter(rows.values()))
    with open(path, "w", newline="", encoding="utf-8") as file:
        output = csv.DictWriter(file, list(first), lineterminator="\n")
        output.writeheader()
        output.writerows(rows[name] for name in CASES if name in rows)


def print_table(rows):
    """Prints rows as the page has them: times, with the peaks in parentheses."""
    titles = ("input", "torchtitan", "pytorch", "ours", "ours_at_pytorch")
    head = ["step", "operations", *(t.replace("_", " ") for t in titles), "bound"]
    print("| " + " | ".join(head) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|")
    for name in CASES:
        if name not in rows:
            continue
        cells, line = rows[name], [name, rows[name]["operations"]]
        for title in titles:
            time, size = cells[f"{title}_ms"], cells[f"{title}_peak_mib"]
            line.append(f"{time} ({size})" if time else "")
        print("| " + " | ".join([*line, cells["bound_ms"]]) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cases", default="", help="a pattern of names")
    parser.add_argument("--folder", default="build/titan-graphs")
    parser.add_argument(
        "--put-back", action="store_true", help="by CommSched's pass, too"
    )
    parser.add_argument(
        "-o", "--output", required=True, help="CSV file, in which rows are replaced"
    )
    options = parser.parse_args()
    titan.import_torchtitan()
    import commsched.torch  # noqa: F401

    kinds = ["import", "manual", "auto"] + ["applied"] * options.put_back
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, settings in CASES.items():
        if not re.search(options.cases, name):
            continue
        out = folder / name
        if not os.path.exists(f"{out}.log"):
            in_child(settings, out, kinds)
        if not os.path.exists(f"{out}.import.mlirbc"):
            print(f"{name}: not traced, see {out}.log", file=sys.stderr)
            continue
        try:
            made = row(name, out)
        except subprocess.SubprocessError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        write_rows(options.output, {**read(options.output), name: made})
    print_table(read(options.output))


if __name__ == "__main__":
    main()
