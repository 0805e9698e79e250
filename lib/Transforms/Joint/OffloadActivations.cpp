//===- OffloadActivations.cpp - Saved values on the host ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Transfers/HiddenTransfers.h"
#include "SplitFunction.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// When the operations of a half compute, one after the other, if all
/// communication is hidden.
class HalfTimes {
public:
  HalfTimes(Block &block, OperationCosts &costs) : storages(block) {
    const auto &all = storages.getStorages();
    firstUse.assign(all.size(), StorageAnalysis::none);
    lastUse.assign(all.size(), StorageAnalysis::none);
    for (Operation &op : getScheduledOperations(block)) {
      auto index = static_cast<int32_t>(operations.size());
      operations.push_back(&op);
      startNs.push_back(endNs);
      if (!isa<CollectiveOpInterface>(op))
        endNs += costs.getRuntimeNs(&op);
      for (int32_t storage : storages.getUses(index)) {
        if (firstUse[storage] == StorageAnalysis::none)
          firstUse[storage] = index;
        lastUse[storage] = index;
      }
    }
    for (auto [index, storage] : llvm::enumerate(all))
      lastUse[index] = std::max(lastUse[index], storage.producer);
    // The terminator.
    operations.push_back(&block.back());
    startNs.push_back(endNs);
  }

  /// The first operation that starts at `ns` or later; the terminator if none
  /// does.
  int32_t findFirstFrom(int64_t ns) const {
    auto it = llvm::lower_bound(startNs, ns);
    return static_cast<int32_t>(
        std::min<size_t>(it - startNs.begin(), operations.size() - 1));
  }
  /// The last operation that starts at `ns` or before.
  int32_t findLastUpTo(int64_t ns) const {
    auto it = llvm::upper_bound(startNs, ns);
    return static_cast<int32_t>(it - startNs.begin()) - 1;
  }
  int32_t getTerminator() const {
    return static_cast<int32_t>(operations.size()) - 1;
  }

  StorageAnalysis storages;
  /// With the terminator.
  std::vector<Operation *> operations;
  std::vector<int64_t> startNs;
  int64_t endNs = 0;
  /// By storage: indices of operations without the terminator.
  std::vector<int32_t> firstUse;
  std::vector<int32_t> lastUse;
};

/// A saved value that could be sent.
struct Candidate {
  /// The result of the forward, and the argument of the backward.
  unsigned result = 0;
  unsigned argument = 0;
  /// The last use in the forward and the first in the backward.
  int32_t lastUse = 0;
  int32_t firstUse = 0;
};

class Offloader {
public:
  Offloader(PartitionHalves halves, OperationCosts &costs)
      : halves(halves), costs(costs),
        forward(halves.forward.getBody().front(), costs),
        backward(halves.backward.getBody().front(), costs) {}

  int64_t run(int64_t hostBytes);

private:
  void findCandidates();
  void dropSmallCandidates();
  void addCandidate(unsigned result, unsigned argument);
  void offload(ArrayRef<int32_t> chosen);
  void reload(ArrayRef<int32_t> chosen);
  int64_t getTransferNs(CollectiveKind kind, int64_t bytes) const;

  PartitionHalves halves;
  OperationCosts &costs;
  HalfTimes forward;
  HalfTimes backward;
  std::vector<Candidate> candidates;
  std::vector<schedule::TransferCandidate> transfers;
};

} // namespace

int64_t Offloader::getTransferNs(CollectiveKind kind, int64_t bytes) const {
  cost::CollectiveQuery query;
  query.kind = kind;
  query.bytes = bytes;
  query.ranks = 1;
  return costs.estimateCollective(query).timeNs;
}

void Offloader::addCandidate(unsigned result, unsigned argument) {
  Value value = forward.operations.back()->getOperand(result);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  int32_t index = forward.storages.getStorage(value);
  int32_t there = backward.storages.getStorage(
      halves.backward.getBody().front().getArgument(argument));
  if (!type || type.getEncoding() || index == StorageAnalysis::none ||
      there == StorageAnalysis::none)
    return;
  const Storage &storage = forward.storages.getStorages()[index];
  // All of the storage, or sending the value would not free it.
  if (storage.producer < 0 || storage.isMemory || !storage.bytes ||
      *storage.bytes == 0 ||
      getStaticBytes(getSizedType(value)) != storage.bytes)
    return;
  Candidate candidate = {result, argument, forward.lastUse[index],
                         backward.firstUse[there]};
  if (candidate.firstUse == StorageAnalysis::none)
    candidate.firstUse = backward.getTerminator();
  schedule::TransferCandidate transfer;
  transfer.bytes = *storage.bytes;
  transfer.readyNs = forward.startNs[candidate.lastUse + 1];
  transfer.neededNs = backward.startNs[candidate.firstUse];
  transfer.offloadNs = getTransferNs(CollectiveKind::Offload, transfer.bytes);
  transfer.reloadNs = getTransferNs(CollectiveKind::Reload, transfer.bytes);
  candidates.push_back(candidate);
  transfers.push_back(transfer);
}

void Offloader::findCandidates() {
  Operation *terminator = forward.operations.back();
  unsigned numOutputs = halves.numForwardOutputs;
  // By storage: how many results live in it.
  std::vector<int32_t> numReturned(forward.lastUse.size(), 0);
  for (Value value : terminator->getOperands())
    if (int32_t storage = forward.storages.getStorage(value);
        storage != StorageAnalysis::none)
      ++numReturned[storage];
  for (unsigned result = numOutputs; result < terminator->getNumOperands();
       ++result) {
    int32_t storage =
        forward.storages.getStorage(terminator->getOperand(result));
    if (storage != StorageAnalysis::none && numReturned[storage] == 1)
      addCandidate(result, result - numOutputs);
  }
}

/// Leaves what is small beside the largest candidate, such as the scales of
/// 8-bit values: copies of it take the latency of the link for few bytes.
void Offloader::dropSmallCandidates() {
  constexpr int64_t smallestPart = 64;
  int64_t largest = 0;
  for (const schedule::TransferCandidate &transfer : transfers)
    largest = std::max(largest, transfer.bytes);
  size_t numKept = 0;
  for (size_t i = 0; i < transfers.size(); ++i) {
    if (transfers[i].bytes < largest / smallestPart)
      continue;
    candidates[numKept] = candidates[i];
    transfers[numKept++] = transfers[i];
  }
  candidates.resize(numKept);
  transfers.resize(numKept);
}

void Offloader::offload(ArrayRef<int32_t> chosen) {
  SmallVector<int32_t> order(chosen);
  llvm::stable_sort(order, [&](int32_t a, int32_t b) {
    return transfers[a].readyNs < transfers[b].readyNs;
  });
  Operation *terminator = forward.operations.back();
  OpBuilder builder(terminator);
  int64_t freeNs = 0;
  for (int32_t index : order) {
    const Candidate &candidate = candidates[index];
    freeNs =
        std::max(freeNs, transfers[index].readyNs) + transfers[index].offloadNs;
    Value value = terminator->getOperand(candidate.result);
    RankedTensorType host =
        getHostType(cast<RankedTensorType>(value.getType()));
    builder.setInsertionPointAfter(forward.operations[candidate.lastUse]);
    auto start = OffloadOp::create(builder, value.getLoc(),
                                   FutureType::get(builder.getContext(), host),
                                   ValueRange(value));
    if (DenseI64ArrayAttr hints = getSizeHints(value))
      start->setAttr(sizeHintsAttrName, hints);
    int32_t done =
        std::max(forward.findFirstFrom(freeNs), candidate.lastUse + 1);
    builder.setInsertionPoint(forward.operations[done]);
    auto wait = WaitOp::create(builder, value.getLoc(), start.getFuture());
    terminator->setOperand(candidate.result, wait->getResult(0));
  }
}

void Offloader::reload(ArrayRef<int32_t> chosen) {
  SmallVector<int32_t> order(chosen);
  llvm::stable_sort(order, [&](int32_t a, int32_t b) {
    return transfers[a].neededNs > transfers[b].neededNs;
  });
  Block &block = halves.backward.getBody().front();
  OpBuilder builder(&block, block.begin());
  int64_t startNs = backward.endNs;
  for (int32_t index : order) {
    const Candidate &candidate = candidates[index];
    startNs = std::min(startNs, transfers[index].neededNs) -
              transfers[index].reloadNs;
    int32_t first =
        std::min(backward.findLastUpTo(std::max<int64_t>(startNs, 0)),
                 candidate.firstUse);
    BlockArgument argument = block.getArgument(candidate.argument);
    auto type = cast<RankedTensorType>(argument.getType());
    builder.setInsertionPoint(backward.operations[first]);
    auto start = ReloadOp::create(builder, argument.getLoc(),
                                  FutureType::get(builder.getContext(), type),
                                  ValueRange(argument));
    if (DenseI64ArrayAttr hints = getSizeHints(argument))
      start->setAttr(sizeHintsAttrName, hints);
    builder.setInsertionPoint(backward.operations[candidate.firstUse]);
    auto wait = WaitOp::create(builder, argument.getLoc(), start.getFuture());
    argument.replaceAllUsesExcept(wait->getResult(0), start);
    argument.setType(getHostType(type));
  }
}

int64_t Offloader::run(int64_t hostBytes) {
  findCandidates();
  dropSmallCandidates();
  std::vector<int32_t> chosen = schedule::chooseHiddenTransfers(
      transfers, {/*forwardNs=*/forward.endNs, hostBytes});
  if (chosen.empty())
    return 0;
  offload(chosen);
  reload(chosen);
  for (func::FuncOp half : {halves.forward, halves.backward}) {
    Block &block = half.getBody().front();
    half.setType(FunctionType::get(half.getContext(), block.getArgumentTypes(),
                                   block.getTerminator()->getOperandTypes()));
  }
  return static_cast<int64_t>(chosen.size());
}

int64_t mlir::commsched::offloadSavedValues(PartitionHalves halves,
                                            OperationCosts &costs,
                                            int64_t hostBytes) {
  return Offloader(halves, costs).run(hostBytes);
}
