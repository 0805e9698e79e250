# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From FX graphs to the ``commsched`` dialect.

`graphs` holds the public functions, `converter` walks a graph, and the other
modules know one thing each: types, process groups, collectives, views, costs,
roles, module paths.

What is not in a graph cannot be imported: FSDP2 (`fully_shard`) and DDP start
their collectives in hooks that the compiler does not see. Simple FSDP
(:func:`commsched.torch.shard_parameters`), replicated DTensors, and DDP with
``torch._dynamo.config.optimize_ddp = "python_reducer"`` and compiled autograd
have them in their graphs. A loop or a branch that communicates is one opaque
operation.
"""
