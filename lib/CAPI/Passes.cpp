//===- Passes.cpp - C interface of the passes -----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//

#include "commsched-c/Passes.h"
#include "CommSched/Register.h"

#include <mutex>

void commschedRegisterAllPasses() {
  static std::once_flag once;
  std::call_once(once, [] { mlir::commsched::registerAllPasses(); });
}
