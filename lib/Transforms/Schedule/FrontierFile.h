//===- FrontierFile.h - One file for all functions of a module --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file that a pass on functions writes for all functions of a module. The
// pass manager runs such a pass on several functions at once and says nothing
// when the last one is through; so what it says of each is kept here until all
// have come, and then written in the order of the module.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_FRONTIERFILE_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_FRONTIERFILE_H

#include "Frontier.h"

#include <mutex>

namespace mlir::commsched {

/// Shared by all copies of one pass.
class FrontierFile {
public:
  /// `path` may be `-` for standard output.
  explicit FrontierFile(StringRef path) : path(path) {}

  /// Takes the frontier of `function`, empty if it has none. With that of the
  /// last function beside it, writes those of all of them, or emits an error if
  /// that cannot be done. A function that failed never comes, so that a run
  /// that fails writes nothing. Safe to call from several threads.
  LogicalResult add(func::FuncOp function, Frontier frontier);

private:
  LogicalResult write(Location loc, ArrayRef<Frontier> frontiers) const;

  std::string path;
  std::mutex mutex;
  /// By what holds the functions, and by function: what has come so far.
  DenseMap<Operation *, DenseMap<Operation *, Frontier>> waiting;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_FRONTIERFILE_H
