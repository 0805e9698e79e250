# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of collectives and of operators, measured on the machine at hand.

`collectives` times the collectives of process groups, `operators` the nodes of
a graph on real tensors, and `profile` is the file that holds both.
"""
