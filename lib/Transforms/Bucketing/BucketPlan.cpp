//===- BucketPlan.cpp - Buckets by module ---------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketPlan.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mlir::commsched;

std::optional<std::string> BucketPlan::parse(StringRef text, BucketPlan &plan) {
  plan = {};
  llvm::StringMap<size_t> entryOf;
  SmallVector<StringRef> entryTexts;
  text.split(entryTexts, ';');
  for (auto [index, entryText] : llvm::enumerate(entryTexts)) {
    Entry entry{entryText.trim().str(), {}};
    SmallVector<StringRef> paths;
    entryText.split(paths, ',');
    for (StringRef path : paths) {
      path = path.trim();
      if (path.empty())
        return "has an empty path in entry " + std::to_string(index) + ", '" +
               entry.text + "'";
      auto [it, isNew] = entryOf.try_emplace(path, index);
      if (!isNew && it->second == index)
        return "names '" + path.str() + "' twice in entry " +
               std::to_string(index);
      if (!isNew)
        return "names '" + path.str() + "' in entry " +
               std::to_string(it->second) + " and in entry " +
               std::to_string(index);
      llvm::Expected<llvm::GlobPattern> pattern =
          llvm::GlobPattern::create(path);
      if (!pattern)
        return "has a bad path '" + path.str() +
               "': " + llvm::toString(pattern.takeError());
      entry.patterns.push_back(std::move(*pattern));
    }
    plan.entries.push_back(std::move(entry));
  }
  return std::nullopt;
}

/// Whether `pattern` matches the path, or that of a module above it.
static bool matchesPrefix(const llvm::GlobPattern &pattern, StringRef path) {
  for (size_t end = path.find('.'); end != StringRef::npos;
       end = path.find('.', end + 1))
    if (pattern.match(path.take_front(end)))
      return true;
  return pattern.match(path);
}

FailureOr<int32_t> BucketPlan::find(StringRef path, Location location) {
  auto [it, isNew] = known.try_emplace(path, -1);
  if (!isNew)
    return it->second;
  int32_t found = -1;
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (llvm::none_of(entry.patterns, [&](const llvm::GlobPattern &pattern) {
          return matchesPrefix(pattern, path);
        }))
      continue;
    if (found >= 0) {
      emitError(location) << "the plan's entries " << found << ", '"
                          << entries[found].text << "', and " << index << ", '"
                          << entry.text << "', both name the module '" << path
                          << "'";
      return failure();
    }
    found = index;
  }
  known[path] = found;
  return found;
}
