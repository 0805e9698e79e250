#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the Python package usable from a folder, without installing it.

    package.py FOLDER KIT

With a build of the tree, FOLDER gets what PyTorch finds the backend by, unless
the package is installed. Else it gets what is in the wheel of KIT, programs
included; the wheel may be that of another version of Python.
"""

import importlib.metadata
import pathlib
import shutil
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python" / "tests"))

from installed import write_metadata  # noqa: E402


def main() -> int:
    folder, kit = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    if (ROOT / "build" / "bin" / "commsched-opt").exists():
        try:
            importlib.metadata.version("commsched")
        except importlib.metadata.PackageNotFoundError:
            folder.mkdir(parents=True)
            write_metadata(folder)
        print("the programs are those of build/bin")
        return 0
    wheels = sorted(kit.glob("*.whl"))
    if not wheels:
        print(f"error: there is no build/bin/commsched-opt, and no wheel in "
              f"{kit}: run 'scripts/gpu.sh pack' on a machine with a build, "
              f"and carry {kit} here", file=sys.stderr)
        return 1
    with zipfile.ZipFile(wheels[-1]) as wheel:
        wheel.extractall(folder)
    for program in (folder / "commsched" / "bin").iterdir():
        program.chmod(0o755)
    print(f"the package and its programs are those of {wheels[-1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
