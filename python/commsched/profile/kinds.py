# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of collectives, by what PyTorch, NCCL, RCCL and gloo call them."""

from __future__ import annotations

import re

#: A collective of which the trace does not say more.
COLLECTIVE = "collective"
#: What NCCL's kernel SendRecv does: all_to_all, send or recv.
SEND_RECV = "send_recv"

_KINDS = {
    "allreduce": "all_reduce", "allgather": "all_gather",
    "reducescatter": "reduce_scatter", "alltoall": "all_to_all",
    "broadcast": "broadcast", "sendrecv": SEND_RECV, "send": "send",
    "recv": "recv", "permute": "permute", "barrier": "barrier",
    "reduce": "reduce", "gather": "gather", "scatter": "scatter",
    "coalesced": COLLECTIVE, "generic": COLLECTIVE,
}
# The backend, or the namespace of the operator.
_PREFIX = re.compile(r"(gloo|nccl|rccl|mpi|ucc|xccl|c10d|_c10d_functional)::?")
# What follows the kind in the names of variants, such as _allgather_base,
# all_to_all_single, reduce_scatter_tensor_coalesced, recv_any_source_.
_RECORD = re.compile(
    rf"({'|'.join(_KINDS)})(base|intotensor|tensor|single|coalesced|vout|v|out"
    r"|sparse|object|anysource)*")
# ncclAllReduceRingLLKernel_sum_f32, ncclKernel_AllReduce_RING_LL_Sum_float,
# ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclSymkDevKernel_AllGather_LL,
# ncclDevKernel_Generic_1; what the compiler mangles begins otherwise.
_KERNEL = re.compile(
    r"[nr]ccl(?:Symk?)?(?:Dev)?(?:Kernel)?(?:Debug)?_?"
    r"(AllReduce|AllGather|ReduceScatter|All[Tt]oAll|Broadcast|SendRecv|Reduce"
    r"|Generic)")
_IS_KERNEL = re.compile(r"(?:void |_Z\d+)?(?:nccl|rccl|msccl)\w*", re.ASCII)


def is_collective_kernel(name: str) -> bool:
    """Whether a kernel is one of NCCL or RCCL, by its name."""
    return _IS_KERNEL.match(name) is not None


def kind_of(name: str) -> str:
    """The kind of a collective by what PyTorch or NCCL calls it, or ''."""
    kernel = _KERNEL.search(name)
    if kernel:
        return _KINDS[kernel.group(1).lower()]
    prefix = _PREFIX.match(name)
    # Behind a space are the ranks of "nccl:send 0->1".
    text = name[prefix.end() if prefix else 0:].partition(" ")[0]
    record = _RECORD.fullmatch(re.sub(r"[^a-z0-9]", "", text.lower()))
    return _KINDS[record.group(1)] if record else ""


def most_precise(*names: str) -> str:
    """The kind by the first of these names that says it most precisely."""
    kinds = [kind for kind in map(kind_of, names) if kind]
    vague = (SEND_RECV, COLLECTIVE)
    return min(kinds, key=lambda kind: kind in vague and 1 + vague.index(kind),
               default=COLLECTIVE)
