#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: lit, unit and Python.
# Ends with one line, "N passed, N failed".
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_packages "${build_packages[@]}" "${test_packages[@]}"
make_venv
say "installing PyTorch, JAX and what the Python tests need"
pip_install torch==2.13.0 jax==0.10.2 ortools==9.15.6755 psutil -e './python[test]'
install_cuda
# What CMake builds only where it finds the dependence is named: the tests expect it.
build default all CommSchedUnitTests commsched-wheel commsched_native \
  CommSchedRuntimeMpi CommSchedRuntimeNccl
make_wheel

say "changed sources compile alone"
"$venv/bin/python" scripts/check_alone.py || die "a source compiles only in a unity batch"

results=build/results
mkdir -p "$results"
rm -f "$results"/*.xml

say "lit and unit tests"
# A test that hangs has failed; lit measures that with psutil.
"$venv/bin/python" /usr/lib/llvm-22/bin/lit --succinct --timeout 300 \
  --xunit-xml-output "$results/lit.xml" build/test build/test/Unit || true

say "Python tests"
# On all processors, each file on one of them: its fixtures train models.
COMMSCHED_OPT="$root/build/bin/commsched-opt" \
  COMMSCHED_WHEEL=$(echo "$root"/build/wheel/*.whl) \
  "$venv/bin/python" -m pytest -q --numprocesses "$(nproc)" --dist loadfile \
  --junitxml "$results/pytest.xml" python/tests || true

exec "$venv/bin/python" scripts/count_tests.py --skips scripts/allowed_skips.txt \
  "$results/lit.xml" "$results/pytest.xml"
