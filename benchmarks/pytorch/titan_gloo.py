# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures debug models of torchtitan on gloo ranks of this machine.

    titan_gloo.py [--model MODEL] [--parallelism JSON] [--memory-budget BUDGET]
                  [--ranks N] [--turns N]

One job trains the model. In each turn it makes a step without any passes, one
with torchtitan's own and one with CommSched's in their place, so that other load
of the machine meets all of them. Prints the median of the slowest rank's seconds
for each, and how much shorter than torchtitan's the median of a turn is, as JSON.
testsupport and torchtitan 0.3.0 have to be on PYTHONPATH.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import titan

#: What a step is made with, by fields of torchtitan's `compile`.
VARIANTS = {
    "unscheduled": {"enable_passes": False, "pass_pipeline": "default"},
    "torchtitan": {"enable_passes": True, "pass_pipeline": "default"},
    "commsched": {"enable_passes": True, "pass_pipeline": "commsched"},
}


def train(settings, out):
    """Trains on this rank; rank 0 writes the seconds of each step's slowest
    rank, by variant, and what was scheduled."""
    titan.import_torchtitan()
    import torch
    import torch.distributed as dist

    import commsched.torch as cs
    from commsched.torch import torchtitan

    torchtitan.register(memory_budget=settings["memory_budget"])
    torch.set_num_threads(1)
    settings["steps"] = len(VARIANTS) * (1 + settings["turns"])
    seconds = {name: [] for name in VARIANTS}
    traced = dict.fromkeys(VARIANTS)
    with tempfile.TemporaryDirectory() as folder:
        trainer = titan.configuration(settings, folder).build()
        run = trainer._make_fx_forward_backward_step
        names = iter(list(VARIANTS) * (1 + settings["turns"]))

        def timed(*arguments):
            name = next(names)
            titan.change(trainer.config.compile, VARIANTS[name])
            trainer._traced_step = traced[name]
            dist.barrier()
            started = time.perf_counter()
            result = run(*arguments)
            took = torch.tensor(time.perf_counter() - started)
            dist.all_reduce(took, dist.ReduceOp.MAX)
            traced[name] = trainer._traced_step
            seconds[name].append(took.item())
            return result

        trainer._make_fx_forward_backward_step = timed
        trainer.train()
    if dist.get_rank() == 0:
        # The first of each is compiled.
        measured = {k: v[1:] for k, v in seconds.items()}
        found = {"seconds": measured, "explained": str(cs.explain())}
        pathlib.Path(out).write_text(json.dumps(found))
    trainer.close()
    dist.destroy_process_group()


def main():
    from ranks import run_ranks

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", default="llama3", choices=("llama3", "deepseek_v3"))
    parser.add_argument("--parallelism", default="{}", help="torchtitan's fields")
    parser.add_argument("--memory-budget", default="5%", help="CommSched's")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--layers", type=int, help="all, if not given")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--timeout", type=float, default=3600)
    options = parser.parse_args()
    settings = {
        "model": options.model,
        "layers": options.layers,
        "turns": options.turns,
        "parallelism": json.loads(options.parallelism),
        "memory_budget": options.memory_budget,
    }
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        run_ranks(
            __file__,
            options.ranks,
            timeout=options.timeout,
            env={"PYTHONPATH": os.environ["PYTHONPATH"]},
            args=[json.dumps(settings), str(out)],
        )
        measured = json.loads(out.read_text())
    print(measured["explained"], file=sys.stderr)
    seconds = measured["seconds"]
    found = {k: round(statistics.median(v), 4) for k, v in seconds.items()}
    turns = zip(seconds["commsched"], seconds["torchtitan"])
    ratio = statistics.median(ours / theirs for ours, theirs in turns)
    found["commsched/torchtitan"] = round(ratio, 3)
    print(json.dumps({**settings, "ranks": options.ranks, "seconds": found}))


if __name__ == "__main__":
    if "RANK" in os.environ:
        train(json.loads(sys.argv[1]), sys.argv[2])
    else:
        main()
