# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiler in Python that gives CommSched a program as text.

    python examples/python/compiler.py

The program has one layer whose parameters are gathered. CommSched schedules it,
and returns it as text again, and as a list of operations for compilers that do
not read MLIR.
"""

from commsched import opt

STEP = """
commsched.group @dp size(8)

func.func @step(%shard: tensor<512x4096xbf16>, %x: tensor<8192x4096xbf16>)
    -> tensor<8192x4096xbf16> {
  %y = commsched.compute "my.normalize"(%x)
      : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %future = commsched.all_gather %shard on @dp dim(0)
      : tensor<512x4096xbf16> -> !commsched.future<tensor<4096x4096xbf16>>
  %w = commsched.wait %future : !commsched.future<tensor<4096x4096xbf16>>
  %z = commsched.compute "my.matmul"(%y, %w) {flops = 2.7e11 : f64}
      : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>)
      -> tensor<8192x4096xbf16>
  return %z : tensor<8192x4096xbf16>
}
"""


def main():
    # The text, for a compiler that reads MLIR.
    print(opt.run(STEP, "--commsched-pipeline"))

    # The operations in their new order, and the times before and after.
    done = opt.run_programs(STEP, "--commsched-pipeline", reports=True)
    (function,) = done.after.functions
    for operation in function.operations:
        print(operation.op, *operation.operands)
    for report in done.reports.before["step"], done.reports.after["step"]:
        print(f"{report['exposed_comm_ns'] / 1e3:.1f} us exposed")


if __name__ == "__main__":
    main()
