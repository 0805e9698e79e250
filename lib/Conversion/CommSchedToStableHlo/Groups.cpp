//===- Groups.cpp - Groups as StableHLO's attributes ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Writing.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

LogicalResult Groups::initialize(ModuleOp module) {
  for (GroupOp group : module.getOps<GroupOp>()) {
    groups.push_back(group);
    byName[group.getSymNameAttr()] = group;
    if (auto mark = group->getAttrOfType<DictionaryAttr>(groupMark))
      noteChannels(mark);
  }
  return success(
      succeeded(readCount(module, numReplicasName, numReplicas, saysDevices)) &&
      succeeded(
          readCount(module, numPartitionsName, numPartitions, saysDevices)));
}

GroupOp Groups::lookup(Operation *op, FlatSymbolRefAttr name) {
  if (GroupOp group = byName.lookup(name.getAttr()))
    return group;
  op->emitOpError("names the group ")
      << name << ", which this module does not declare";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

void Groups::noteChannels(DictionaryAttr attributes) {
  Attribute attr = attributes.get(channelHandleName);
  if (attr && seen.insert(attr).second)
    if (std::optional<ChannelHandle> channel = readChannelHandle(attr))
      channels.insert(channel->handle);
  if (auto channel = attributes.getAs<IntegerAttr>(channelIdName))
    channels.insert(channel.getInt());
  if (auto config = attributes.getAs<DictionaryAttr>(backendConfigName))
    noteChannels(config);
}

void Groups::noteChannels(Operation *op) {
  if (auto mark = op->getAttrOfType<DictionaryAttr>(propertiesMark))
    return noteChannels(mark);
  for (StringRef name : {channelHandleName, backendConfigName})
    if (Attribute attr = op->getInherentAttr(name).value_or(nullptr))
      noteChannels(DictionaryAttr::get(
          op->getContext(),
          NamedAttribute(StringAttr::get(op->getContext(), name), attr)));
}

static Attribute getChannelHandle(MLIRContext *context, ChannelHandle channel) {
  std::string text =
      ("#stablehlo.channel_handle<handle = " + Twine(channel.handle) +
       ", type = " + Twine(channel.type) + ">")
          .str();
  return parseAttribute(text, context);
}

/// Collectives of which nothing is known but their group share a channel if all
/// others do. Otherwise each gets one of its own.
LogicalResult Groups::addChannel(Operation *start, GroupOp group,
                                 NamedAttrList &attributes) {
  auto mark = group->getAttrOfType<DictionaryAttr>(groupMark);
  Attribute verbatim = mark ? mark.get(channelHandleName) : Attribute();
  if (verbatim && channels.size() <= 1) {
    attributes.set(channelHandleName, verbatim);
    return success();
  }
  bool needsChannel =
      mark ? verbatim || mark.contains(channelIdName) : numPartitions > 1;
  if (!needsChannel)
    return success();
  ChannelHandle channel = {1, 1};
  if (std::optional<ChannelHandle> known =
          verbatim ? readChannelHandle(verbatim) : std::nullopt)
    channel.type = known->type;
  if (channels.size() == 1)
    channel.handle = *channels.begin();
  else if (!channels.empty())
    channels.insert(channel.handle = *channels.rbegin() + 1);
  Attribute handle = getChannelHandle(start->getContext(), channel);
  if (!handle)
    return start->emitOpError("needs a channel handle of StableHLO, whose "
                              "dialect is not registered");
  attributes.set(channelHandleName, handle);
  return success();
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

FailureOr<Groups::Rows> Groups::getRows(Operation *start, GroupOp group) const {
  Rows rows;
  int64_t size = group.getSize();
  if (std::optional<DenseIntElementsAttr> ranks = group.getRanks()) {
    for (auto [index, rank] : llvm::enumerate(ranks->getValues<APInt>())) {
      if (index % size == 0)
        rows.emplace_back();
      rows.back().push_back(rank.getSExtValue());
    }
    return rows;
  }
  int64_t stride = group.getStride().value_or(1), extent;
  if (!saysDevices || getNumDevices() > maxNumDevices ||
      llvm::MulOverflow(size, stride, extent) ||
      getNumDevices() % extent != 0) {
    InFlightDiagnostic diag = start->emitOpError("cannot list the members of ")
                              << "its group: ";
    if (!saysDevices)
      diag << "the module has neither '" << numReplicasName << "' nor '"
           << numPartitionsName << "'";
    else if (getNumDevices() > maxNumDevices)
      diag << "the module's " << getNumDevices() << " devices are more than "
           << maxNumDevices;
    else
      diag << "the module's " << getNumDevices()
           << " device(s) are no multiple of " << size << " x " << stride
           << " ranks";
    diag.attachNote(group.getLoc()) << "the group is declared here";
    return diag;
  }
  for (int64_t block = 0; block < getNumDevices(); block += extent)
    for (int64_t first = block; first < block + stride; ++first) {
      rows.emplace_back();
      for (int64_t member = 0; member < size; ++member)
        rows.back().push_back(first + member * stride);
    }
  return rows;
}

static Attribute getMatrix(MLIRContext *context,
                           ArrayRef<SmallVector<int64_t>> rows,
                           int64_t numColumns) {
  SmallVector<int64_t> values;
  for (ArrayRef<int64_t> row : rows)
    llvm::append_range(values, row);
  auto type =
      RankedTensorType::get({static_cast<int64_t>(rows.size()), numColumns},
                            IntegerType::get(context, 64));
  return DenseIntElementsAttr::get(type, values);
}

LogicalResult Groups::addMembers(Operation *start, GroupOp group,
                                 NamedAttrList &attributes) const {
  auto mark = group->getAttrOfType<DictionaryAttr>(groupMark);
  Attribute verbatim = mark ? mark.get(replicaGroupsName) : Attribute();
  auto broadcast = dyn_cast<BroadcastOp>(start);
  auto permute = dyn_cast<PermuteOp>(start);
  int64_t root = broadcast ? broadcast.getRoot() : 0;
  if (verbatim && root == 0 && !permute) {
    attributes.set(replicaGroupsName, verbatim);
    return success();
  }
  FailureOr<Rows> rows = getRows(start, group);
  if (failed(rows))
    return failure();
  if (!permute) {
    // A broadcast is from the first of its group.
    for (SmallVector<int64_t> &row : *rows)
      std::rotate(row.begin(), row.begin() + root, row.begin() + root + 1);
    attributes.set(replicaGroupsName,
                   getMatrix(start->getContext(), *rows, group.getSize()));
    return success();
  }
  Rows pairs;
  auto values = permute.getPairs().getValues<APInt>();
  SmallVector<APInt> flat(values.begin(), values.end());
  for (ArrayRef<int64_t> row : *rows)
    for (size_t index = 0; index < flat.size(); index += 2)
      pairs.push_back({row[flat[index].getSExtValue()],
                       row[flat[index + 1].getSExtValue()]});
  attributes.set(sourceTargetPairsName,
                 getMatrix(start->getContext(), pairs, 2));
  return success();
}

FailureOr<NamedAttrList> Groups::getAttributes(Operation *start) {
  GroupOp group =
      lookup(start, start->getAttrOfType<FlatSymbolRefAttr>("group"));
  NamedAttrList attributes;
  if (!group || failed(addMembers(start, group, attributes)) ||
      failed(addChannel(start, group, attributes)))
    return failure();
  bool hasFlag = isa<AllGatherOp, AllReduceOp, ReduceScatterOp>(start);
  auto mark = group->getAttrOfType<DictionaryAttr>(groupMark);
  bool isFlattened =
      mark ? mark.contains(useGlobalDeviceIdsName) : numPartitions > 1;
  if ((!mark || isa<PermuteOp>(start)) && !hasFlag && numReplicas > 1 &&
      numPartitions > 1)
    return start->emitOpError("has no form in StableHLO: the module has ")
           << numReplicas << " replicas of " << numPartitions
           << " partitions, and this collective cannot be among both";
  if (hasFlag && isFlattened)
    attributes.set(useGlobalDeviceIdsName, UnitAttr::get(start->getContext()));
  return attributes;
}
