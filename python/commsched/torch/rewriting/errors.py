# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong when a schedule is put back."""

from __future__ import annotations

from typing import Optional


class PlanError(ValueError):
    """A program was changed in a way that a plan cannot say, or the text of a
    plan is not one."""


class RewriteError(RuntimeError):
    """A plan does not fit a graph, or what it gave is not what the graph
    computed; the graph is as it was.

    bucket: the number of the plan's bucket that does not fit, if it is one.
    """

    bucket: Optional[int] = None
