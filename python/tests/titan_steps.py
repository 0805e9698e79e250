# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains debug models of torchtitan on this rank of a gloo job, one by one.

    titan_steps.py CASES OUT

CASES is JSON: a list of settings of `titan.configuration`, with `options`, those
that CommSched's pipeline is registered with, if there are any. Writes OUT.RANK, as
JSON, with for each case: losses and norms of gradients by step, a digest of the
bytes of this rank's parameters, the seconds of the fastest step, what `cs.explain`
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

import titan


def watch(trainer):
    """Returns lists that fill as `trainer` trains: losses and norms of
    gradients, and the seconds, by step, and what the last step called."""
    from launch_order import Calls

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
    import torch

    import commsched.torch as cs
    from commsched.torch.compiling import records
    from commsched.torch.torchtitan import register
    from launch_order import watch_schedules

    torch._dynamo.reset()
    records.reset()
    if "options" in settings:
        register(**settings["options"])
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


def main():
    cases, out = json.loads(sys.argv[1]), sys.argv[2]
    titan.import_torchtitan()
    import torch

    torch.set_num_threads(1)
    results = [train(settings) for settings in cases]
    pathlib.Path(f"{out}.{os.environ['RANK']}").write_text(json.dumps(results))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
