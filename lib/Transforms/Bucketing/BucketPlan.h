//===- BucketPlan.h - Buckets by module -------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan made by hand: which modules' collectives travel together. Its entries
// are in the order of execution, so it also says which bucket to prefetch.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETPLAN_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETPLAN_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/GlobPattern.h"

#include <string>
#include <vector>

namespace mlir::commsched {

class BucketPlan {
public:
  /// Reads "layers.0;layers.1,layers.2;head": entries separated by semicolons,
  /// each a list of paths separated by commas. A path stands for a module and
  /// all below it, and may hold the wildcards of llvm::GlobPattern. Returns
  /// what is wrong with the text, as the end of an error message.
  static std::optional<std::string> parse(StringRef text, BucketPlan &plan);

  size_t getNumEntries() const { return entries.size(); }

  /// The text of an entry.
  StringRef getText(int32_t entry) const { return entries[entry].text; }

  /// The entry that names the module path, or one above it; -1 if none does.
  /// Emits an error at `location` if several entries do.
  FailureOr<int32_t> find(StringRef path, Location location);

private:
  struct Entry {
    std::string text;
    std::vector<llvm::GlobPattern> patterns;
  };

  std::vector<Entry> entries;
  /// What find() has answered.
  llvm::StringMap<int32_t> known;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETPLAN_H
