//===- main.cpp - The program commsched-opt -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/Main.h"

int main(int argc, char **argv) { return mlir::commsched::optMain(argc, argv); }
