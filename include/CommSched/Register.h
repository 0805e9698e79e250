//===- Register.h - Registers all of CommSched ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one header that a tool or an embedding compiler includes to get the
// dialect, the external models of other dialects' operations, and the passes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REGISTER_H
#define COMMSCHED_REGISTER_H

#include "CommSched/Conversion/Passes.h"
#include "CommSched/Conversion/Pipelines.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "CommSched/ExternalModels/Register.h"
#include "CommSched/Transforms/Passes.h"
#include "CommSched/Transforms/Pipelines.h"

namespace mlir::commsched {

/// Adds the dialects, and the models through which operations of other dialects
/// state their costs and aliases.
inline void registerDialects(DialectRegistry &registry) {
  registry.insert<CommSchedDialect, rt::CommSchedRtDialect>();
  registerExternalModels(registry);
}

/// Registers every pass and pipeline under its flag and textual name.
inline void registerAllPasses() {
  registerCommSchedPasses();
  registerCommSchedConversionPasses();
  registerPipelines();
  registerConversionPipelines();
}

} // namespace mlir::commsched

#endif // COMMSCHED_REGISTER_H
