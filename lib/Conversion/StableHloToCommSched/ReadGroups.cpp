//===- ReadGroups.cpp - Groups and channels of collectives ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "mlir/IR/BuiltinDialect.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// Reads the handle of the channel between devices; 0 if there is none, which
/// makes the collective one between replicas.
static FailureOr<int64_t> readChannel(Operation *op, Context &context) {
  Attribute attr = getAttribute(op, channelHandleName);
  if (!attr)
    return int64_t(0);
  auto [entry, isNew] = context.channelHandles.try_emplace(attr);
  if (isNew)
    entry->second = readChannelHandle(attr);
  if (!entry->second)
    return op->emitOpError("attribute 'channel_handle' must be a "
                           "#stablehlo.channel_handle<handle = H, type = T>, "
                           "not ")
           << attr;
  if (entry->second->type != 0 && entry->second->type != 1)
    return op->emitOpError("attribute 'channel_handle' has the type ")
           << entry->second->type
           << ", but a collective is between devices, which is type 1";
  return entry->second->handle;
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
  if (isFlattened && channel <= 0)
    return op->emitOpError("has 'use_global_device_ids', which requires a "
                           "channel with a positive handle, but its handle "
                           "is ")
           << channel;
  if (isFlattened)
    return DeviceIds::Flattened;
  return channel > 0 ? DeviceIds::WholeReplicas : DeviceIds::Replicas;
}

/// Emits an error if the ids of `op` are replicas and those of another
/// collective are partitions, or the other way round.
static LogicalResult verifyNotMixed(Operation *op, DeviceIds ids,
                                    Context &context) {
  context.firstWithIds.try_emplace(static_cast<unsigned>(ids), op);
  DeviceIds other;
  if (ids == DeviceIds::Replicas)
    other = DeviceIds::Partitions;
  else if (ids == DeviceIds::Partitions)
    other = DeviceIds::Replicas;
  else
    return success();
  auto found = context.firstWithIds.find(static_cast<unsigned>(other));
  if (found == context.firstWithIds.end())
    return success();
  InFlightDiagnostic diag = op->emitOpError("is ")
                            << stringify(ids)
                            << ", but another collective of the program is "
                            << stringify(other);
  diag.attachNote(found->second->getLoc()) << "the other collective is here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Whether `attr` is one of MLIR's own, whose C++ class is known.
static bool isBuiltin(Attribute attr) {
  return !isa<OpaqueAttr>(attr) && attr.getDialect().getNamespace() ==
                                       BuiltinDialect::getDialectNamespace();
}

/// What is done with a collective whose groups cannot be read.
static Reading rejectGroups(Operation *op, const Twine &reason,
                            Context &context) {
  if (context.isLenient)
    return keep(op, reason + "; it is a barrier");
  op->emitOpError() << reason
                    << "; with 'lenient' it becomes a barrier instead";
  return Reading::Failed;
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

/// Reads `replica_groups`, which `lookup` finds among the attributes of the
/// collective or, for a ragged all-to-all, in its `backend_config`.
static Reading readReplicaGroups(Collective &collective, DeviceIds ids,
                                 function_ref<Attribute(StringRef)> lookup,
                                 Context &context) {
  Operation *op = collective.op;
  Attribute attr = lookup(replicaGroupsName);
  if (!attr) {
    op->emitOpError("lacks the attribute 'replica_groups'");
    return Reading::Failed;
  }
  auto elements = dyn_cast<DenseIntElementsAttr>(attr);
  if (!elements && !isBuiltin(attr))
    return rejectGroups(op, "lists no devices in 'replica_groups'", context);
  if (!elements) {
    op->emitOpError("attribute 'replica_groups' must be a matrix of i64, not ")
        << attr;
    return Reading::Failed;
  }
  if (elements.empty())
    return rejectGroups(op, "has empty 'replica_groups'", context);
  FailureOr<DeviceGroup *> group = context.groups.lookup(op, elements, ids);
  if (failed(group))
    return Reading::Failed;
  // Only a collective_broadcast may leave devices out.
  if (collective.kind != CollectiveKind::Broadcast) {
    if (failed(context.groups.verifyComplete(op, **group)))
      return Reading::Failed;
  } else if ((*group)->missing) {
    return keep(op, "not all devices take part");
  }
  collective.group = *group;
  setMark(**group, lookup);
  return Reading::Complete;
}

/// Reads `source_target_pairs`, of which each source and each target occurs
/// once.
static Reading readPairs(Collective &collective, DeviceIds ids,
                         Context &context) {
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
  FailureOr<DeviceGroup *> group = context.groups.lookupAll(op, ids, largest);
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

/// Reads the group of a ragged all-to-all, whose attributes are in its
/// `backend_config`.
static Reading readRaggedGroup(Collective &collective, Context &context) {
  Operation *op = collective.op;
  auto config =
      dyn_cast_if_present<DictionaryAttr>(getAttribute(op, backendConfigName));
  if (!config)
    return rejectGroups(
        op, "has no dictionary 'backend_config' with its groups", context);
  int64_t channel = 0;
  if (Attribute attr = config.get(channelIdName)) {
    auto integer = dyn_cast<IntegerAttr>(attr);
    if (!integer || integer.getValue().getSignificantBits() > 64) {
      op->emitOpError("'channel_id' in 'backend_config' must be an i64, not ")
          << attr;
      return Reading::Failed;
    }
    channel = integer.getValue().getSExtValue();
  }
  DeviceIds ids = channel > 0 ? DeviceIds::Partitions : DeviceIds::Replicas;
  if (failed(verifyNotMixed(op, ids, context)))
    return Reading::Failed;
  return readReplicaGroups(
      collective, ids, [&](StringRef name) { return config.get(name); },
      context);
}

/// Reads the group of any other collective.
static Reading readNamedGroup(Collective &collective, Context &context) {
  Operation *op = collective.op;
  FailureOr<int64_t> channel = readChannel(op, context);
  if (failed(channel))
    return Reading::Failed;
  FailureOr<DeviceIds> ids = readDeviceIds(op, collective.kind, *channel);
  if (failed(ids) || failed(verifyNotMixed(op, *ids, context)))
    return Reading::Failed;
  if (collective.kind == CollectiveKind::Permute)
    return readPairs(collective, *ids, context);
  return readReplicaGroups(
      collective, *ids, [&](StringRef name) { return getAttribute(op, name); },
      context);
}

Reading mlir::commsched::stablehlo::readGroup(Collective &collective,
                                              Context &context) {
  Reading reading = collective.isRagged ? readRaggedGroup(collective, context)
                                        : readNamedGroup(collective, context);
  if (reading == Reading::Complete && !collective.group->unsupported.empty())
    return keep(collective.op, collective.group->unsupported);
  return reading;
}
