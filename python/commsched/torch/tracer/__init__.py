# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a model to the graphs of one training step.

`models` defines what is trained, `mesh` makes ranks that are not there (the
parameters are spread over them by `commsched.torch.sharding`), products are
divided among them by `tensor_parallel` and experts by `expert_parallel`,
`capture` traces the joint graph on fake tensors, `partition` cuts it into
forward and backward, and `step` puts them together.
"""
