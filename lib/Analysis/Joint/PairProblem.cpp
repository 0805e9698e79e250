//===- PairProblem.cpp - Problems of both halves --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Joint/PairProblem.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Buffer;
using schedule::BufferId;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::noNode;
using schedule::Problem;
using schedule::StreamId;

SmallVector<FunctionPair> mlir::commsched::getFunctionPairs(Operation *module) {
  llvm::StringMap<FunctionOpInterface> functions;
  for (auto function : module->getRegion(0).getOps<FunctionOpInterface>())
    functions[function.getName()] = function;
  // The function that an attribute of `function` names, or null.
  auto follow = [&](FunctionOpInterface function, StringRef attribute) {
    auto symbol = function->getAttrOfType<FlatSymbolRefAttr>(attribute);
    return symbol ? functions.lookup(symbol.getValue()) : FunctionOpInterface();
  };
  SmallVector<FunctionPair> pairs;
  for (auto forward : module->getRegion(0).getOps<FunctionOpInterface>())
    if (FunctionOpInterface backward = follow(forward, backwardAttrName))
      if (follow(backward, forwardAttrName) == forward)
        pairs.push_back({forward, backward});
  return pairs;
}

namespace {

class PairProblemBuilder {
public:
  PairProblemBuilder(FunctionPair pair, BlockProblem forward,
                     BlockProblem backward)
      : pair(pair), result{std::move(forward), std::move(backward), {}, {}, {}},
        forwardStorages(pair.forward.getFunctionBody().front()),
        backwardStorages(pair.backward.getFunctionBody().front()) {}

  FailureOr<std::optional<PairProblem>> build(std::string &reason);

private:
  /// The lifetime of a buffer of the forward beyond the forward.
  struct Link {
    bool isSaved = false;
    /// Whether its last user may free it, as far as results of the forward and
    /// arguments of the backward are asked.
    bool isFreed = true;
  };

  bool matchSavedValues(std::string &reason);
  void addNodes(const BlockProblem &half);
  void linkSavedValues();
  void addForwardBuffers();
  void addBackwardBuffers();

  FunctionPair pair;
  PairProblem result;
  /// Their storages are the buffers of the problems.
  StorageAnalysis forwardStorages;
  StorageAnalysis backwardStorages;

  /// The results of the forward, and its saved values.
  SmallVector<Value> results;
  SmallVector<Value> saved;
  /// By buffer of the backward: the forward's that it is, or `none`.
  std::vector<int32_t> forwardOf;
  /// By buffer of the forward.
  std::vector<Link> links;
  DenseMap<Attribute, StreamId> streamOf;
};

} // namespace

/// Finds what is saved. False, with the `reason`, if the backward does not take
/// it.
bool PairProblemBuilder::matchSavedValues(std::string &reason) {
  llvm::raw_string_ostream os(reason);
  auto count =
      pair.forward->getAttrOfType<IntegerAttr>(numForwardOutputsAttrName);
  if (!count) {
    os << "@" << pair.forward.getName() << " does not say which of its results "
       << "are saved";
    return false;
  }
  Operation *end = pair.forward.getFunctionBody().front().getTerminator();
  OperandRange all = end->getOperands();
  if (all.size() != pair.forward.getNumResults()) {
    os << "@" << pair.forward.getName() << " ends with '" << end->getName()
       << "', which does not return its results";
    return false;
  }
  // The verifier has seen to it that the forward has so many results.
  auto numResults = static_cast<unsigned>(count.getInt());
  llvm::append_range(results, all.take_front(numResults));
  llvm::append_range(saved, all.drop_front(numResults));
  Block::BlockArgListType arguments =
      pair.backward.getFunctionBody().getArguments();
  if (saved.size() > arguments.size()) {
    os << "@" << pair.forward.getName() << " saves " << saved.size()
       << " values, but @" << pair.backward.getName() << " has "
       << arguments.size() << " arguments";
    return false;
  }
  for (auto [index, value] : llvm::enumerate(saved))
    if (value.getType() != arguments[index].getType()) {
      os << "saved value " << index << " of @" << pair.forward.getName()
         << " is a " << value.getType() << ", but argument " << index << " of @"
         << pair.backward.getName() << " is a " << arguments[index].getType();
      return false;
    }
  return true;
}

void PairProblemBuilder::addNodes(const BlockProblem &half) {
  const Problem &from = half.getProblem();
  Problem &to = result.problem;
  NodeId offset = to.numNodes();
  SmallVector<StreamId> streams;
  for (const ContentionStream &stream : getStreamCollectives(half)) {
    auto [it, inserted] =
        streamOf.try_emplace(getStreamKey(stream.collective),
                             static_cast<StreamId>(result.streams.size()));
    if (inserted)
      result.streams.push_back(stream);
    streams.push_back(it->second);
  }
  for (NodeId node = 0; node < from.numNodes(); ++node) {
    if (from.kind(node) == NodeKind::Wait)
      to.addWait(offset + from.startOf(node));
    else
      to.addNode(from.kind(node), from.costNs(node),
                 from.isCollective(node) ? streams[from.stream(node)]
                                         : schedule::noStream);
  }
}

/// The storage that each argument of `block` has at first, or `none`.
static SmallVector<int32_t>
getArgumentStorages(Block &block, const StorageAnalysis &storages) {
  SmallVector<int32_t> result(block.getNumArguments(), StorageAnalysis::none);
  for (auto [index, storage] : llvm::enumerate(storages.getStorages())) {
    auto argument = dyn_cast<BlockArgument>(storage.root);
    // A memref that is resized gets others later.
    if (argument && storage.producer == StorageAnalysis::none)
      result[argument.getArgNumber()] = static_cast<int32_t>(index);
  }
  return result;
}

/// Finds the buffers that are one in both halves.
void PairProblemBuilder::linkSavedValues() {
  forwardOf.assign(backwardStorages.getStorages().size(),
                   StorageAnalysis::none);
  links.assign(forwardStorages.getStorages().size(), Link());
  SmallVector<int32_t> arguments = getArgumentStorages(
      pair.backward.getFunctionBody().front(), backwardStorages);
  for (auto [value, there] : llvm::zip(saved, arguments)) {
    int32_t here = forwardStorages.getStorage(value);
    if (here == StorageAnalysis::none || there == StorageAnalysis::none)
      continue;
    // Of a memref that the backward grows first only the handle is saved.
    const Buffer &buffer = result.backward.getProblem().buffer(there);
    if (isa<BaseMemRefType>(value.getType()) && buffer.bytes == 0)
      continue;
    forwardOf[there] = here;
    links[here].isSaved = true;
    links[here].isFreed &=
        buffer.freed && !result.backward.getProblem().users(there).empty();
  }
  for (Value value : results)
    if (int32_t storage = forwardStorages.getStorage(value);
        storage != StorageAnalysis::none)
      links[storage].isFreed = false;
}

void PairProblemBuilder::addForwardBuffers() {
  const Problem &from = result.forward.getProblem();
  for (BufferId id = 0; id < from.numBuffers(); ++id) {
    const Storage &storage = forwardStorages.getStorages()[id];
    auto argument = dyn_cast<BlockArgument>(storage.root);
    const Buffer &buffer = from.buffer(id);
    bool isFreed = buffer.freed;
    if (links[id].isSaved) {
      // That the forward returns it says nothing: whose it is else does.
      isFreed = links[id].isFreed &&
                (buffer.freed || !argument || isFreeable(argument));
      if (!argument)
        result.savedBytes += buffer.bytes;
    }
    result.problem.addBuffer(buffer.bytes, buffer.producer, isFreed);
    result.halfBuffers.push_back({/*isBackward=*/false, id});
    for (NodeId user : from.users(id))
      result.problem.addUse(id, user);
  }
}

void PairProblemBuilder::addBackwardBuffers() {
  const Problem &from = result.backward.getProblem();
  NodeId offset = result.getBetween() + 1;
  for (BufferId id = 0; id < from.numBuffers(); ++id) {
    const Buffer &buffer = from.buffer(id);
    BufferId inPair = forwardOf[id];
    if (inPair == StorageAnalysis::none) {
      // Buffers that are live when the backward starts are allocated between
      // the halves. Unused ones stay live, as they do in the backward alone.
      bool isMade = buffer.producer != noNode;
      inPair = result.problem.addBuffer(
          buffer.bytes, isMade ? offset + buffer.producer : result.getBetween(),
          buffer.freed && (isMade || !from.users(id).empty()));
      result.halfBuffers.push_back({/*isBackward=*/true, id});
    }
    for (NodeId user : from.users(id))
      result.problem.addUse(inPair, offset + user);
  }
}

FailureOr<std::optional<PairProblem>>
PairProblemBuilder::build(std::string &reason) {
  if (!matchSavedValues(reason))
    return std::optional<PairProblem>();
  addNodes(result.forward);
  result.problem.addNode(NodeKind::Compute, 0);
  addNodes(result.backward);
  linkSavedValues();
  addForwardBuffers();
  addBackwardBuffers();
  if (const Status &status = result.problem.finalize(); !status)
    return emitError(pair.forward.getLoc(), "cannot be simulated with @")
           << pair.backward.getName() << " behind it: " << status.error();
  return std::optional(std::move(result));
}

/// The problem of the body of `function`. None, with the `reason`, if it has
/// several blocks or a collective in flight across its boundary.
static FailureOr<std::optional<BlockProblem>>
createProblem(FunctionOpInterface function, BlockProblem::CostFunction getCost,
              StreamOrder streamOrder, std::string &reason) {
  using Outcome = std::optional<BlockProblem>;
  auto decline = [&](const Twine &text) {
    reason = ("@" + function.getName() + " is not simulated: " + text).str();
    return Outcome();
  };
  if (!llvm::hasSingleElement(function.getFunctionBody()))
    return decline("its body is not one block");
  FailureOr<BlockProblem> block = BlockProblem::create(
      function.getFunctionBody().front(), getCost, streamOrder);
  if (failed(block))
    return failure();
  if (std::optional<BlockObstacle> obstacle = getObstacle(*block))
    return decline(obstacle->reason);
  return Outcome(std::move(*block));
}

FailureOr<std::optional<PairProblem>>
PairProblem::create(FunctionPair pair, BlockProblem::CostFunction getCost,
                    std::string &reason, StreamOrder streamOrder) {
  std::optional<PairProblem> none;
  FailureOr<std::optional<BlockProblem>> forward =
      createProblem(pair.forward, getCost, streamOrder, reason);
  if (failed(forward) || !*forward)
    return failed(forward) ? FailureOr<std::optional<PairProblem>>() : none;
  FailureOr<std::optional<BlockProblem>> backward =
      createProblem(pair.backward, getCost, streamOrder, reason);
  if (failed(backward) || !*backward)
    return failed(backward) ? FailureOr<std::optional<PairProblem>>() : none;
  return PairProblemBuilder(pair, std::move(**forward), std::move(**backward))
      .build(reason);
}
