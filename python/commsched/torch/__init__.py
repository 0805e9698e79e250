# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports PyTorch graphs as ``commsched`` modules.

:func:`import_graphs` takes FX graphs as AOT autograd makes them and gives a
:class:`commsched.ir.Module`, whose ``str()`` is MLIR text;
:func:`import_graph_module` is the same for one graph. Everything that cannot
be imported is a :class:`GraphImportError` that names the node.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "commsched.torch needs PyTorch; install it with "
        "'pip install commsched[torch]'"
    ) from error

from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.graphs import (
    GraphSpec,
    ImportOptions,
    import_graph_module,
    import_graphs,
)

__all__ = [
    "GraphImportError",
    "GraphSpec",
    "ImportOptions",
    "import_graph_module",
    "import_graphs",
]
