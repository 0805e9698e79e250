//===- ReadGroups.cpp - Groups and channels of collectives ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "mlir/IR/BuiltinDialect.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// Reads the handle of the channel between devices into `handle`; 0 if there is
/// none, which makes the collective one between replicas.
static Reading readChannel(Operation *op, int64_t &handle, Context &context) {
  Attribute attr = getAttribute(op, channelHandleName);
  if (!attr)
    return Reading::Complete;
  auto [entry, isNew] = context.channelHandles.try_emplace(attr);
  if (isNew)
    entry->second = readChannelHandle(attr);
  if (!entry->second) {
    op->emitOpError("attribute 'channel_handle' must be a "
                    "#stablehlo.channel_handle<handle = H, type = T>, not ")
        << attr;
    return Reading::Failed;
  }
  handle = entry->second->handle;
  if (entry->second->type == 0 || entry->second->type == 1)
    return Reading::Complete;
  return keep(op,
              "its 'channel_handle' has the type " +
                  Twine(entry->second->type) +
                  ", and the type of a channel between devices is 1",
              context);
}

/// What the ids in the groups of a collective are, which follows from the
/// channel and, where the collective has it, `use_global_device_ids`.
static FailureOr<DeviceIds> readDeviceIds(Operation *op, CollectiveKind kind,
                                          int64_t channel) {
  switch (kind) {
  case CollectiveKind::AllGather:
  case CollectiveKind::AllReduce:
  case CollectiveKind::ReduceScatter:
    break;
  default:
    return channel > 0 ? DeviceIds::Partitions : DeviceIds::Replicas;
  }
  Attribute flag = getAttribute(op, useGlobalDeviceIdsName);
  auto boolean = dyn_cast_if_present<BoolAttr>(flag);
  if (flag && !boolean && !isa<UnitAttr>(flag))
    return op->emitOpError("attribute 'use_global_device_ids' must be a unit "
                           "attribute, not ")
           << flag;
  bool isFlattened = flag && (!boolean || boolean.getValue());
  if (isFlattened)
    return DeviceIds::Flattened;
  return channel > 0 ? DeviceIds::WholeReplicas : DeviceIds::Replicas;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Whether `attr` is one of MLIR's own, whose C++ class is known.
static bool isBuiltin(Attribute attr) {
  return !isa<OpaqueAttr>(attr) && attr.getDialect().getNamespace() ==
                                       BuiltinDialect::getDialectNamespace();
}

/// Remembers the attributes from which merged collectives are written. Those of
/// a collective that can have `use_global_device_ids` are preferred, since this
/// attribute says what the ids are.
static void setMark(DeviceGroup &group,
                    function_ref<Attribute(StringRef)> lookup) {
  StringLiteral names[] = {replicaGroupsName, channelHandleName, channelIdName,
                           useGlobalDeviceIdsName};
  NamedAttrList mark;
  for (StringLiteral name : names)
    if (Attribute attr = lookup(name))
      mark.set(name, attr);
  bool isBetter = mark.get(useGlobalDeviceIdsName) &&
                  !group.mark.get(useGlobalDeviceIdsName);
  if (group.mark.empty() || isBetter)
    group.mark = mark;
}

/// The attribute `name` of `op` or, if `isRagged`, of its `backend_config`.
static Attribute getGroupAttribute(Operation *op, bool isRagged,
                                   StringRef name) {
  if (!isRagged)
    return getAttribute(op, name);
  auto config =
      dyn_cast_if_present<DictionaryAttr>(getAttribute(op, backendConfigName));
  return config ? config.get(name) : Attribute();
}

/// The matrix of ids that the group of `collective` is looked up by: what is
/// listed, what a mesh stands for, or all ids.
static Reading readMatrix(const Collective &collective, Attribute attr,
                          int64_t factor, DenseIntElementsAttr &matrix,
                          Context &context) {
  Operation *op = collective.op;
  if (isMeshAxes(attr)) {
    std::string reason;
    matrix = expandMeshAxes(attr, context.module, reason);
    return matrix ? Reading::Complete : keep(op, reason, context);
  }
  matrix = dyn_cast<DenseIntElementsAttr>(attr);
  if (!matrix && !isBuiltin(attr))
    return keep(op, "its 'replica_groups' list no devices", context);
  if (!matrix) {
    op->emitOpError("attribute 'replica_groups' must be a matrix of i64, not ")
        << attr;
    return Reading::Failed;
  }
  if (!matrix.empty())
    return Reading::Complete;
  std::optional<int64_t> count =
      context.groups.countIds(collective.ids, factor);
  if (!count)
    return keep(op,
                "its empty 'replica_groups' are all devices, whose number is "
                "not known: neither the module's attributes '" +
                    numReplicasName + "' and '" + numPartitionsName +
                    "' nor the option 'devices' says it",
                context);
  if (*count > maxNumDevices)
    return keep(
        op, Twine(*count) + " devices are more than " + Twine(maxNumDevices),
        context);
  auto type = RankedTensorType::get({1, *count},
                                    IntegerType::get(op->getContext(), 64));
  matrix = DenseIntElementsAttr::get(
      type, llvm::to_vector(llvm::seq<int64_t>(0, *count)));
  return Reading::Complete;
}

/// Reads `replica_groups`.
static Reading readReplicaGroups(Collective &collective, int64_t factor,
                                 Context &context) {
  Operation *op = collective.op;
  auto lookup = [&](StringRef name) {
    return getGroupAttribute(op, collective.isRagged, name);
  };
  Attribute attr = lookup(replicaGroupsName);
  if (!attr) {
    op->emitOpError("lacks the attribute 'replica_groups'");
    return Reading::Failed;
  }
  DenseIntElementsAttr matrix;
  Reading reading = readMatrix(collective, attr, factor, matrix, context);
  if (reading != Reading::Complete)
    return reading;
  FailureOr<DeviceGroup *> group =
      context.groups.lookup(op, matrix, collective.ids);
  if (failed(group))
    return Reading::Failed;
  // Only a collective_broadcast may leave devices out.
  if (collective.kind != CollectiveKind::Broadcast) {
    if (failed(context.groups.verifyComplete(op, **group)))
      return Reading::Failed;
  } else if ((*group)->missing) {
    return keep(op, "not all devices take part", context);
  }
  collective.group = *group;
  setMark(**group, lookup);
  return Reading::Complete;
}

/// Reads `source_target_pairs`, of which each source and each target occurs
/// once.
static Reading readPairs(Collective &collective, Context &context) {
  Operation *op = collective.op;
  Attribute attr = getAttribute(op, sourceTargetPairsName);
  auto pairs = dyn_cast_if_present<DenseIntElementsAttr>(attr);
  if (!pairs || pairs.getType().getRank() != 2 ||
      pairs.getType().getDimSize(1) != 2 ||
      !pairs.getElementType().isSignlessInteger(64)) {
    InFlightDiagnostic diag = op->emitOpError(
        "attribute 'source_target_pairs' must be a matrix of i64 with two "
        "columns");
    if (attr)
      diag << ", not " << attr;
    return Reading::Failed;
  }
  int64_t largest = 0;
  llvm::DenseMap<int64_t, int64_t> sources, targets;
  for (auto [index, id] : llvm::enumerate(pairs.getValues<int64_t>())) {
    bool isSource = index % 2 == 0;
    int64_t row = static_cast<int64_t>(index) / 2;
    if (id < 0 || id == std::numeric_limits<int64_t>::max()) {
      op->emitOpError("'source_target_pairs' lists the id ")
          << id << " in pair " << row << ", which is no id";
      return Reading::Failed;
    }
    auto [first, isNew] = (isSource ? sources : targets).try_emplace(id, row);
    if (!isNew) {
      op->emitOpError("'source_target_pairs' has the ")
          << (isSource ? "source " : "target ") << id << " in pair "
          << first->second << " and again in pair " << row;
      return Reading::Failed;
    }
    largest = std::max(largest, id);
  }
  FailureOr<DeviceGroup *> group =
      context.groups.lookupAll(op, collective.ids, largest);
  if (failed(group))
    return Reading::Failed;
  NamedAttrList &mark = (*group)->mark;
  if (mark.empty()) {
    mark.set(permuteKey, UnitAttr::get(op->getContext()));
    if (Attribute channel = getAttribute(op, channelHandleName))
      mark.set(channelHandleName, channel);
  }
  collective.group = *group;
  collective.pairs = pairs;
  return Reading::Complete;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Reads the channel of a ragged all-to-all, which is in its `backend_config`.
static Reading readRaggedIds(Collective &collective, Context &context) {
  Operation *op = collective.op;
  if (!isa_and_present<DictionaryAttr>(getAttribute(op, backendConfigName)))
    return keep(op, "it has no dictionary 'backend_config' with its groups",
                context);
  int64_t channel = 0;
  if (Attribute attr =
          getGroupAttribute(op, /*isRagged=*/true, channelIdName)) {
    auto integer = dyn_cast<IntegerAttr>(attr);
    if (!integer || integer.getValue().getSignificantBits() > 64) {
      op->emitOpError("'channel_id' in 'backend_config' must be an i64, not ")
          << attr;
      return Reading::Failed;
    }
    channel = integer.getValue().getSExtValue();
  }
  collective.ids = channel > 0 ? DeviceIds::Partitions : DeviceIds::Replicas;
  return Reading::Complete;
}

Reading mlir::commsched::stablehlo::readIds(Collective &collective,
                                            Context &context) {
  if (collective.isRagged)
    return readRaggedIds(collective, context);
  int64_t channel = 0;
  Reading reading = readChannel(collective.op, channel, context);
  if (reading != Reading::Complete)
    return reading;
  FailureOr<DeviceIds> ids =
      readDeviceIds(collective.op, collective.kind, channel);
  if (failed(ids))
    return Reading::Failed;
  collective.ids = *ids;
  return Reading::Complete;
}

void mlir::commsched::stablehlo::addEvidence(const Collective &collective,
                                             int64_t factor,
                                             DeviceEvidence &evidence,
                                             Context &context) {
  bool isPermute = collective.kind == CollectiveKind::Permute;
  Attribute attr =
      getGroupAttribute(collective.op, collective.isRagged,
                        isPermute ? StringRef(sourceTargetPairsName)
                                  : StringRef(replicaGroupsName));
  auto matrix = dyn_cast_if_present<DenseIntElementsAttr>(attr);
  std::string reason;
  if (attr && isMeshAxes(attr))
    matrix = expandMeshAxes(attr, context.module, reason);
  bool isMatrix = matrix && matrix.getType().getRank() == 2 &&
                  matrix.getNumElements() <= 2 * maxNumDevices &&
                  matrix.getType().getElementType().isSignlessInteger(64);
  int64_t largest = -1;
  if (isMatrix)
    for (int64_t id : matrix.getValues<int64_t>())
      if (id < maxNumDevices)
        largest = std::max(largest, id);
  int64_t numColumns =
      isMatrix && !matrix.empty() ? matrix.getType().getDimSize(1) : 0;
  int64_t count = std::max(largest + 1, numColumns == 0 ? factor : 0);
  auto extend = [](int64_t &known, int64_t value) {
    known = std::max(known, value);
  };
  switch (collective.ids) {
  case DeviceIds::WholeReplicas:
    evidence.usesReplicas = true;
    extend(numColumns == 0 ? evidence.numDevices : evidence.numReplicas, count);
    if (numColumns != 0 && !isPermute && factor % numColumns == 0)
      extend(evidence.partitionsOfReplica, factor / numColumns);
    return;
  case DeviceIds::Replicas:
    evidence.usesReplicas = true;
    return extend(evidence.numReplicas, count);
  case DeviceIds::Partitions:
    evidence.usesPartitions = true;
    return extend(evidence.numPartitions, count);
  case DeviceIds::Flattened:
    evidence.usesPartitions = true;
    return extend(evidence.numDevices, count);
  }
}

Reading mlir::commsched::stablehlo::readGroup(Collective &collective,
                                              int64_t factor,
                                              Context &context) {
  Reading reading = collective.kind == CollectiveKind::Permute
                        ? readPairs(collective, context)
                        : readReplicaGroups(collective, factor, context);
  if (reading == Reading::Complete && !collective.group->unsupported.empty())
    return keep(collective.op, collective.group->unsupported, context);
  return reading;
}
