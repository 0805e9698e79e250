//===- ExportJson.cpp - Pass that writes a module as JSON -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ProgramJson.h"
#include "CommSched/Transforms/Passes.h"
#include "PassSupport.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_EXPORTJSON
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct ExportJson : mlir::commsched::impl::ExportJsonBase<ExportJson> {
  using ExportJsonBase::ExportJsonBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    markAllAnalysesPreserved();
    if (failed(writeOutputFile(
            module.getLoc(), file, "the program",
            [&](raw_ostream &os) { writeProgram(os, module); })))
      signalPassFailure();
  }
};

} // namespace
