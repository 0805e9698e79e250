//===- BucketPlan.h - Buckets that a plan gives -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assigns the collectives of sharded parameters to the entries of a plan, which
// run one after the other with the next one prefetched. The entries come from a
// plan written by hand, or follow from modules or sizes.
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
  FailureOr<int32_t> find(StringRef path, Location location) const;

private:
  struct Entry {
    std::string text;
    std::vector<llvm::GlobPattern> patterns;
  };

  std::vector<Entry> entries;
};

/// The rule that assigns collectives to entries.
struct PlanRule {
  enum class Kind {
    /// The entries of a plan.
    Entries,
    /// Its module: `blocks` consecutive blocks are an entry, a block being what
    /// a number in the module's path counts, such as "layers.7"; with 0, each
    /// module directly inside a block. A module outside of all blocks is an
    /// entry of its own.
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
std::string describe(const PlanRule &rule);

/// The rules by which a plan is made automatically: blocks of the model, parts
/// of blocks, and sizes up to `mostPercent` of what saturates a group. Of
/// equally good ones the first is taken.
ArrayRef<PlanRule> getPlanRules(int32_t mostPercent = 200);

/// A place in the sequence of entries that the collectives of a group have.
struct PlanEntry {
  /// Numbers the groups.
  int32_t group = 0;
  /// Numbers the entries of one group in the order of the program. One entry
  /// may be several buckets, of different element types.
  int32_t index = 0;
};

/// Assigns the collectives of a program to the entries of a plan.
class PlanEntries {
public:
  /// `plan` is needed for Kind::Entries.
  explicit PlanEntries(PlanRule rule, const BucketPlan *plan = nullptr);

  /// The entry of the next collective of the program. `parameter` is what it
  /// gathers, or null: gathering a parameter again, as the backward pass does,
  /// begins an entry. `bytes` is its size, `saturated` the size that saturates
  /// its group. None if the rule does not apply to it, for the given `reason`.
  /// Emits an error if two entries of the plan name its module.
  FailureOr<std::optional<PlanEntry>> add(CollectiveOpInterface collective,
                                          Value parameter, int64_t bytes,
                                          int64_t saturated,
                                          std::string &reason);

  /// By entry of the plan: whether a collective was found for it.
  ArrayRef<bool> getUsedEntries() const { return usedEntries; }

private:
  struct Scope {
    /// Distinguishes the entries that share a name.
    int32_t round = 0;
    int64_t bytes = 0;
  };

  FailureOr<int32_t> findName(CollectiveOpInterface collective,
                              std::string &reason);

  PlanRule rule;
  const BucketPlan *plan;
  SmallVector<bool> usedEntries;
  /// By the name of an entry, for Kind::Modules; by module, for Kind::Entries.
  llvm::StringMap<int32_t> nameOf;
  /// By group and name.
  DenseMap<std::pair<Attribute, int32_t>, Scope> scopes;
  /// By group, name and parameter: the round in which it was gathered last.
  DenseMap<std::pair<std::pair<Attribute, int32_t>, Value>, int32_t> gathered;
  /// By group, name and round.
  DenseMap<std::tuple<Attribute, int32_t, int32_t>, PlanEntry> entries;
  /// By group.
  DenseMap<Attribute, PlanEntry> lastEntries;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETPLAN_H
