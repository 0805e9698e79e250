# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a model to the graphs of one training step: the parts of
`commsched.torch.trace`.

`mesh` makes ranks that are not there, `capture` traces the joint graph on fake
tensors, `partition` cuts it into forward and backward, and `optimizer` makes
the graph of the optimizer.
"""
