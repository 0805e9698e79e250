//===- Groups.cpp - Groups as StableHLO's attributes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Writing.h"

#include "../StableHlo/StableHlo.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
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

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

StringRef mlir::commsched::stablehlo::getCollectiveName(Operation *start) {
  return TypeSwitch<Operation *, StringRef>(start)
      .Case([](AllGatherOp) { return allGatherName; })
      .Case([](AllReduceOp) { return allReduceName; })
      .Case([](AllToAllOp) { return allToAllName; })
      .Case([](BroadcastOp) { return collectiveBroadcastName; })
      .Case([](PermuteOp) { return collectivePermuteName; })
      .Case([](RaggedAllToAllOp) { return customCallName; })
      .Case([](ReduceScatterOp) { return reduceScatterName; })
      .Default([](Operation *) { return StringRef(); });
}

static std::optional<std::string> getUnsupportedStart(Operation *start) {
  auto collective = cast<CollectiveOpInterface>(start);
  bool isOriginal = start->hasAttr(propertiesMark);
  SmallVector<Type> delivered = collective.getDeliveredTypes();
  if (collective.getReductionKind() == ReductionKind::Avg &&
      !llvm::all_of(delivered, [](Type type) {
        return cast<ShapedType>(type).hasStaticShape();
      }))
    return "an average of tensors of dynamic shape is not divided here";
  auto exchange = dyn_cast<AllToAllOp>(start);
  if (exchange && exchange.hasSplits())
    return "StableHLO's all_to_all has equal parts only";
  if (isa<RaggedAllToAllOp>(start) && !isOriginal)
    return "it is a custom call of XLA, whose configuration is not known";
  return std::nullopt;
}

std::optional<std::string>
mlir::commsched::stablehlo::getUnsupportedReason(Operation *op) {
  if (isa<GroupOp, WaitOp, AllGatherCopyInOp, SplitWithSizesCopyOp, ChunkCatOp>(
          op))
    return std::nullopt;
  if (!getCollectiveName(op).empty())
    return getUnsupportedStart(op);
  return TypeSwitch<Operation *, std::string>(op)
      .Case([](BarrierOp) {
        return "programs of StableHLO are ordered by their data only";
      })
      .Case<SendOp, RecvOp>([](auto) {
        return "StableHLO's send and recv are ordered by tokens, which are not "
               "known here";
      })
      .Case([](RankOp) {
        return "StableHLO knows a device's number, but not its place in a "
               "group";
      })
      .Case([](ComputeOp) { return "what the operator computes is not known"; })
      .Default([](Operation *) {
        return "it works on memory, and programs of StableHLO on values";
      });
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

bool mlir::commsched::stablehlo::isOwnAttribute(StringRef name) {
  return name.starts_with("commsched.") || name == groupMark ||
         name == propertiesMark || name == asyncMark || name == reducerMark ||
         name == reducerShardingMark || name == promotionMark ||
         name == namedMark;
}

SmallVector<NamedAttribute>
mlir::commsched::stablehlo::getForeignAttributes(Operation *op) {
  SmallVector<NamedAttribute> kept;
  llvm::copy_if(
      op->getDiscardableAttrs(), std::back_inserter(kept),
      [](NamedAttribute attr) { return !isOwnAttribute(attr.getName()); });
  return kept;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

bool mlir::commsched::stablehlo::isDimension(StringRef name) {
  return name == allGatherDimName || name == scatterDimensionName ||
         name == splitDimensionName || name == concatDimensionName ||
         name == splitCountName;
}

void mlir::commsched::stablehlo::setDimensions(Operation *start,
                                               NamedAttrList &attributes,
                                               int64_t groupSize, bool isFlat) {
  Builder builder(start->getContext());
  auto set = [&](StringRef name, int64_t value) {
    attributes.set(name, builder.getI64IntegerAttr(value));
  };
  auto setDim = [&](StringRef name, int64_t dim) {
    set(name, isFlat ? 0 : dim);
  };
  if (auto gather = dyn_cast<AllGatherOp>(start))
    setDim(allGatherDimName, gather.getDim());
  if (auto scatter = dyn_cast<ReduceScatterOp>(start))
    setDim(scatterDimensionName, scatter.getDim());
  if (auto exchange = dyn_cast<AllToAllOp>(start)) {
    setDim(splitDimensionName, exchange.getSplitDim());
    setDim(concatDimensionName, exchange.getConcatDim());
    set(splitCountName, groupSize);
  }
}

LogicalResult mlir::commsched::stablehlo::verifyDimensions(
    Operation *start, DictionaryAttr original, int64_t groupSize) {
  NamedAttrList expected;
  setDimensions(start, expected, groupSize, /*isFlat=*/false);
  for (NamedAttribute attr : expected) {
    Attribute said = original.get(attr.getName());
    // Older printers wrote inherent attributes among the discardable ones.
    if (!said)
      said = start->getDiscardableAttr(attr.getName());
    if (said == attr.getValue())
      continue;
    InFlightDiagnostic diag = start->emitOpError("needs '")
                              << attr.getName().getValue() << "' of "
                              << attr.getValue() << ", but '" << propertiesMark
                              << "' has ";
    if (said)
      return diag << said;
    return diag << "none";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Manual computations
//===----------------------------------------------------------------------===//

static void inlineCall(func::CallOp call, func::FuncOp function) {
  Block &body = function.getBody().front();
  Operation *end = body.getTerminator();
  IRRewriter rewriter(call.getContext());
  rewriter.inlineBlockBefore(&body, call, call.getOperands());
  rewriter.replaceOp(call, end->getOperands());
  rewriter.eraseOp(end);
  rewriter.eraseOp(function);
}

LogicalResult
mlir::commsched::stablehlo::inlineManualComputations(ModuleOp module) {
  llvm::MapVector<StringAttr, func::FuncOp> outlined;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(perDeviceAttrName))
      outlined[function.getSymNameAttr()] = function;
  if (outlined.empty())
    return success();
  DenseMap<StringAttr, SmallVector<func::CallOp>> calls;
  module.walk([&](func::CallOp call) {
    calls[call.getCalleeAttr().getAttr()].push_back(call);
  });
  for (auto [name, function] : outlined) {
    ArrayRef<func::CallOp> own = calls[name];
    bool isRecursive = own.size() == 1 && function->isAncestor(own.front());
    if (own.size() != 1 || isRecursive || !function.getBody().hasOneBlock()) {
      InFlightDiagnostic diag = function.emitOpError(
          "is the body of a manual computation and cannot be put back: ");
      if (isRecursive)
        return diag << "it calls itself";
      if (own.size() == 1)
        return diag << "it has " << function.getBody().getBlocks().size()
                    << " blocks";
      diag << "it is called " << own.size() << " times";
      for (func::CallOp call : own)
        diag.attachNote(call.getLoc()) << "a call";
      return diag;
    }
    inlineCall(own.front(), function);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Scheduling groups
//===----------------------------------------------------------------------===//

static constexpr StringLiteral groupIdName = "_scheduling_group_id";

static DictionaryAttr getFrontendAttributes(Operation *op) {
  return dyn_cast_if_present<DictionaryAttr>(
      op->getDiscardableAttr(frontendAttributesName));
}

static bool isAnnotated(Operation *op) {
  DictionaryAttr attributes = getFrontendAttributes(op);
  return attributes && attributes.contains(groupIdName);
}

static void annotate(Operation *op, int64_t id) {
  NamedAttrList attributes(getFrontendAttributes(op));
  attributes.set(groupIdName,
                 StringAttr::get(op->getContext(), std::to_string(id)));
  op->setDiscardableAttr(frontendAttributesName,
                         attributes.getDictionary(op->getContext()));
}

static bool isStart(Operation *op) {
  return op->getName().getStringRef() == asyncStartName &&
         op->getResult(0).hasOneUse();
}

static void annotateBlock(Block &block, int64_t &id) {
  bool hasStart = false;
  for (Operation &op : block) {
    if (isAnnotated(&op))
      return;
    hasStart |= isStart(&op);
  }
  if (!hasStart)
    return;
  // The starts whose done has not come, in order, and the end of the group.
  SmallVector<Operation *> open;
  size_t firstOpen = 0;
  DenseSet<Operation *> done;
  Operation *end = nullptr;
  for (Operation &op : block) {
    if (isStart(&op))
      open.push_back(&op);
    while (firstOpen < open.size() && done.contains(open[firstOpen]))
      ++firstOpen;
    if (!end && firstOpen < open.size()) {
      end = *open[firstOpen]->getUsers().begin();
      ++id;
    }
    if (!end || isStart(&op))
      continue;
    if (op.getName().getStringRef() == asyncDoneName) {
      Operation *start = op.getOperand(0).getDefiningOp();
      done.insert(start);
      annotate(start, id);
      annotate(&op, id);
    } else if (op.getNumOperands() != 0 &&
               !op.hasTrait<OpTrait::IsTerminator>()) {
      annotate(&op, id);
    }
    if (&op == end)
      end = nullptr;
  }
}

void mlir::commsched::stablehlo::annotateSchedulingGroups(ModuleOp module) {
  int64_t id = 0;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (cast<SymbolOpInterface>(*function).isPublic())
      function.walk([&](Block *block) { annotateBlock(*block, id); });
}
