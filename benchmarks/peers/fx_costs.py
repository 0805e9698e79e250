# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Costs of nodes for Inductor's FX passes, from the dump.

A dump has no costs of merged collectives, nor of sizes that Inductor overrides
(it queries size 0 for the latency). The cost of such a collective is
interpolated between the two collectives of its kind and stream that are next in
size; such a copy takes as long as the casts of the function.
"""

import bisect

import torch
from torch._inductor.fx_passes import bucketing

from fx_standin import CASTS, INDEX, find_operator

ATEN = torch.ops.aten


def get_bytes(node):
    value = node.meta["val"]
    return value.numel() * value.element_size()


class Costs:
    """What nodes cost, in milliseconds, by the dump."""

    def __init__(self, standin):
        self.standin = standin
        self.points = {}  # (kind, stream) -> {bytes: nanoseconds}
        casts = []
        for node in standin.nodes:
            if node["kind"] == "start":
                points = self.points.setdefault(self._curve(node), {})
                points[node["bytes"]] = node["cost_ns"]
            elif find_operator(node) in CASTS:
                values = {*node["operands"], *node["results"]}
                moved = sum(map(standin.get_bytes, values))
                casts.append((moved, node["cost_ns"]))
        self.points = {curve: sorted(p.items()) for curve, p in self.points.items()}
        self.casts = sorted(casts)

    @staticmethod
    def _curve(node):
        return node["collective"], node["stream"]

    def price_collective(self, node, size):
        """Of `size` bytes, on the curve of the collective `node`: straight
        between the sizes that occur and past them, never negative. One size
        alone is in proportion."""
        points = self.points[self._curve(node)]
        if len(points) == 1:
            points = [(0, 0), *points]
        place = bisect.bisect_left(points, (size,))
        place = min(max(place, 1), len(points) - 1)
        (low, low_ns), (high, high_ns) = points[place - 1 : place + 1]
        slope = (high_ns - low_ns) / (high - low)
        return max(0.0, low_ns + slope * (size - low)) / 1e6

    def price_copy(self, moved):
        """Of so many bytes read and written, as the largest cast does it, and
        not less than the smallest cast."""
        if not self.casts:
            return None
        (_, least), (most, most_ns) = self.casts[0], self.casts[-1]
        return max(least, most_ns * moved / max(most, 1)) / 1e6

    def estimate(self, node, override_size):
        """For custom_runtime_estimation."""
        index = node.meta.get(INDEX)
        if index is None:
            return self._estimate_merged(node, override_size)
        described = self.standin.nodes[index]
        if described["kind"] == "wait":
            return None
        if override_size is not None:
            return self.price_collective(described, override_size)
        return described["cost_ns"] / 1e6

    def _estimate_merged(self, node, override_size):
        """Of a node that merging has made. A collective has its members' bytes.
        The copy into the buffer of a gather is one kernel with the concatenation
        before it; what leaves a buffer is copied tensor by tensor."""
        if bucketing.get_collective_type(node):
            indices = self.standin.find_members(node)
            members = [self.standin.nodes[index] for index in indices]
            if override_size is None:
                override_size = sum(member["bytes"] for member in members)
            return self.price_collective(members[0], override_size)
        if node.target is ATEN.copy_.default:
            return self.price_copy(get_bytes(node.args[1]) + get_bytes(node))
        is_copied = any(user.target is ATEN.copy_.default for user in node.users)
        if node.target is ATEN.cat.default and not is_copied:
            return self.price_copy(2 * get_bytes(node))
        if node.target is ATEN.clone.default:
            return self.price_copy(2 * get_bytes(node))
        return None
