//===- MemoryBudget.cpp - Memory budgets of schedules ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MemoryBudget.h"
#include "CommSched/Analysis/Problem/OperationPrice.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Support/Unlimited.h"
#include "PassSupport.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::noNode;
using schedule::Problem;

/// Returns the live bytes of `body` that the reference does not count. They are
/// live all the time.
static int64_t computeUncountedBytes(Block &body) {
  StorageAnalysis storages(body);
  llvm::BitVector used(storages.getStorages().size());
  for (size_t index = 0; index < storages.getNumOperations(); ++index)
    for (int32_t storage : storages.getUses(index))
      used.set(storage);
  int64_t bytes = 0;
  for (auto [id, storage] : llvm::enumerate(storages.getStorages()))
    if (storage.producer == StorageAnalysis::none &&
        (!storage.freed || !used.test(id)))
      bytes += storage.bytes.value_or(0);
  return bytes;
}

bool mlir::commsched::isBody(func::FuncOp function, Block &block) {
  return llvm::hasSingleElement(function.getBody()) &&
         &function.getBody().front() == &block;
}

/// What is live around `block`, which is in a region, while it runs, without
/// what is counted in it.
static int64_t computeBytesAround(Block &block,
                                  const schedule::MemoryTimeline &around) {
  Operation *holder = block.getParentOp();
  auto place =
      std::distance(holder->getBlock()->begin(), holder->getIterator());
  return around.allocatedBytes[static_cast<size_t>(place)] -
         computeCountedBytes(block) - computeScratchBytes(holder);
}

BlockLimit::BlockLimit(func::FuncOp function, Block &block, int64_t peakBytes)
    : function(function), outermost(&block), peakBytes(peakBytes) {
  while (!isBody(function, *outermost)) {
    Operation *holder = outermost->getParentOp();
    Block *outer = holder->getBlock();
    if (holder == function || !outer)
      break;
    schedule::MemoryTimeline around = simulateBlockMemory(*outer);
    aroundBytes += computeBytesAround(*outermost, around);
    this->peakBytes = around.peakBytes;
    outermost = outer;
  }
}

int64_t BlockLimit::get(const MemoryBudget &budget) const {
  int64_t limitBytes =
      isBody(function, *outermost) ? getOfBody(budget) : peakBytes;
  return limitBytes == unlimited ? unlimited : limitBytes - aroundBytes;
}

/// The limit of the only block of the function's body.
int64_t BlockLimit::getOfBody(const MemoryBudget &budget) const {
  int64_t baseline = getBaselinePeakBytes(function).value_or(peakBytes);
  int64_t counted = baseline;
  if (budget.model == MemoryModel::Reference)
    counted -= computeUncountedBytes(*outermost);
  int64_t limitBytes = budget.getLimitBytes(baseline, counted);
  if (!budget.bytes || limitBytes == unlimited)
    return limitBytes;
  return getLimitBeside(limitBytes, getBesideBytes(function).value_or(0));
}

int64_t mlir::commsched::getLimitBeside(int64_t limitBytes,
                                        int64_t besideBytes) {
  return besideBytes < 0 ? saturatingAdd(limitBytes, -besideBytes)
                         : std::max<int64_t>(limitBytes - besideBytes, 0);
}

//===----------------------------------------------------------------------===//
// What callers hold
//===----------------------------------------------------------------------===//

namespace {

class CallerBytes {
public:
  explicit CallerBytes(const SymbolUserMap &users) : users(users) {}

  int64_t compute(func::FuncOp function);

private:
  int64_t computeBeside(Operation *call);

  const SymbolUserMap &users;
  /// By function; 0 while it is computed, for one that calls itself.
  DenseMap<Operation *, int64_t> known;
};

} // namespace

int64_t CallerBytes::compute(func::FuncOp function) {
  auto [it, isNew] = known.try_emplace(function, 0);
  if (!isNew || function->hasAttr(perDeviceAttrName) ||
      !function.getBody().hasOneBlock())
    return it->second;
  int64_t ownBytes = simulateBlockMemory(function.front()).peakBytes;
  std::optional<int64_t> mostBytes;
  // Others may call it with arguments of their own, and hold nothing.
  if (!function.isPrivate())
    mostBytes = 0;
  for (Operation *user : users.getUsers(function))
    if (isa<CallOpInterface>(user)) {
      int64_t bytes = computeBeside(user) - ownBytes;
      mostBytes = std::max(mostBytes.value_or(bytes), bytes);
    }
  return known[function] = mostBytes.value_or(0);
}

/// What is live while `call` runs.
int64_t CallerBytes::computeBeside(Operation *call) {
  Block *block = call->getBlock();
  schedule::MemoryTimeline memory = simulateBlockMemory(*block);
  auto place = std::distance(block->begin(), call->getIterator());
  int64_t bytes = memory.allocatedBytes[static_cast<size_t>(place)];
  while (!isa<FunctionOpInterface>(block->getParentOp())) {
    Block *outer = block->getParentOp()->getBlock();
    if (!outer)
      return bytes;
    bytes += computeBytesAround(*block, simulateBlockMemory(*outer));
    block = outer;
  }
  auto caller = dyn_cast<func::FuncOp>(block->getParentOp());
  return caller ? bytes + compute(caller) : bytes;
}

int64_t mlir::commsched::computeCallerBytes(func::FuncOp function,
                                            const SymbolUserMap &users) {
  return CallerBytes(users).compute(function);
}

void mlir::commsched::keepBaselineBytes(func::FuncOp function, Block &block,
                                        int64_t peakBytes) {
  if (getBaselinePeakBytes(function) ||
      !llvm::hasSingleElement(function.getBody()))
    return;
  if (!isBody(function, block))
    peakBytes = simulateBlockMemory(function.getBody().front()).peakBytes;
  function->setDiscardableAttr(
      baselinePeakBytesAttrName,
      Builder(function.getContext()).getI64IntegerAttr(peakBytes));
}

/// Returns the bytes that are live before the first operation.
static int64_t getArgumentBytes(const Problem &problem) {
  int64_t bytes = 0;
  for (schedule::BufferId id = 0; id < problem.numBuffers(); ++id)
    if (problem.buffer(id).producer == noNode)
      bytes += problem.buffer(id).bytes;
  return bytes;
}

std::string mlir::commsched::describeLimit(int64_t limitBytes) {
  if (limitBytes >= 0)
    return ("a budget of " + Twine(limitBytes)).str();
  return ("a budget that what is live around it exceeds by " +
          Twine(-limitBytes))
      .str();
}

std::string mlir::commsched::explainExcess(int64_t leastBytes,
                                           int64_t limitBytes) {
  if (limitBytes < 0)
    return ("the schedule that needs least takes " + Twine(leastBytes) +
            " bytes, but what is live around it is " + Twine(-limitBytes) +
            " over the budget already")
        .str();
  return ("the schedule that needs least takes " + Twine(leastBytes) +
          " bytes, " + Twine(leastBytes - limitBytes) + " over the budget of " +
          Twine(limitBytes))
      .str();
}

std::string mlir::commsched::explainExcess(const Problem &problem,
                                           int64_t leastBytes,
                                           int64_t limitBytes) {
  return explainExcess(leastBytes, limitBytes) + "; arguments alone take " +
         std::to_string(getArgumentBytes(problem));
}

void mlir::commsched::remarkBudgetExceeded(func::FuncOp function,
                                           const Problem &problem,
                                           int64_t leastBytes,
                                           int64_t limitBytes) {
  remark::missed(function.getLoc(),
                 makeRemark("BudgetExceeded", function.getSymName()))
      << explainExcess(problem, leastBytes, limitBytes)
      << remark::metric("PeakBytes", leastBytes)
      << remark::metric("BudgetBytes", limitBytes)
      << remark::metric("ArgumentBytes", getArgumentBytes(problem));
}

LogicalResult mlir::commsched::reportOverBudget(func::FuncOp function,
                                                StringRef memoryBudget,
                                                int64_t excessBytes,
                                                StringRef reason, bool strict) {
  if (strict)
    return emitError(function.getLoc(), "cannot be scheduled: ") << reason;
  emitWarning(function.getLoc())
      << "'" << function.getSymName() << "': memory-budget=" << memoryBudget
      << " cannot be met: " << reason << getBudgetRemedies(function);
  function->setDiscardableAttr(
      overBudgetBytesAttrName,
      Builder(function.getContext()).getI64IntegerAttr(excessBytes));
  return success();
}
