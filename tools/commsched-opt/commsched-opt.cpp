//===- commsched-opt.cpp - Driver of CommSched's passes -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/Main.h"

#include "CommSched/Register.h"
#include "CommSched/Tools/Upstream.h"
#include "Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

void mlir::commsched::registerForOpt(DialectRegistry &registry) {
  registerUpstreamDialects(registry);
  registerUpstreamPasses();
  registerDialects(registry);
  registerDialectsByName(registry);
  mlir::commsched::registerAllPasses();
}

int mlir::commsched::optMain(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter([](llvm::raw_ostream &os) {
    os << "CommSched version " COMMSCHED_VERSION "\n";
  });
  DialectRegistry registry;
  registerForOpt(registry);
  return asMainReturnCode(
      MlirOptMain(argc, argv, "CommSched optimizer driver\n", registry));
}
