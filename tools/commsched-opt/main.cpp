//===- main.cpp - The program commsched-opt -------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/Main.h"

int main(int argc, char **argv) { return mlir::commsched::optMain(argc, argv); }
