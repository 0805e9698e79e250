//===- CommSchedPlugin.cpp - Dialect and passes as an MLIR plugin ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Register.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "CommSched", COMMSCHED_VERSION,
          [](mlir::DialectRegistry *registry) {
            mlir::commsched::registerDialects(*registry);
            mlir::commsched::registerDialectsByName(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "CommSched", COMMSCHED_VERSION,
          [] { mlir::commsched::registerAllPasses(); }};
}
