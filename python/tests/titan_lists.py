# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints which passes pipelines of CommSched have, as JSON.

    titan_lists.py CASES

CASES is JSON: settings of `titan.configuration` by the name of the case, or the
arguments of torchtitan's command line. A case is a list of names of passes, or
the text of the error.
"""

import json
import sys
import types

import titan


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


def main():
    titan.import_torchtitan()
    from torchtitan.experiments.graph_trainer import passes as titan_passes
    from torchtitan.experiments.graph_trainer import registry

    import commsched.torch.torchtitan  # noqa: F401

    registry.PASS_PIPELINE_REGISTRY["default"] = (
        titan_passes.construct_default_graph_passes
    )
    registry.POST_INIT_HOOKS["default"] = lambda trainer: None
    cases = json.loads(sys.argv[1])
    print(json.dumps({k: passes(v, registry) for k, v in cases.items()}))


if __name__ == "__main__":
    main()
