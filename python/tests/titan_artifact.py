# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a debug model of torchtitan ahead of training, on processors.

    titan_artifact.py SETTINGS

SETTINGS is JSON: that of `titan.configuration`. Prints, as JSON: `planned`, the
order of launches, waits and products in the schedule, and `names`, the names of
artifacts of this pipeline, of it with other options, and of torchtitan's.
"""

import json
import sys
import types

import titan


class Processors(types.ModuleType):
    """PyTorch for a program that says "cuda:0"."""

    cuda = types.SimpleNamespace(set_device=lambda device: None)

    def __getattr__(self, name):
        import torch

        return getattr(torch, name)

    @staticmethod
    def device(name):
        import torch

        return torch.device("cpu" if name == "cuda:0" else name)


def main():
    titan.import_torchtitan()
    from torchtitan.experiments.graph_trainer import precompile, precompile_main

    import commsched.torch.torchtitan as pipeline
    from launch_order import watch_schedules

    precompile_main.torch = Processors("torch")
    planned = watch_schedules()
    config = titan.configuration(json.loads(sys.argv[1]), "")
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


if __name__ == "__main__":
    main()
