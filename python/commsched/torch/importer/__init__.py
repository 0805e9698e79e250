# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From FX graphs to the ``commsched`` dialect.

`graphs` holds the public functions, `converter` walks a graph, and the other
modules know one thing each: types, process groups, collectives, views, costs,
roles, module paths.
"""
