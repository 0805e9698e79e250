//===- PairProblem.cpp - Both halves of a step as one problem -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairProblem.h"
#include "CommSched/Analysis/Problem/MissingFacts.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Buffer;
using schedule::BufferId;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::noNode;
using schedule::Problem;
using schedule::StreamId;

namespace mlir::commsched {

class PairProblemBuilder {
public:
  PairProblemBuilder(FunctionPair pair, BlockProblem forward,
                     BlockProblem backward)
      : pair(pair), result(std::move(forward), std::move(backward)),
        forwardStorages(pair.forward.getFunctionBody().front()),
        backwardStorages(pair.backward.getFunctionBody().front()) {}

  FailureOr<std::optional<PairProblem>> build(std::string &reason);

private:
  /// What becomes of a buffer of the forward.
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

  /// What the forward returns for itself, and what it saves.
  SmallVector<Value> results;
  SmallVector<Value> saved;
  /// By buffer of the backward: the forward's that it is, or `none`.
  std::vector<int32_t> forwardOf;
  /// By buffer of the forward.
  std::vector<Link> links;
  DenseMap<Attribute, StreamId> streamOf;
};

} // namespace mlir::commsched

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
  // The verifier has seen to it that the forward has so many results.
  OperandRange all =
      pair.forward.getFunctionBody().front().getTerminator()->getOperands();
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
  for (CollectiveOpInterface collective : getStreamCollectives(half)) {
    auto [it, inserted] = streamOf.try_emplace(
        collective.getGroupKey(), static_cast<StreamId>(result.streams.size()));
    if (inserted)
      result.streams.push_back(collective);
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
      // What is there when the backward starts comes between the halves, and
      // stays where nobody uses it, as it does in the backward alone.
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
  if (const OptionalError &error = result.problem.finalize())
    return emitError(pair.forward.getLoc(), "cannot be simulated with @")
           << pair.backward.getName() << " behind it: " << *error;
  return std::optional(std::move(result));
}

/// The problem of the body of `function`. None, with the `reason`, if it has
/// several blocks or a size that is not known.
static FailureOr<std::optional<BlockProblem>>
createProblem(FunctionOpInterface function, BlockProblem::CostFunction getCost,
              std::string &reason) {
  using Outcome = std::optional<BlockProblem>;
  auto decline = [&](const Twine &text) {
    reason = ("@" + function.getName() + " is not simulated: " + text).str();
    return Outcome();
  };
  if (!llvm::hasSingleElement(function.getFunctionBody()))
    return decline("its body is not one block");
  FailureOr<BlockProblem> block =
      BlockProblem::create(function.getFunctionBody().front(), getCost);
  if (failed(block))
    return failure();
  if (std::optional<std::string> missing = getUnsizedReason(*block))
    return decline(*missing);
  return Outcome(std::move(*block));
}

FailureOr<std::optional<PairProblem>>
PairProblem::create(FunctionPair pair, BlockProblem::CostFunction getCost,
                    std::string &reason) {
  std::optional<PairProblem> none;
  FailureOr<std::optional<BlockProblem>> forward =
      createProblem(pair.forward, getCost, reason);
  if (failed(forward) || !*forward)
    return failed(forward) ? FailureOr<std::optional<PairProblem>>() : none;
  FailureOr<std::optional<BlockProblem>> backward =
      createProblem(pair.backward, getCost, reason);
  if (failed(backward) || !*backward)
    return failed(backward) ? FailureOr<std::optional<PairProblem>>() : none;
  return PairProblemBuilder(pair, std::move(**forward), std::move(**backward))
      .build(reason);
}
