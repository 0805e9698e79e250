# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests do with torchtitan, in processes of their own; arguments are JSON.

    titan_jobs.py print_passes CASES

prints which passes pipelines have, by the name of the case. CASES are settings of
`titan.configuration`, or the arguments of torchtitan's command line. A case is a list
of names of passes, or the text of the error.

    titan_jobs.py print_artifact SETTINGS

compiles a debug model ahead of training, on processors. Prints `planned`, the order of
launches, waits and products in the schedule, and `names`, the names of artifacts of
this pipeline, of it with other options, and of torchtitan's.

    titan_jobs.py train_all CASES OUT

trains debug models on this rank of a gloo job, one by one. CASES is a list of settings,
with `options`, those that CommSched's pipeline is registered with, if there are any.
Writes OUT.RANK with for each case: losses and norms of gradients by step, a digest of
the bytes of this rank's parameters, the seconds of the fastest step, what `cs.explain`
says, and the order of launches, waits and products: `planned`, in each graph's
schedule, and `ran`, as the last step called them.
"""

import hashlib
import json
import os
import pathlib
import sys
import tempfile
import time
import types

import titan

titan.import_torchtitan()
import torch  # noqa: E402
import commsched.torch as cs  # noqa: E402
import commsched.torch.torchtitan as pipeline  # noqa: E402
from commsched.torch.compiling import records  # noqa: E402
from launch_order import Calls, watch_schedules  # noqa: E402


def passes(settings, registry):
    from torchtitan.config import ConfigManager

    if isinstance(settings, list):
        config = ConfigManager().parse_args(settings)
    else:
        config = titan.configuration({"steps": 1, "layers": 2, **settings}, "")
        if "pipelining_fn" in settings:
            config.model_spec.pipelining_fn = settings["pipelining_fn"]
    name = config.compile.pass_pipeline
    degree = config.parallelism.pipeline_parallel_degree
    dims = types.SimpleNamespace(pp_enabled=degree > 1)
    traced = types.SimpleNamespace(
        num_static_inputs=3, state_fqns=["a", "b"], tensor_input_indices=[]
    )
    trainer = types.SimpleNamespace(config=config, parallel_dims=dims)
    try:
        registry.POST_INIT_HOOKS[name](trainer)
        if dims.pp_enabled:
            return names(passes_of_stage(config, traced))
        found = registry.PASS_PIPELINE_REGISTRY[name](
            traced, config, parallel_dims=dims
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return names(found)


def names(passes):
    return [getattr(each, "func", each).__name__ for each in passes]


def passes_of_stage(config, traced):
    """Those before torchtitan divides a stage's graph, and behind."""
    from torchtitan.experiments.graph_trainer.graph_pp import graph_builder

    return [
        *graph_builder.compile_time_passes(traced, config, include_inductor=False),
        *graph_builder.final_inductor_compile_passes(config.compile),
    ]


def print_passes(cases):
    from torchtitan.experiments.graph_trainer import passes as titan_passes
    from torchtitan.experiments.graph_trainer import registry

    registry.PASS_PIPELINE_REGISTRY["default"] = (
        titan_passes.construct_default_graph_passes
    )
    registry.POST_INIT_HOOKS["default"] = lambda trainer: None
    print(json.dumps({k: passes(v, registry) for k, v in cases.items()}))


class Processors(types.ModuleType):
    """PyTorch for a program that says "cuda:0"."""

    cuda = types.SimpleNamespace(set_device=lambda device: None)

    def __getattr__(self, name):
        return getattr(torch, name)

    @staticmethod
    def device(name):
        return torch.device("cpu" if name == "cuda:0" else name)


def print_artifact(settings):
    from torchtitan.experiments.graph_trainer import precompile, precompile_main

    precompile_main.torch = Processors("torch")
    planned = watch_schedules()
    config = titan.configuration(settings, "")
    parts = precompile_main._common_setup(config)
    precompile_main._precompile_aot_fx_trace(config, *parts)

    def name():
        model, _, _, settings, dims = parts[:5]
        return precompile.compute_config_fingerprint(model, settings, dims)

    names = [name()]
    pipeline.register(memory_budget="20%")
    names.append(name())
    config.compile.pass_pipeline = "default"
    names.append(name())
    print(json.dumps({"planned": planned[-1], "names": names}))


def watch(trainer):
    """Returns lists that fill as `trainer` trains: losses and norms of
    gradients, and the seconds, by step, and what the last step called."""
    figures, seconds, calls = [], [], Calls()
    metrics = trainer.metrics_processor
    name = "_make_fx_forward_backward_step"
    if trainer.parallel_dims.pp_enabled:
        name = "pp_forward_backward_step"
    run = getattr(trainer, name)

    def log(step, average, largest, norm, **_):
        figures.append([average, largest, norm])

    def timed(*arguments, **named):
        started = time.perf_counter()
        if len(seconds) + 1 < trainer.config.training.steps:
            result = run(*arguments, **named)
        else:
            with calls:
                result = run(*arguments, **named)
        seconds.append(time.perf_counter() - started)
        return result

    metrics.log = log
    setattr(trainer, name, timed)
    return figures, seconds, calls.names


def digest(models):
    """Returns a digest of the bytes of all parameters of this rank."""
    found = hashlib.sha256()
    for model in models:
        for name, parameter in sorted(model.named_parameters()):
            local = getattr(parameter, "to_local", lambda: parameter)()
            found.update(name.encode())
            found.update(local.detach().contiguous().numpy().tobytes())
    return found.hexdigest()


def train(settings):
    torch._dynamo.reset()
    records.reset()
    if "options" in settings:
        pipeline.register(**settings["options"])
    planned = watch_schedules()
    with tempfile.TemporaryDirectory() as folder:
        trainer = titan.configuration(settings, folder).build()
        figures, seconds, ran = watch(trainer)
        trainer.train()
    trainer.close()
    return {
        "figures": figures,
        "parameters": digest(trainer.model_parts),
        "seconds": min(seconds[1:-1]),
        "explained": str(cs.explain()),
        # What follows is watched, too.
        "planned": list(planned),
        "ran": ran,
    }


def train_all(cases, out):
    torch.set_num_threads(1)
    results = [train(settings) for settings in cases]
    pathlib.Path(f"{out}.{os.environ['RANK']}").write_text(json.dumps(results))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    job, given, *more = sys.argv[1:]
    globals()[job](json.loads(given), *more)
