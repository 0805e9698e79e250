//===- Main.h - The main functions of programs ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_MAIN_H
#define COMMSCHED_TOOLS_MAIN_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::commsched {

// The programs as functions: with the arguments of `main`, of which the first
// is the program's name, they return the exit status. The wheel of the Python
// package has them in one library, which its programs share.

/// `commsched-opt`. At most once in a process: it registers flags.
int optMain(int argc, char **argv);

/// `commsched-run`.
int runMain(int argc, char **argv);

// Two libraries define these functions. CommSchedUpstreamAll registers all that
// MLIR has. CommSchedUpstreamCore leaves out what belongs to other targets than
// the processor, and so the code generators of all of these: the programs of
// the Python wheel, which contain MLIR, link this one.

/// Registers the dialects of MLIR with their extensions and their translations
/// to LLVM IR.
void registerUpstreamDialects(DialectRegistry &registry);

/// Registers the passes and pipelines of MLIR by name.
void registerUpstreamPasses();

} // namespace mlir::commsched

#endif // COMMSCHED_TOOLS_MAIN_H
