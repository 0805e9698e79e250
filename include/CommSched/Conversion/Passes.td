//===- Passes.td - CommSched's conversions -----------------*- tablegen -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_CONVERSION_PASSES_TD
#define COMMSCHED_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// ShardToCommSched
//===----------------------------------------------------------------------===//

def ConvertShardToCommSched
    : Pass<"convert-shard-to-commsched", "::mlir::ModuleOp"> {
  let summary = "turn collectives of the shard dialect into starts and waits";
  let description = [{
    Turns the collectives of a program that `shard-partition` has written into
    starts of `commsched` with a wait right behind each.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::commsched::CommSchedDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

#endif // COMMSCHED_CONVERSION_PASSES_TD
