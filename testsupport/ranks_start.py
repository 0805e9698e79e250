# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the ranks of :mod:`ranks` have imported and found before they begin:
what is the same in each process that compiles, and takes seconds of it."""

import gc
import importlib

import torch
import torch._dynamo  # noqa: F401
import torch._inductor.compile_fx  # noqa: F401
import torch.distributed.tensor  # noqa: F401

import commsched.torch.compiling.backend  # noqa: F401

#: What PyTorch keeps for the life of a process: module, function, arguments.
_KEPT = [
    ("torch._inductor.codecache", "torch_key", ()),
    ("torch._inductor.codegen.common", "init_backend_registration", ()),
    ("torch._inductor.cpu_vec_isa", "valid_vec_isa_list", ()),
    (
        "torch._inductor.fx_passes.joint_graph",
        "lazy_init",
        (torch.device("cpu"),),
    ),
]

for _module, _name, _arguments in _KEPT:
    # Where another version of PyTorch has none, each rank takes its time.
    if _found := getattr(importlib.import_module(_module), _name, None):
        _found(*_arguments)

# What lives on is not looked through for garbage again, and seldom what is new:
# compilers make millions of objects.
gc.collect()
gc.freeze()
gc.set_threshold(100_000, 50, 100)
