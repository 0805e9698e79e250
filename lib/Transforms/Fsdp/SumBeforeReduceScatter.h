//===- SumBeforeReduceScatter.h - One reduction of a sum --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parameter that is used twice has two gradients, which are often reduced one
// by one and added afterwards. Sums and means are linear, so that
//
//   add(wait(reduce_scatter(a)), wait(reduce_scatter(b)))
//     = wait(reduce_scatter(add(a, b)))
//
// with half of the communication, and sums of more with less. PyTorch Inductor
// does so in dedup_fsdp_reduce_scatter (torch/_inductor/fx_passes, 2026).
//
// The price: the addition runs on whole tensors, each group's size times as
// large as a shard, so that it takes longer and needs memory for its result;
// and the terms of each element are summed up in another order, so that
// floating-point results may differ by rounding.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_FSDP_SUMBEFOREREDUCESCATTER_H
#define COMMSCHED_LIB_TRANSFORMS_FSDP_SUMBEFOREREDUCESCATTER_H

#include "ScatterSums.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::commsched {

/// Adds the pattern that reduces each of `sums.getLargest()` at once. An
/// addition comes where the later of its summands started, the start where the
/// last one was, the wait where the last addition was. New operations have
/// fused locations, and the names and other attributes that bucketing would
/// give them; the start keeps the last one's `commsched.order`; no cost stays
/// pinned. `sums` outlives the pattern.
void populateSumBeforeReduceScatterPatterns(RewritePatternSet &patterns,
                                            const ScatterSums &sums);

/// Applies the pattern to `function`. Emits a remark for each sum: what it
/// became, or why it stays. Returns whether anything changed.
bool sumBeforeReduceScatter(func::FuncOp function);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_FSDP_SUMBEFOREREDUCESCATTER_H
