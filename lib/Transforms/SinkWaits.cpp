//===- SinkWaits.cpp - The pass that sinks waits --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Transforms/Passes.h"
#include "ListSchedule.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SINKWAITS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct SinkWaits : mlir::commsched::impl::SinkWaitsBase<SinkWaits> {
  void runOnOperation() override {
    schedule::ListSchedulerOptions options;
    options.sinkWaits = true;
    FailureOr<bool> moved = listSchedule(getOperation(), options);
    if (failed(moved))
      signalPassFailure();
    else if (!*moved)
      markAllAnalysesPreserved();
  }
};

} // namespace
