# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device meshes of ranks that are not there."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

from commsched.torch.private import forget_shardings


@contextlib.contextmanager
def fake_mesh(
    shards: int,
    replicas: int = 1,
    tensor: int = 1,
    experts: int = 1,
    rank: int = 0,
) -> Iterator[DeviceMesh]:
    """A device mesh of ``shards * replicas * tensor * experts`` absent ranks.

    The process group's collectives do nothing; this process is ``rank``. The
    mesh has a dimension ``dp``, before it ``replicate`` if there are several
    replicas, and behind it ``tp`` if several ranks share a tensor, and ``ep``
    if experts are spread over several. The ranks of the last dimension are
    consecutive, and so are those of one replica. The process group is
    destroyed on exit.
    """
    if dist.is_initialized():
        raise RuntimeError("a process group is already initialized")
    sizes = {"dp": shards}
    if replicas > 1:
        sizes = {"replicate": replicas, **sizes}
    if tensor > 1:
        sizes["tp"] = tensor
    if experts > 1:
        sizes["ep"] = experts
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
        forget_shardings()


def mesh_of_all(mesh: DeviceMesh) -> DeviceMesh:
    """The ranks of ``mesh`` as one dimension, ``all``. Its process group is no
    other's, so that its collectives wait for no others."""
    group = dist.new_group(list(range(mesh.size())))
    return DeviceMesh.from_group(group, "cpu", mesh_dim_names=("all",))
