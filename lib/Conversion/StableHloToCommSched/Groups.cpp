//===- Groups.cpp - Process groups of StableHLO's collectives -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module says how many replicas and partitions it has, or does not: what XLA
// converts to StableHLO lacks the number of replicas. What the module does not
// say follows from the ids and types of its collectives.
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

/// What an id of this kind is called.
static StringRef getNoun(DeviceIds ids) {
  switch (ids) {
  case DeviceIds::Replicas:
  case DeviceIds::WholeReplicas:
    return "replica";
  case DeviceIds::Partitions:
    return "partition";
  case DeviceIds::Flattened:
    return "device";
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Every id is one of the module's and listed once. The first one that is not
/// listed goes into `group`.
LogicalResult DeviceGroups::verifyIds(Operation *op,
                                      DenseIntElementsAttr groups,
                                      DeviceGroup &group) {
  StringRef noun = getNoun(group.ids);
  int64_t numColumns = groups.getType().getDimSize(1);
  std::optional<int64_t> numIds = getNumIds(group.ids);
  llvm::DenseMap<int64_t, int64_t> rows;
  for (auto [index, id] : llvm::enumerate(groups.getValues<int64_t>())) {
    int64_t row = static_cast<int64_t>(index) / numColumns;
    if (id == -1)
      continue;
    if (id < 0 || id >= numIds.value_or(maxNumDevices))
      return op->emitOpError("'replica_groups' lists the ")
             << noun << " " << id << " in group " << row << ", but "
             << (numIds ? "the module has " : "there are at most ")
             << numIds.value_or(maxNumDevices) << " " << noun << "s"
             << describeMissing(group.ids);
    auto [first, isNew] = rows.try_emplace(id, row);
    if (!isNew)
      return op->emitOpError("'replica_groups' lists the ")
             << noun << " " << id << " in group " << first->second
             << " and again in group " << row;
  }
  int64_t numListed = rows.size();
  for (int64_t id = 0; id < numIds.value_or(numListed); ++id) {
    if (rows.contains(id))
      continue;
    group.missing = id;
    break;
  }
  return success();
}

LogicalResult DeviceGroups::verifyComplete(Operation *op,
                                           const DeviceGroup &group) const {
  if (!group.missing)
    return success();
  StringRef noun = getNoun(group.ids);
  InFlightDiagnostic diag =
      op->emitOpError("'replica_groups' does not list the ")
      << noun << " " << *group.missing << ", but ";
  if (std::optional<int64_t> numIds = getNumIds(group.ids))
    return diag << "the module has " << *numIds << " " << noun << "s"
                << describeMissing(group.ids);
  return diag << "lists one with a larger number";
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

static std::string describeExcess(int64_t numDevices) {
  return (Twine(numDevices) + " devices are more than " + Twine(maxNumDevices))
      .str();
}

/// Sets size and ranks of `group` from `listed` ids, `numColumns` for each row.
void DeviceGroups::setRows(ArrayRef<int64_t> listed, int64_t numColumns,
                           DeviceGroup &group) {
  DeviceIds ids = isFlat ? DeviceIds::Flattened : group.ids;
  int64_t copies = 1;
  if (ids == DeviceIds::Replicas || ids == DeviceIds::WholeReplicas)
    copies = numPartitions;
  else if (ids == DeviceIds::Partitions)
    copies = numReplicas;
  int64_t numRanks = static_cast<int64_t>(listed.size()) * copies;
  if (numRanks > maxNumDevices) {
    group.unsupported = describeExcess(numRanks);
    return;
  }
  SmallVector<int64_t> ranks;
  ranks.reserve(numRanks);
  group.size = numColumns;
  switch (ids) {
  case DeviceIds::Replicas:
    for (int64_t partition = 0; partition < numPartitions; ++partition)
      for (int64_t replica : listed)
        ranks.push_back(replica * numPartitions + partition);
    break;
  case DeviceIds::Partitions:
    for (int64_t replica = 0; replica < numReplicas; ++replica)
      for (int64_t partition : listed)
        ranks.push_back(replica * numPartitions + partition);
    break;
  case DeviceIds::WholeReplicas:
    group.size = numColumns * numPartitions;
    for (size_t row = 0; row < listed.size(); row += numColumns)
      for (int64_t partition = 0; partition < numPartitions; ++partition)
        for (int64_t replica : listed.slice(row, numColumns))
          ranks.push_back(replica * numPartitions + partition);
    break;
  case DeviceIds::Flattened:
    llvm::append_range(ranks, listed);
    break;
  }
  auto type = RankedTensorType::get({numRanks / group.size, group.size},
                                    IntegerType::get(module.getContext(), 64));
  group.ranks = DenseIntElementsAttr::get(type, ranks);
}

/// The most members of one group that share a node.
int64_t DeviceGroups::countOnOneNode(const DeviceGroup &group) const {
  auto ranks = llvm::to_vector(group.ranks.getValues<int64_t>());
  int64_t most = 0;
  for (ArrayRef<int64_t> rest = ranks; !rest.empty();
       rest = rest.drop_front(group.size))
    most = std::max(
        most, countRanksOnOneNode(rest.take_front(group.size), ranksPerNode));
  return most;
}

//===----------------------------------------------------------------------===//
// Look-up and declaration
//===----------------------------------------------------------------------===//

FailureOr<DeviceGroup *>
DeviceGroups::lookup(Operation *op, DenseIntElementsAttr replicaGroups,
                     DeviceIds ids) {
  auto [entry, isNew] =
      groups.try_emplace({replicaGroups, static_cast<unsigned>(unify(ids))});
  if (!isNew) {
    if (DeviceGroup *group = entry->second.get())
      return group;
    return failure();
  }
  ShapedType type = replicaGroups.getType();
  if (type.getRank() != 2 || !type.getElementType().isSignlessInteger(64))
    return op->emitOpError("'replica_groups' must be a matrix of i64, not ")
           << type;
  if (type.getNumElements() > maxNumDevices)
    return op->emitOpError("'replica_groups' lists ")
           << type.getNumElements() << " ids, but there are at most "
           << maxNumDevices << " devices";
  auto group = std::make_unique<DeviceGroup>();
  group->first = op;
  group->ids = ids;
  if (failed(verifyIds(op, replicaGroups, *group)))
    return failure();
  auto listed = llvm::to_vector(replicaGroups.getValues<int64_t>());
  if (llvm::is_contained(listed, -1))
    group->unsupported = "its groups have different sizes, and those of a "
                         "commsched.group have one";
  else
    setRows(listed, type.getDimSize(1), *group);
  entry->second = std::move(group);
  return entry->second.get();
}

FailureOr<DeviceGroup *> DeviceGroups::lookupAll(Operation *op, DeviceIds ids,
                                                 int64_t largest) {
  std::optional<int64_t> known = getNumIds(ids);
  if (known && largest >= *known)
    return op->emitOpError("names the ")
           << getNoun(ids) << " " << largest << ", but the module has "
           << *known << " " << getNoun(ids) << "s" << describeMissing(ids);
  std::unique_ptr<DeviceGroup> &group =
      groups[{Attribute(), static_cast<unsigned>(unify(ids))}];
  if (!group) {
    group = std::make_unique<DeviceGroup>();
    group->first = op;
  }
  group->ids = ids;
  group->size = known.value_or(std::max(group->size, largest + 1));
  int64_t numRanks = known ? numReplicas * numPartitions : group->size;
  if (numRanks > maxNumDevices)
    group->unsupported = describeExcess(numRanks);
  return group.get();
}

FlatSymbolRefAttr DeviceGroups::getSymbol(DeviceGroup &group,
                                          SymbolTable &symbols) {
  MLIRContext *context = module.getContext();
  if (group.declaration)
    return FlatSymbolRefAttr::get(group.declaration.getSymNameAttr());
  std::string name = "all_devices";
  if (group.ranks)
    name = "replica_groups_" + std::to_string(numDeclared++);
  else
    setRows(llvm::to_vector(llvm::seq<int64_t>(0, group.size)), group.size,
            group);
  OpBuilder detached(context);
  GroupOp op = GroupOp::create(
      detached, group.first->getLoc(), name, group.size,
      /*ranks_per_node=*/IntegerAttr(), /*stride=*/IntegerAttr(), group.ranks,
      /*sym_visibility=*/StringAttr());
  int64_t onOneNode = countOnOneNode(group);
  // The default is not printed.
  if (op.getProcessGroup().ranksPerNode != onOneNode)
    op.setRanksPerNode(onOneNode);
  op->setDiscardableAttr(groupMark, group.mark.getDictionary(context));
  Block *body = module.getBody();
  symbols.insert(op, lastDeclared ? std::next(Block::iterator(lastDeclared))
                                  : body->begin());
  lastDeclared = op;
  group.declaration = op;
  return FlatSymbolRefAttr::get(op.getSymNameAttr());
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

LogicalResult DeviceGroups::initialize(int64_t option) {
  if (option < 0 || option > maxNumDevices)
    return module.emitError("the option 'devices' is ")
           << option << ", but there are from 1 to " << maxNumDevices
           << " devices";
  numDevices = option;
  if (failed(readCount(module, numReplicasName, numReplicas, hasNumReplicas)) ||
      failed(readCount(module, numPartitionsName, numPartitions,
                       hasNumPartitions)))
    return failure();
  if (hasNumReplicas)
    knownReplicas = numReplicas;
  if (hasNumPartitions)
    knownPartitions = numPartitions;
  if (numDevices == 0)
    return success();
  int64_t said = numReplicas * numPartitions;
  bool isComplete = hasNumReplicas && hasNumPartitions;
  if (isComplete ? said == numDevices : numDevices % said == 0)
    return success();
  InFlightDiagnostic diag = module.emitError("the option 'devices' is ")
                            << numDevices << ", but the module has ";
  if (hasNumReplicas)
    diag << numReplicas << " replicas ('" << numReplicasName << "')";
  if (isComplete)
    diag << " of ";
  if (hasNumPartitions)
    diag << numPartitions << " partitions ('" << numPartitionsName << "')";
  return diag;
}

/// The replicas of `numPartitions` partitions each that `evidence` needs.
static int64_t countReplicas(const DeviceEvidence &evidence,
                             int64_t numPartitions) {
  int64_t count = std::max(int64_t(1), evidence.numReplicas);
  if (evidence.numDevices % numPartitions == 0)
    count = std::max(count, evidence.numDevices / numPartitions);
  return count;
}

void DeviceGroups::infer(const DeviceEvidence &evidence) {
  int64_t most = std::max({int64_t(1), evidence.numReplicas,
                           evidence.numPartitions, evidence.numDevices});
  bool hasBoth = evidence.usesReplicas && evidence.usesPartitions;
  hasEvidence = evidence.numReplicas || evidence.numPartitions ||
                evidence.numDevices || numDevices != 0;
  if (knownReplicas && knownPartitions)
    return;
  if (knownReplicas || knownPartitions) {
    std::optional<int64_t> &other =
        knownReplicas ? knownPartitions : knownReplicas;
    int64_t known = knownReplicas.value_or(1) * knownPartitions.value_or(1);
    int64_t &assumed = knownReplicas ? numPartitions : numReplicas;
    if (numDevices != 0)
      other = assumed = numDevices / known;
    else if (knownReplicas && evidence.partitionsOfReplica > 1)
      assumed = evidence.partitionsOfReplica;
    else if (known == 1)
      assumed = most;
    else
      assumed = knownReplicas ? 1 : countReplicas(evidence, known);
    // XLA's default, unless the ids need more.
    if (assumed == 1)
      other = 1;
    return;
  }
  if (numDevices != 0) {
    knownDevices = most = numDevices;
    isFlat = hasBoth;
    if (!hasBoth)
      (evidence.usesReplicas ? knownPartitions : knownReplicas) = 1;
    if (!hasBoth)
      (evidence.usesReplicas ? knownReplicas : knownPartitions) = most;
  } else if (evidence.partitionsOfReplica > 1) {
    numPartitions =
        std::max(evidence.partitionsOfReplica, evidence.numPartitions);
    numReplicas = std::max(int64_t(1), evidence.numReplicas);
    return;
  } else {
    isFlat = hasBoth;
  }
  (evidence.usesReplicas ? numReplicas : numPartitions) = most;
}

std::optional<int64_t> DeviceGroups::getNumIds(DeviceIds ids) const {
  if (isFlat)
    return knownDevices;
  switch (ids) {
  case DeviceIds::Replicas:
  case DeviceIds::WholeReplicas:
    return knownReplicas;
  case DeviceIds::Partitions:
    return knownPartitions;
  case DeviceIds::Flattened:
    if (knownReplicas && knownPartitions)
      return *knownReplicas * *knownPartitions;
    return std::nullopt;
  }
  return std::nullopt;
}

DeviceIds DeviceGroups::unify(DeviceIds ids) const {
  bool isDevice = isFlat;
  // With one replica, partitions are devices, and the other way round.
  if (ids == DeviceIds::Partitions)
    isDevice |= numReplicas == 1;
  else
    isDevice |= knownPartitions == 1;
  return isDevice ? DeviceIds::Flattened : ids;
}

std::optional<int64_t> DeviceGroups::countIds(DeviceIds ids,
                                              int64_t factor) const {
  if (std::optional<int64_t> known = getNumIds(ids))
    return known;
  bool isWhole = ids == DeviceIds::WholeReplicas && !isFlat;
  if (factor > 0 && (!isWhole || factor % numPartitions == 0))
    return isWhole ? factor / numPartitions : factor;
  if (!hasEvidence)
    return std::nullopt;
  if (ids == DeviceIds::Partitions && !isFlat)
    return numPartitions;
  bool hasReplicas =
      ids == DeviceIds::Replicas || ids == DeviceIds::WholeReplicas;
  return hasReplicas && !isFlat ? numReplicas : numReplicas * numPartitions;
}

std::string DeviceGroups::describeMissing(DeviceIds ids) const {
  bool hasReplicas = ids != DeviceIds::Partitions;
  bool hasPartitions =
      ids == DeviceIds::Partitions || ids == DeviceIds::Flattened;
  StringRef name;
  if (hasPartitions && !hasNumPartitions)
    name = numPartitionsName;
  else if (hasReplicas && !hasNumReplicas)
    name = numReplicasName;
  // Without any attribute, there is no number that one could take for another.
  if (name.empty() || !(hasNumReplicas || hasNumPartitions))
    return {};
  return ("; the attribute '" + name + "' of the module is missing").str();
}
