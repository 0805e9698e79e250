# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What AOT autograd's cache knows DTensors by.

That is the whole tensor and how it is distributed, which is the same on all ranks
(2.13, 2.15: DTensor._stable_hash_for_caching). But code is compiled for a shard, and
shards of ranks differ in size where these do not divide the tensor: with one folder
for the cache they would run each other's code in the next job.
"""

from __future__ import annotations

import functools

from torch.distributed.tensor import DTensor

from commsched.torch.private import names


@functools.cache
def tell_shards_apart() -> None:
    """Makes shards of other sizes other keys. A PyTorch that has no key of DTensor's
    own looks at the shard."""
    if not names.has("hash_distributed"):
        return
    hash_distributed = names.hash_distributed

    def hash_shard(tensor: DTensor) -> str:
        shard = tensor._local_tensor
        sizes = (tuple(shard.shape), shard.stride())
        return f"{hash_distributed(tensor)} {sizes}"

    DTensor._stable_hash_for_caching = hash_shard
