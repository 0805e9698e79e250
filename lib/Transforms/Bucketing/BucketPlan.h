//===- BucketPlan.h - Buckets by plan ---------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assigns the collectives of sharded parameters to the steps of a plan, which
// run one after the other with the next one prefetched. The steps are the
// entries of a plan written by hand, or follow from modules or sizes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETPLAN_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETPLAN_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
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

/// What decides about the step of a collective.
struct StepRule {
  enum class Kind {
    /// The entries of a plan.
    Entries,
    /// Its module: `blocks` consecutive blocks are a step, a block being what a
    /// number in the module's path counts, such as "layers.7"; with 0, each
    /// module directly inside a block. A module outside of all blocks is a step
    /// of its own.
    Modules,
    /// Its size: as many collectives as add up to `percent` of what saturates
    /// their group.
    Bytes,
  };

  Kind kind = Kind::Entries;
  int32_t blocks = 1;
  int32_t percent = 100;
};

/// The rule in words, for remarks.
std::string describe(const StepRule &rule);

/// A place in the sequence of steps.
struct PlanStep {
  /// Numbers the groups.
  int32_t group = 0;
  /// Numbers the steps of one group in the order of the program. One step may
  /// be several buckets, of different element types.
  int32_t step = 0;
};

class PlanSteps {
public:
  /// `plan` is needed for Kind::Entries.
  explicit PlanSteps(StepRule rule, BucketPlan *plan = nullptr);

  /// The step of the next collective of the program. `parameter` is what it
  /// gathers, or null: gathering a parameter again, as the backward pass does,
  /// begins a step. `bytes` is its size, `saturated` the size that saturates
  /// its group. None if the rule does not say: then `reason` tells why. Emits
  /// an error if two entries of the plan name its module.
  FailureOr<std::optional<PlanStep>> add(CollectiveOpInterface collective,
                                         Value parameter, int64_t bytes,
                                         int64_t saturated,
                                         std::string &reason);

  /// By entry of the plan: whether a collective was found for it.
  ArrayRef<bool> getUsedEntries() const { return usedEntries; }

private:
  struct Scope {
    /// Distinguishes the steps that share an entry.
    int32_t round = 0;
    int64_t bytes = 0;
  };

  FailureOr<int32_t> findEntry(CollectiveOpInterface collective,
                               std::string &reason);

  StepRule rule;
  BucketPlan *plan;
  SmallVector<bool> usedEntries;
  /// By what a step is called, for Kind::Modules.
  llvm::StringMap<int32_t> entryOf;
  /// By group and entry.
  DenseMap<std::pair<Attribute, int32_t>, Scope> scopes;
  /// By group, entry and parameter: the round in which it was gathered last.
  DenseMap<std::pair<std::pair<Attribute, int32_t>, Value>, int32_t> gathered;
  /// By group, entry and round.
  DenseMap<std::tuple<Attribute, int32_t, int32_t>, PlanStep> steps;
  /// By group.
  DenseMap<Attribute, PlanStep> lastSteps;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETPLAN_H
