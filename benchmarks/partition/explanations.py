# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why CommSched saves or repeats more than the reference where it does."""


def explain(row):
    """The reason for a difference; None if none is known."""
    return None
