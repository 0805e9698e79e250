//===- BucketCandidates.cpp - Collectives that may be merged --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BucketChoice.h"
#include "CommSched/Support/Unlimited.h"

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/CostModel/CollectiveCost.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using cost::CollectiveQuery;
using schedule::NodeId;

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
    if (found >= 0)
      return emitError(location)
             << "the plan's entries " << found << ", '" << entries[found].text
             << "', and " << index << ", '" << entry.text
             << "', both name the module '" << path << "'";
    found = index;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Entries of a plan
//===----------------------------------------------------------------------===//

/// Each size once, if neighboring parts share it.
static std::string describePercents(const PlanRule::Percents &percents) {
  std::string text;
  for (auto [part, percent] : llvm::enumerate(percents))
    if (part == 0 || percent != percents[part - 1])
      text += (part == 0 ? "" : ", then ") + std::to_string(percent) + "%";
  return text;
}

/// What decides on the members of a bucket.
static std::string describeMembers(const PlanRule &rule) {
  switch (rule.kind) {
  case PlanRule::Kind::Entries:
    return "by the plan";
  case PlanRule::Kind::Modules:
    if (rule.blocks == 0)
      return "by the modules inside a block";
    return "by " + std::to_string(rule.blocks) +
           (rule.blocks == 1 ? " block" : " blocks");
  case PlanRule::Kind::Bytes:
    return "by " + describePercents(rule.percents) + " of what saturates" +
           (rule.roomPercent == 0
                ? ""
                : " within " + std::to_string(rule.roomPercent) +
                      "% of the memory left");
  }
  llvm_unreachable("unknown rule");
}

std::string mlir::commsched::describe(const PlanRule &rule) {
  return describeMembers(rule) + (rule.isCoalesced ? " without copies" : "");
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
                 int64_t bytes, int64_t capBytes, std::string &reason) {
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
  if (rule.kind == PlanRule::Kind::Bytes && scope.bytes > 0 &&
      bytes > capBytes - scope.bytes)
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

/// The share of a group's bandwidth at which a larger message gains little.
static constexpr double saturationFraction = 0.9;

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {

class MergeableFinder {
public:
  MergeableFinder(const BucketingPassOptions &options, const FsdpAnalysis *fsdp,
                  OperationCosts &costs)
      : options(options), fsdp(fsdp), costs(costs) {}

  void visit(CollectiveOpInterface collective, NodeId node);

  MergeableCollectives take() { return std::move(found); }

private:
  SmallVector<BucketMode, 2> findModes(CollectiveOpInterface collective,
                                       bool keepsPlaces,
                                       std::string &reason) const;
  Attribute makeKey(CollectiveOpInterface collective,
                    ArrayRef<BucketMode> modes) const;
  int64_t getSaturatedBytes(CollectiveOpInterface collective);

  const BucketingPassOptions &options;
  const FsdpAnalysis *fsdp;
  OperationCosts &costs;
  MergeableCollectives found;
  /// By group.
  DenseMap<Attribute, int64_t> saturated;
};

} // namespace

/// Whether the collective gathers a sharded parameter or reduces its gradient.
static bool isFsdp(const BucketingPassOptions &options,
                   const FsdpAnalysis &fsdp, CollectiveOpInterface collective) {
  switch (options.kind) {
  case CollectiveKind::AllGather:
    return fsdp.getRole(collective) == FsdpRole::ParameterGather;
  case CollectiveKind::ReduceScatter:
    return fsdp.getRole(collective) == FsdpRole::GradientScatter;
  default:
    // Plans are about gradients; PyTorch counts all that parameters share a
    // group with.
    return fsdp.getRole(collective) == FsdpRole::GradientReduce ||
           (options.grouping == BucketGrouping::Size &&
            fsdp.isFsdpGroup(collective.getGroupKey()));
  }
}

SmallVector<BucketMode, 2>
MergeableFinder::findModes(CollectiveOpInterface collective, bool keepsPlaces,
                           std::string &reason) const {
  static constexpr BucketMode sideBySide[] = {BucketMode::Coalesced};
  SmallVector<BucketMode, 2> modes;
  for (BucketMode mode :
       keepsPlaces ? ArrayRef(sideBySide) : ArrayRef(options.modes)) {
    std::optional<std::string> obstacle =
        getUnmergeableReason(collective, mode);
    if (!obstacle)
      modes.push_back(mode);
    else if (reason.empty())
      reason = std::move(*obstacle);
  }
  // The copies of what is packed later would be in no price.
  if (hasPackedLaunches(collective) &&
      llvm::is_contained(modes, BucketMode::Copy))
    modes = {BucketMode::Copy};
  return modes;
}

Attribute MergeableFinder::makeKey(CollectiveOpInterface collective,
                                   ArrayRef<BucketMode> modes) const {
  SmallVector<Attribute> keys;
  for (BucketMode mode : modes)
    keys.push_back(getMergeKey(collective, mode, options.multiDtype));
  return ArrayAttr::get(collective->getContext(), keys);
}

/// Why every merge of `collective`, a reduction, with others moves elements to
/// other places of a message; empty if not every merge does.
static StringRef getPackingReason(CollectiveOpInterface collective) {
  if (collective.getCollectiveKind() == CollectiveKind::AllReduce &&
      isCarriedByGloo(collective))
    return "gloo reduces all tensors of a launch as one message";
  return hasPackedLaunches(collective)
             ? "all tensors of a launch are packed into one message"
             : "";
}

/// The size from which on more bytes gain little, all collectives of the pass
/// being of one kind; unlimited if it is not known.
int64_t MergeableFinder::getSaturatedBytes(CollectiveOpInterface collective) {
  auto [it, isNew] = saturated.try_emplace(getStreamKey(collective), unlimited);
  if (isNew)
    if (std::optional<CollectiveQuery> query = costs.getQuery(collective))
      it->second = std::max<int64_t>(
          1, getSaturationBytes(costs.getCollectiveCost(), query->kind,
                                query->ranks, query->ranksPerNode,
                                saturationFraction));
  return it->second;
}

void MergeableFinder::visit(CollectiveOpInterface collective, NodeId node) {
  bool keepsPlaces = options.isBitwise && costs.roundsByPlace(collective);
  std::string reason;
  SmallVector<BucketMode, 2> modes = findModes(collective, keepsPlaces, reason);
  if (fsdp && !isFsdp(options, *fsdp, collective)) {
    if (!modes.empty())
      reason = "it is not part of fully sharded data parallelism";
    modes.clear();
  } else if (fsdp && isBucket(collective)) {
    found.hasBucket = true;
  }
  std::optional<CollectiveQuery> query = costs.getQuery(collective);
  if (!modes.empty() && query && query->ranks == 1) {
    // It costs nothing, and canonicalization folds it, but not a bucket.
    modes.clear();
    reason = "its group has one rank";
  }
  StringRef packing = getPackingReason(collective);
  if (!modes.empty() && keepsPlaces && !packing.empty()) {
    found.refused.push_back(
        {collective,
         packing.str() +
             ", in which elements have other places, and with them other "
             "roundings, which bitwise rules out",
         /*isForBitwise=*/true});
    return;
  }
  if (modes.empty()) {
    found.refused.push_back({collective, std::move(reason)});
    return;
  }
  MergeableCollective &mergeable = found.mergeable.emplace_back();
  mergeable.op = collective;
  mergeable.node = node;
  mergeable.key = makeKey(collective, modes);
  mergeable.modes = std::move(modes);
  mergeable.bytes =
      std::max(*collective.getOperandBytes(), *collective.getResultBytes());
  mergeable.saturatedBytes = getSaturatedBytes(collective);
  if (fsdp)
    mergeable.parameter = fsdp->getParameter(collective);
}

MergeableCollectives mlir::commsched::findMergeable(
    const BlockProblem &problem, const BucketingPassOptions &options,
    const FsdpAnalysis *fsdp, OperationCosts &costs) {
  MergeableFinder finder(options, fsdp, costs);
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node) {
    auto collective =
        dyn_cast<CollectiveOpInterface>(problem.getOperation(node));
    if (collective && collective.getCollectiveKind() == options.kind)
      finder.visit(collective, node);
  }
  return finder.take();
}

MergeableCollectives
mlir::commsched::takeSharded(MergeableCollectives &collectives,
                             const BucketingPassOptions &options,
                             const FsdpAnalysis &fsdp) {
  auto isRest = [&](const MergeableCollective &collective) {
    return !isFsdp(options, fsdp, collective.op);
  };
  MergeableCollectives sharded;
  auto begin = std::stable_partition(collectives.mergeable.begin(),
                                     collectives.mergeable.end(), isRest);
  sharded.mergeable.assign(begin, collectives.mergeable.end());
  collectives.mergeable.erase(begin, collectives.mergeable.end());
  for (MergeableCollective &collective : sharded.mergeable) {
    collective.parameter = fsdp.getParameter(collective.op);
    sharded.hasBucket |= isBucket(collective.op);
  }
  for (const RefusedCollective &refused : collectives.refused) {
    auto collective = cast<CollectiveOpInterface>(refused.op);
    sharded.hasBucket |=
        isFsdp(options, fsdp, collective) && isBucket(collective);
  }
  return sharded;
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

namespace {

class CandidateMaker {
public:
  CandidateMaker(const BucketingPassOptions &options, const PlanRule *rule);

  /// Adds a collective of that part of the sequence.
  LogicalResult add(const MergeableCollective &collective, size_t part);

  BucketCandidates finish();

private:
  int64_t getCapBytes(const MergeableCollective &collective, size_t part) const;
  int32_t addKey(const MergeableCollective &collective, PlanEntry entry,
                 size_t part);

  const BucketingPassOptions &options;
  const PlanRule *rule;
  std::optional<PlanEntries> entries;
  BucketCandidates made;
  /// By what can be merged, group and index of the entry, and with a rule but
  /// without entries the size of buckets.
  DenseMap<std::tuple<Attribute, int32_t, int32_t, int64_t>, int32_t> keys;
};

} // namespace

CandidateMaker::CandidateMaker(const BucketingPassOptions &options,
                               const PlanRule *rule)
    : options(options), rule(rule) {
  bool isByHand = rule && rule->kind == PlanRule::Kind::Entries;
  if (rule && options.grouping != BucketGrouping::Size)
    entries.emplace(*rule, isByHand ? &options.plan : nullptr);
}

/// That part of `bytes`, rounded down; `unlimited` if it is not less.
static int64_t takePercent(int64_t bytes, int32_t percent) {
  int64_t whole, part = bytes % 100 * percent / 100;
  if (llvm::MulOverflow<int64_t>(bytes / 100, percent, whole) ||
      whole > unlimited - part)
    return unlimited;
  return whole + part;
}

/// How large the buckets of the collective may be by the rule.
int64_t CandidateMaker::getCapBytes(const MergeableCollective &collective,
                                    size_t part) const {
  if (!rule)
    return unlimited;
  int64_t capBytes =
      takePercent(collective.saturatedBytes, rule->percents[part]);
  if (rule->roomPercent == 0)
    return capBytes;
  return std::min(capBytes,
                  takePercent(collective.roomBytes, rule->roomPercent));
}

int32_t CandidateMaker::addKey(const MergeableCollective &collective,
                               PlanEntry entry, size_t part) {
  bool isBySize = rule && !entries;
  // Those of one size travel together; of a few sizes where memory differs.
  int64_t capBytes =
      isBySize ? std::max<int64_t>(getCapBytes(collective, part), 1) : 0;
  if (isBySize && rule->roomPercent != 0)
    capBytes =
        static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(capBytes)));
  auto [it, isNew] = keys.try_emplace(
      {collective.key, entry.group, entry.index, capBytes}, keys.size());
  if (!isNew)
    return it->second;
  bool isCoalesced =
      rule && rule->isCoalesced &&
      llvm::is_contained(collective.modes, BucketMode::Coalesced);
  made.modes.push_back(isCoalesced
                           ? SmallVector<BucketMode, 2>{BucketMode::Coalesced}
                           : collective.modes);
  std::vector<int64_t> caps = options.capBytes;
  if (entries) {
    caps = {unlimited};
    made.entries.push_back(entry);
  } else if (isBySize) {
    caps = {capBytes};
  } else if (options.saturation) {
    for (int64_t &cap : caps)
      cap = std::min(cap, collective.saturatedBytes);
  }
  made.options.capBytes.push_back(std::move(caps));
  return it->second;
}

LogicalResult CandidateMaker::add(const MergeableCollective &collective,
                                  size_t part) {
  PlanEntry entry;
  if (entries) {
    std::string reason;
    FailureOr<std::optional<PlanEntry>> planned =
        entries->add(collective.op, collective.parameter, collective.bytes,
                     getCapBytes(collective, part), reason);
    if (failed(planned))
      return failure();
    if (!*planned) {
      made.refused.push_back({collective.op, std::move(reason)});
      return success();
    }
    entry = **planned;
  }
  made.candidates.push_back(
      {collective.node, addKey(collective, entry, part), collective.bytes});
  return success();
}

BucketCandidates CandidateMaker::finish() {
  if (entries)
    llvm::append_range(made.usedEntries, entries->getUsedEntries());
  else
    made.options.maxCount = options.maxCount;
  return std::move(made);
}

FailureOr<BucketCandidates>
mlir::commsched::makeCandidates(ArrayRef<MergeableCollective> collectives,
                                const BucketingPassOptions &options,
                                const PlanRule *rule) {
  CandidateMaker maker(options, rule);
  for (auto [index, collective] : llvm::enumerate(collectives))
    if (failed(
            maker.add(collective, index * numPlanParts / collectives.size())))
      return failure();
  return maker.finish();
}
