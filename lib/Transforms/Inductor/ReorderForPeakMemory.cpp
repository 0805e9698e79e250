//===- ReorderForPeakMemory.cpp - Pass that lowers peak memory ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../MemoryBudget.h"
#include "../PassSupport.h"
#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"
#include "CommSched/Transforms/Passes.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REORDERFORPEAKMEMORY
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// All blocks of the body of `function`, and those inside it that hold
/// collectives; inner ones first.
static SmallVector<Block *> getBlocks(func::FuncOp function) {
  SmallVector<Block *> blocks = getBlocksWithCollectives(function);
  llvm::erase_if(blocks, [&](Block *block) {
    return block->getParent() == &function.getBody();
  });
  for (Block &block : function.getBody())
    blocks.push_back(&block);
  return blocks;
}

/// The peaks of the methods, such as "lpmf 8, bfs 9".
static std::string listPeaks(const PeakMemoryChoice &choice) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(ArrayRef(choice.candidates).drop_front(), os,
                        [&](const PeakMemoryCandidate &candidate) {
                          os << toString(candidate.method) << " "
                             << candidate.peakBytes;
                        });
  return text;
}

static void remarkChoice(func::FuncOp function, Location location,
                         const PeakMemoryChoice &choice) {
  int64_t before = choice.candidates.front().peakBytes;
  int64_t after = choice.best.peakBytes;
  std::string peaks = listPeaks(choice);
  if (choice.best.method == PeakMemoryMethod::Incoming) {
    remarkBlockKept(function, location,
                    "no method lowers the peak memory of " + Twine(before) +
                        " bytes (" + peaks + ")")
        << remark::metric("PeakBytes", before);
    return;
  }
  StringRef method = toString(choice.best.method);
  remark::passed(location, makeRemark("BlockReordered", function.getSymName()))
      << (method + " lowers the peak memory from " + Twine(before) + " to " +
          Twine(after) + " bytes (" + peaks + ")")
             .str()
      << remark::metric("Method", method)
      << remark::metric("PeakBytesBefore", before)
      << remark::metric("PeakBytesAfter", after);
}

namespace {

struct ReorderForPeakMemory
    : RewritingPass<mlir::commsched::impl::ReorderForPeakMemoryBase<
          ReorderForPeakMemory>> {
  using RewritingPass::RewritingPass;

  LogicalResult initialize(MLIRContext *context) override {
    sorts.clear();
    for (PeakMemoryOrder order : methods)
      sorts.push_back(peakMemorySorts[static_cast<size_t>(order)]);
    if (sorts.empty())
      sorts.assign(peakMemorySorts.begin(), peakMemorySorts.end());
    return success();
  }

  FailureOr<bool> rewrite() override {
    return rewriteBlocks(getBlocks(getOperation()),
                         [&](Block &block) { return reorder(block); });
  }

private:
  FailureOr<bool> reorder(Block &block);

  /// The option `methods`.
  std::vector<PeakMemoryMethod> sorts;
};

} // namespace

FailureOr<bool> ReorderForPeakMemory::reorder(Block &block) {
  func::FuncOp function = getOperation();
  FailureOr<std::optional<BlockProblem>> read =
      readBlock(function, block, /*costs=*/nullptr);
  if (failed(read))
    return failure();
  if (!*read)
    return false;
  const BlockProblem &problem = **read;
  if (areRemarksEnabled(function))
    remarkAssumptions(function.getSymName(), listAssumedSizes(problem));
  Result<PeakMemoryChoice> choice =
      choosePeakMemoryOrder(problem.getProblem(), sorts);
  if (!choice)
    return emitError(function.getLoc(), "no order was found: ")
           << choice.error();
  if (areRemarksEnabled(function))
    remarkChoice(function, block.getParentOp()->getLoc(), *choice);
  if (choice->order == problem.getProblem().programOrder())
    return false;
  keepBaselineBytes(function, block, choice->candidates.front().peakBytes);
  problem.apply(choice->order);
  return true;
}
