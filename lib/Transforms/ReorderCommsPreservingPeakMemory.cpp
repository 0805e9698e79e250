//===- ReorderCommsPreservingPeakMemory.cpp - Starts within a budget ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Transforms/Passes.h"
#include "MemoryBudgetPass.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REORDERCOMMSPRESERVINGPEAKMEMORY
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct ReorderCommsPreservingPeakMemory
    : MemoryBudgetPass<
          mlir::commsched::impl::ReorderCommsPreservingPeakMemoryBase<
              ReorderCommsPreservingPeakMemory>> {
  using MemoryBudgetPass::MemoryBudgetPass;

protected:
  IterativePass::Solver *getSolver() const override {
    return schedule::reorderComms;
  }
};

} // namespace
