# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchtitan on a machine without an accelerator.

torchtitan is made for GPUs. What it needs of one is replaced here, and so are
packages that it imports and that no debug model uses. None of that has part in
the passes over the graph.
"""

import dataclasses
import importlib
import importlib.util
import inspect
import sys
import time
import types


class Pretended(types.ModuleType):
    """A package that is missing, with members for what is imported of it."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None

    def jit(self, function=None, **_):
        return function or (lambda function: function)


def pretend_missing(package, *modules):
    """Makes imports of a package succeed where it is missing, until the names
    that are returned are taken out of `sys.modules`."""
    if importlib.util.find_spec(package) is not None:
        return []
    names = [package, *modules]
    for name in names:
        sys.modules[name] = Pretended(name)
    for name in modules:
        setattr(sys.modules[package], name.rpartition(".")[2], sys.modules[name])
    return names


def import_torchtitan():
    """Imports the trainer on a machine without an accelerator, without
    packages that only kernels for GPUs and data sets of the hub need."""
    import torch

    # They look for Triton, and take what is there for a whole one.
    import torch._dynamo
    import torch._inductor.compile_fx  # noqa: F401

    torch._utils._get_available_device_type = lambda: "cpu"
    cpu = torch.cpu
    cpu.get_device_name = lambda device=None: "CPU"
    cpu.get_device_properties = lambda device=None: types.SimpleNamespace(
        total_memory=1 << 34
    )
    cpu.reset_peak_memory_stats = lambda device=None: None
    cpu.empty_cache = lambda: None
    cpu.memory_stats = lambda device=None: {}
    absent = pretend_missing("triton", "triton.language")
    absent += pretend_missing("datasets", "datasets.distributed")
    absent += pretend_missing("tensorboard")
    name = "torch.utils.tensorboard"
    sys.modules[name] = Pretended(name)
    from torchtitan.experiments.graph_trainer import memory_policy
    from torchtitan.distributed import utils as dist_utils
    import torchtitan.experiments.graph_trainer.trainer  # noqa: F401
    import torchtitan.experiments.graph_trainer.deepseek_v3.config_registry
    import torchtitan.experiments.graph_trainer.llama3.config_registry

    for name in absent:
        del sys.modules[name]
    # It needs a device that has a number, and PyTorch 2.14.
    dist_utils.set_pg_timeouts = lambda *_, **__: None
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

    if "arg_mbs" not in inspect.signature(_PipelineScheduleRuntime.step).parameters:
        _PipelineScheduleRuntime.step = step_of_micro_batches
    # The first rank would sleep after each training; the others do not need it.
    clock = types.SimpleNamespace(**{**vars(time), "sleep": lambda _: None})
    sys.modules["torchtitan.trainer"].time = clock
    # Times of operators, for torchtitan's own order: any will do.
    from torch.utils import _runtime_estimation

    _runtime_estimation.get_gpu_dram_gbps = lambda *_, **__: 3000.0
    _runtime_estimation.get_device_tflops = lambda *_, **__: 500.0
    # As a GPU's attention, it is among what is saved: it draws random numbers.
    saved = memory_policy._get_default_save_ops
    memory_policy._get_default_save_ops = lambda: {
        *saved(),
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
    }


def step_of_micro_batches(
    self, *, arg_mbs, kwarg_mbs, target_mbs, losses, loss_kwargs, return_outputs
):
    """A pipeline's step over micro-batches, which PyTorch has from 2.14 on; before,
    it divides a batch."""
    for stage in self._stages:
        stage.has_backward = self._has_backward
        stage.clear_runtime_states()
    self._step_microbatches(
        arg_mbs, kwarg_mbs, target_mbs, losses, return_outputs, loss_kwargs=loss_kwargs
    )


def change(config, values):
    """Sets fields of a configuration, and of those in it, by name."""
    for field, value in values.items():
        if isinstance(value, dict):
            change(getattr(config, field), value)
        else:
            setattr(config, field, value)


def configuration(settings, folder):
    """Returns torchtitan's configuration of a debug model on processors.

    `settings` has its name, `model`; the numbers of `layers`, None for all, and of
    `steps`; and, by name, fields of `parallelism` and of `compile`.
    """
    from torchtitan.components.dataloader import BaseDataLoader
    from torchtitan.components.tokenizer import BaseTokenizer
    from torchtitan.experiments.graph_trainer import deepseek_v3, llama3
    from torchtitan.experiments.graph_trainer.configs import (
        to_graph_trainer_config,
    )

    package = {"llama3": llama3, "deepseek_v3": deepseek_v3}[settings["model"]]
    module = importlib.import_module(package.__name__ + ".config_registry")
    base = getattr(module, settings["model"] + "_debugmodel")()
    # FlexAttention has no backward on processors.
    base.model_spec = package.model_registry("debugmodel", attn_backend="sdpa")
    if settings["layers"] is not None:
        del base.model_spec.model.layers[settings["layers"] :]
    config = to_graph_trainer_config(base, package.model_registry)

    class Tokenizer(BaseTokenizer):
        @dataclasses.dataclass(kw_only=True, slots=True)
        class Config(BaseTokenizer.Config):
            pass

        def __init__(self, config, **_):
            super().__init__()

        encode = decode = get_vocab_size = None

    class Tokens(BaseDataLoader):
        """Random tokens, others on each rank that has a batch of its own."""

        @dataclasses.dataclass(kw_only=True, slots=True)
        class Config(BaseDataLoader.Config):
            pass

        def __init__(self, config, *, dp_rank, seq_len, local_batch_size, **_):
            self.seed, self.shape = dp_rank, (local_batch_size, seq_len + 1)

        def __iter__(self):
            import torch

            random = torch.Generator().manual_seed(self.seed)
            places = torch.arange(self.shape[1] - 1, dtype=torch.int32)
            while True:
                tokens = torch.randint(2000, self.shape, generator=random)
                inputs = {
                    "input": tokens[:, :-1],
                    "positions": places.expand(self.shape[0], -1),
                }
                yield inputs, tokens[:, 1:].contiguous()

        def state_dict(self):
            return {}

        def load_state_dict(self, state):
            pass

    config.compile.disable_passes = ["cudagraph_pass"]
    config.training.disable_cuda_graphs = True
    config.training.local_batch_size, config.training.seq_len = 2, 128
    config.training.steps = settings["steps"]
    config.dump_folder = folder
    config.validator.enable = config.checkpoint.enable = False
    config.debug.seed = 0
    config.tokenizer, config.dataloader = Tokenizer.Config(), Tokens.Config()
    for part in ("parallelism", "compile"):
        change(getattr(config, part), settings.get(part, {}))
    return config
