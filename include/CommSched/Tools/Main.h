//===- Main.h - The main functions of programs ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_MAIN_H
#define COMMSCHED_TOOLS_MAIN_H

namespace mlir::commsched {

// The programs as functions: with the arguments of `main`, of which the first
// is the program's name, they return the exit status. The wheel of the Python
// package has them in one library, which its programs share.

/// `commsched-opt`. At most once in a process: it registers flags.
int optMain(int argc, char **argv);

/// `commsched-run`.
int runMain(int argc, char **argv);

} // namespace mlir::commsched

#endif // COMMSCHED_TOOLS_MAIN_H
