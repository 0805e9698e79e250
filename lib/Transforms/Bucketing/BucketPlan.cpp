//===- BucketPlan.cpp - Buckets that a plan gives -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketChoice.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Plans written by hand
//===----------------------------------------------------------------------===//

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

FailureOr<int32_t> BucketPlan::find(StringRef path, Location location) const {
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
  return found;
}

//===----------------------------------------------------------------------===//
// Entries of a plan
//===----------------------------------------------------------------------===//

std::string mlir::commsched::describe(const PlanRule &rule) {
  switch (rule.kind) {
  case PlanRule::Kind::Entries:
    return "by the plan";
  case PlanRule::Kind::Modules:
    if (rule.blocks == 0)
      return "by the modules inside a block";
    return "by " + std::to_string(rule.blocks) +
           (rule.blocks == 1 ? " block" : " blocks");
  case PlanRule::Kind::Bytes:
    return "by " + std::to_string(rule.percent) + "% of what saturates";
  }
  llvm_unreachable("unknown rule");
}

ArrayRef<PlanRule> mlir::commsched::getPlanRules(int32_t mostPercent) {
  using Kind = PlanRule::Kind;
  static constexpr PlanRule rules[] = {
      {Kind::Modules, 1, 0}, {Kind::Modules, 0, 0}, {Kind::Bytes, 0, 25},
      {Kind::Bytes, 0, 50},  {Kind::Bytes, 0, 100}, {Kind::Bytes, 0, 200}};
  return ArrayRef(rules).take_while(
      [&](const PlanRule &rule) { return rule.percent <= mostPercent; });
}

/// The name of a module's entry for PlanRule::Kind::Modules.
static std::string nameEntry(StringRef path, int32_t blocks) {
  SmallVector<StringRef> parts;
  path.split(parts, '.');
  unsigned number = 0;
  auto *block = llvm::find_if(
      parts, [&](StringRef part) { return !part.getAsInteger(10, number); });
  if (block == parts.end())
    return path.str();
  std::string outer = llvm::join(parts.begin(), block, ".");
  if (blocks == 0)
    return outer + "." +
           llvm::join(block, std::min(block + 2, parts.end()), ".");
  return outer + "." + std::to_string(number / blocks);
}

PlanEntries::PlanEntries(PlanRule rule, const BucketPlan *plan)
    : rule(rule), plan(plan) {
  if (plan)
    usedEntries.resize(plan->getNumEntries());
}

/// Returns the number of the name that selects the entry of the collective; -1
/// if the rule does not select one.
FailureOr<int32_t> PlanEntries::findName(CollectiveOpInterface collective,
                                         std::string &reason) {
  if (rule.kind == PlanRule::Kind::Bytes)
    return 0;
  auto module = collective->getAttrOfType<StringAttr>(moduleAttrName);
  if (!module) {
    reason = "no plan can name it, as it has no module";
    return -1;
  }
  if (rule.kind == PlanRule::Kind::Modules)
    return nameOf
        .try_emplace(nameEntry(module.getValue(), rule.blocks), nameOf.size())
        .first->second;
  auto known = nameOf.find(module.getValue());
  FailureOr<int32_t> entry =
      known != nameOf.end()
          ? FailureOr<int32_t>(known->second)
          : plan->find(module.getValue(), collective->getLoc());
  if (failed(entry))
    return failure();
  nameOf[module.getValue()] = *entry;
  if (*entry >= 0)
    usedEntries[*entry] = true;
  else
    reason =
        ("no entry of the plan names its module '" + module.getValue() + "'")
            .str();
  return *entry;
}

FailureOr<std::optional<PlanEntry>>
PlanEntries::add(CollectiveOpInterface collective, Value parameter,
                 int64_t bytes, int64_t saturated, std::string &reason) {
  FailureOr<int32_t> name = findName(collective, reason);
  if (failed(name))
    return failure();
  if (*name < 0)
    return std::optional<PlanEntry>();
  Attribute group = collective.getGroupKey();
  Scope &scope = scopes[{group, *name}];
  auto beginRound = [&] {
    ++scope.round;
    scope.bytes = 0;
  };
  int64_t cap = saturated / 100 * rule.percent;
  if (rule.kind == PlanRule::Kind::Bytes && scope.bytes > 0 &&
      bytes > cap - scope.bytes)
    beginRound();
  if (parameter) {
    auto [it, isNew] =
        gathered.try_emplace({{group, *name}, parameter}, scope.round);
    if (!isNew && it->second == scope.round)
      beginRound();
    it->second = scope.round;
  }
  scope.bytes += bytes;

  auto [it, isNew] = entries.try_emplace({group, *name, scope.round});
  if (isNew) {
    auto [last, isFirst] = lastEntries.try_emplace(group);
    if (isFirst)
      last->second.group = lastEntries.size() - 1;
    else
      ++last->second.index;
    it->second = last->second;
  }
  return std::optional(it->second);
}
