# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device meshes of ranks that are not there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

from commsched.torch.private import forget_shardings


@contextlib.contextmanager
def fake_mesh(
    shards: int, replicas: int = 1, tensor: int = 1, rank: int = 0
) -> Iterator[DeviceMesh]:
    """A device mesh of ``shards * replicas * tensor`` absent ranks.

    The process group's collectives do nothing; this process is ``rank``. The
    mesh has a dimension ``dp``, before it ``replicate`` if there are several
    replicas, and behind it ``tp`` if several ranks share a tensor: those ranks
    are consecutive, and so are the ranks of one replica. The process group is
    destroyed on exit.
    """
    if dist.is_initialized():
        raise RuntimeError("a process group is already initialized")
    sizes = {"dp": shards}
    if replicas > 1:
        sizes = {"replicate": replicas, **sizes}
    if tensor > 1:
        sizes["tp"] = tensor
    dist.init_process_group(
        "fake",
        store=FakeStore(),
        rank=rank,
        world_size=shards * replicas * tensor,
    )
    try:
        yield init_device_mesh(
            "cpu", tuple(sizes.values()), mesh_dim_names=tuple(sizes)
        )
    finally:
        dist.destroy_process_group()
        forget_shardings()
