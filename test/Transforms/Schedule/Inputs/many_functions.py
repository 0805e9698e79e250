# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a module of functions of which the first takes longest to schedule;
with `--names FILE` checks that a frontier has all of them in order."""

import csv
import sys

NAMES = [f"f{index}" for index in range(40)]

if sys.argv[1:]:
    with open(sys.argv[2], encoding="utf-8", newline="") as file:
        found = [row["function"] for row in csv.DictReader(file)]
    # A function may have several points.
    found = list(dict.fromkeys(found))
    sys.exit(found != NAMES and f"the order is {found}")

print("commsched.group @g size(2)")
for index, name in enumerate(NAMES):
    print(f"func.func @{name}(%x: tensor<4xi8>) {{")
    for number in range(1000 if index == 0 else 1):
        print(f"""  %f{number} = commsched.all_reduce %x on @g reduction(max)
      {{commsched.runtime_ns = 0 : i64}}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w{number} = commsched.wait %f{number} : !commsched.future<tensor<4xi8>>
  %c{number} = commsched.compute "c"(%x) {{commsched.runtime_ns = 200 : i64}}
      : (tensor<4xi8>) -> tensor<4xi8>""")
    print("  return\n}")
