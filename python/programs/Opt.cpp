//===- Opt.cpp - Passes in the Python process, from the programs' library -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of the extension in the wheel, which contains no MLIR of its own.
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/InProcess.h"

using namespace mlir::commsched;

extern "C" OptStatus commsched_run_opt(const char *module, size_t size,
                                       const char *const *flags,
                                       size_t numFlags, TextSink output,
                                       TextSink errors, void *userData);

OptStatus mlir::commsched::runOpt(const char *module, size_t size,
                                  const char *const *flags, size_t numFlags,
                                  TextSink output, TextSink errors,
                                  void *userData) {
  return commsched_run_opt(module, size, flags, numFlags, output, errors,
                           userData);
}
