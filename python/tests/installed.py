# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the package look installed to a test that runs it from its sources:
PyTorch finds the backend by the entry points of installed packages."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def write_metadata(folder: Path) -> None:
    """Writes what pip would write of the package's entry points to `folder`,
    which has to come first on `sys.path`."""
    project = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())
    project = project["project"]
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\n"
        f"Version: {project['version']}\n"
    )
    lines = []
    for group, entries in project["entry-points"].items():
        lines.append(f"[{group}]")
        lines += [f"{name} = {where}" for name, where in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
