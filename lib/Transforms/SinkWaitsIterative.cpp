//===- SinkWaitsIterative.cpp - Waits within a budget ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Transforms/Passes.h"
#include "MemoryBudgetPass.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SINKWAITSITERATIVE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct SinkWaitsIterative
    : MemoryBudgetPass<
          mlir::commsched::impl::SinkWaitsIterativeBase<SinkWaitsIterative>> {
  using MemoryBudgetPass::MemoryBudgetPass;

protected:
  IterativePass::Solver *getSolver() const override {
    return schedule::sinkWaitsIteratively;
  }
};

} // namespace
