# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device meshes of ranks that are not there."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping

import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from commsched.torch.private.names import FakeStore, clear_sharding_prop_cache


@contextlib.contextmanager
def fake_mesh(sizes: Mapping[str, int], rank: int = 0) -> Iterator[DeviceMesh]:
    """A device mesh of absent ranks with the dimensions ``sizes``.

    The process group's collectives do nothing; this process is ``rank``. The
    ranks of the last dimension are consecutive. The process group is destroyed
    on exit.
    """
    if dist.is_initialized():
        raise RuntimeError("a process group is already initialized")
    dist.init_process_group(
        "fake",
        store=FakeStore(),
        rank=rank,
        world_size=math.prod(sizes.values()),
    )
    try:
        yield init_device_mesh(
            "cpu", tuple(sizes.values()), mesh_dim_names=tuple(sizes)
        )
    finally:
        dist.destroy_process_group()
        # What DTensor has inferred holds on to the mesh, and to this rank in it.
        clear_sharding_prop_cache()
