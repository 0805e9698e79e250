# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts a schedule back into the FX graph that it was made for.

:func:`~commsched.torch.rewriting.decision.make_plan` reads from the programs
before and after `commsched-opt` what changed;
:func:`~commsched.torch.rewriting.apply.apply_plan` makes the same change to
the graph; :func:`~commsched.torch.rewriting.apply.apply` does both.
"""

from commsched.torch.rewriting.apply import (
    Trial,
    apply,
    apply_plan,
    fit_plan,
    follow_plan,
)
from commsched.torch.rewriting.decision import make_plan
from commsched.torch.rewriting.errors import PlanError, RewriteError
from commsched.torch.rewriting.in_flight import Limit, limit_in_flight
from commsched.torch.rewriting.plan import Bucket, Plan

__all__ = [
    "Bucket",
    "Limit",
    "Plan",
    "PlanError",
    "RewriteError",
    "Trial",
    "apply",
    "apply_plan",
    "fit_plan",
    "follow_plan",
    "limit_in_flight",
    "make_plan",
]
