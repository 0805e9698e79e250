//===- Inputs.h - What programs are given -----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of a program's arguments on one rank: from files, or made up from
// a seed. Made-up floats are eighths of small integers, so that sums of a few
// of them are exact in any order.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_INPUTS_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_INPUTS_H

#include "Values.h"

#include <map>

namespace mlir::commsched::run {

struct InputSettings {
  uint64_t seed = 0;
  /// All ranks are given what rank 0 is given.
  bool sameOnAllRanks = false;
  /// By the argument's index; "%r" in a path is the rank.
  std::map<unsigned, std::string> files;
  /// Where `rankR/argK.npy` or else `argK.npy` may lie; empty for nowhere.
  std::string directory;
};

/// `path` with the rank in place of each "%r".
std::string replaceRank(StringRef path, int32_t rank);

/// The value of argument `index` on `rank`.
llvm::Expected<Bytes> makeInput(const InputSettings &settings,
                                const ValueType &type, unsigned index,
                                int32_t rank);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_INPUTS_H
