//===- MimicAutogradOrder.cpp - The pass that recomputes late -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AutogradOrder.h"
#include "CommSched/Transforms/Passes.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_MIMICAUTOGRADORDER
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct MimicAutogradOrder
    : mlir::commsched::impl::MimicAutogradOrderBase<MimicAutogradOrder> {
  void runOnOperation() override {
    FailureOr<bool> moved = applyAutogradOrder(getOperation());
    if (failed(moved))
      signalPassFailure();
    else if (!*moved)
      markAllAnalysesPreserved();
  }
};

} // namespace
