#!/usr/bin/env bash
# Checks that every C++ file is as clang-format 22 would write it, and that every
# source file names its license. With --fix it rewrites what is not formatted.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
"") options=(--dry-run --Werror) ;;
--fix) options=(-i) ;;
*)
  echo "usage: $0 [--fix]" >&2
  exit 2
  ;;
esac

if ! git ls-files -z -- '*.cpp' '*.h' |
  xargs -0 clang-format-22 "${options[@]}"; then
  echo "some files are not formatted: run scripts/check-format.sh --fix" >&2
  exit 1
fi

license='// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception'
unlicensed=$(git ls-files -z -- '*.cpp' '*.h' '*.td' |
  xargs -0 grep -LxF "$license" || true)
if [[ -n $unlicensed ]]; then
  printf 'these files lack the line "%s":\n%s\n' "$license" "$unlicensed" >&2
  exit 1
fi
