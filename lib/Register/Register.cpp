//===- Register.cpp - Registration of all of CommSched --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Register.h"
#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "CommSched/ExternalModels/Register.h"
#include "CommSched/OperationTables/OperationTable.h"
#include "CommSched/Transforms/Passes.h"
#include "CommSched/Transforms/Pipelines.h"

using namespace mlir;

void mlir::commsched::registerDialects(DialectRegistry &registry) {
  registry.insert<CommSchedDialect, rt::CommSchedRtDialect>();
  registerExternalModels(registry);
  registerEmbeddedTables(registry);
}

void mlir::commsched::registerDialectsByName(DialectRegistry &registry) {
  registerEmbeddedDialects(registry);
}

void mlir::commsched::registerAllPasses() {
  registerCommSchedPasses();
  registerCommSchedConversionPasses();
  registerPipelines();
  registerConversionPipelines();
}
