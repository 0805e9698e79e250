# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways in which a schedule enters PyTorch's compilers.

`options` says what the user wants, `schedule` has the one entry that all ways
in call, `backend`, `inductor`, `graph_pass`, `partitioner` and `estimator` are
the ways in, `agreement` makes ranks decide alike, and `records` keeps what was
done for `explain`.
"""
