//===- Programs.cpp - The programs of the wheel in one library ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/InProcess.h"
#include "CommSched/Tools/Main.h"

extern "C" int commsched_opt_main(int argc, char **argv) {
  return mlir::commsched::optMain(argc, argv);
}

extern "C" int commsched_run_main(int argc, char **argv) {
  return mlir::commsched::runMain(argc, argv);
}

extern "C" mlir::commsched::OptStatus
commsched_run_opt(const char *module, size_t size, const char *const *flags,
                  size_t numFlags, mlir::commsched::TextSink output,
                  mlir::commsched::TextSink errors, void *userData) {
  return mlir::commsched::runOpt(module, size, flags, numFlags, output, errors,
                                 userData);
}
