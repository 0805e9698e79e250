//===- Programs.cpp - The programs of the wheel in one library ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/Main.h"

extern "C" int commsched_opt_main(int argc, char **argv) {
  return mlir::commsched::optMain(argc, argv);
}

extern "C" int commsched_run_main(int argc, char **argv) {
  return mlir::commsched::runMain(argc, argv);
}
