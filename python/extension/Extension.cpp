//===- Extension.cpp - The Python module commsched._native ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What commsched.solver and commsched.opt call. It is private: the arguments
// are those that these modules have converted.
//===----------------------------------------------------------------------===//

#include "Extension.h"

#include "commsched-c/Schedule.h"

NB_MODULE(_native, module) {
  module.attr("version") = commschedGetVersion();
  addSolver(module);
  addOpt(module);
}
