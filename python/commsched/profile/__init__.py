# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Costs and exposure from the trace of a run.

``python -m commsched.profile`` is the command; ``docs/guide/profiling.md``
describes it.
"""
