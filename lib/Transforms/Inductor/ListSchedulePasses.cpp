//===- ListSchedulePasses.cpp - List scheduling of collectives ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that apply ListScheduler: commsched-raise-comms,
// commsched-sink-waits and commsched-reorder-compute-for-overlap. They
// correspond to `_schedule_for_comm` in PyTorch's torch/_inductor/comms.py.
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Schedule/Inductor/ListScheduler.h"
#include "CommSched/Transforms/Passes.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_RAISECOMMS
#define GEN_PASS_DEF_SINKWAITS
#define GEN_PASS_DEF_REORDERCOMPUTEFOROVERLAP
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Application of the list scheduler
//===----------------------------------------------------------------------===//

namespace {

/// Emits the remarks on the collectives of one block.
class MoveReporter {
public:
  MoveReporter(func::FuncOp function, const BlockProblem &blockProblem,
               const Positions &positions, ListSchedulerOptions options)
      : function(function), block(blockProblem),
        problem(blockProblem.getProblem()), positions(positions),
        options(options) {}

  void report(NodeId collective);

private:
  void reportEnd(NodeId collective, NodeId end, StringRef what,
                 bool wantsEarlier);

  func::FuncOp function;
  const BlockProblem &block;
  const Problem &problem;
  const Positions &positions;
  ListSchedulerOptions options;
};

} // namespace

/// How far an end of a collective moved, and what it stands against now.
void MoveReporter::reportEnd(NodeId collective, NodeId end, StringRef what,
                             bool wantsEarlier) {
  Operation *op = block.getOperation(collective);
  int64_t down = static_cast<int64_t>(positions[end]) - end;
  int64_t moved = wantsEarlier ? -down : down;
  std::optional<DependenceEnd> limit =
      wantsEarlier ? limitEarlier(problem, positions, end)
                   : limitLater(problem, positions, end);
  std::string factor = "nothing";
  if (limit)
    factor = describe(block.getOperation(limit->node)) + " (" +
             schedule::toString(limit->kind) + ")";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << describe(op) << ": its " << what;
  if (down == 0)
    os << " stays";
  else
    os << " moves " << (down < 0 ? "up" : "down") << " by " << std::abs(down);
  os << ", limited by " << factor;
  auto emit = [&](remark::detail::InFlightRemark remark) {
    remark << text << remark::metric("Moved", moved)
           << remark::metric("LimitingFactor", factor);
  };
  if (moved > 0)
    emit(remark::passed(op->getLoc(),
                        makeRemark("CollectiveMoved", function.getSymName())));
  else
    emit(remark::missed(op->getLoc(),
                        makeRemark("CollectiveKept", function.getSymName())));
}

void MoveReporter::report(NodeId collective) {
  NodeId wait = problem.waitOf(collective);
  if (options.raiseComms)
    reportEnd(collective, collective, wait == noNode ? "place" : "start", true);
  if (options.sinkWaits && wait != noNode)
    reportEnd(collective, wait, "wait", false);
}

static FailureOr<bool> scheduleBlock(func::FuncOp function, Block &block,
                                     ListSchedulerOptions options,
                                     OperationCosts *costs) {
  FailureOr<std::optional<BlockProblem>> read =
      readBlock(function, block, costs);
  if (failed(read))
    return failure();
  if (!*read)
    return false;
  const BlockProblem &blockProblem = **read;
  if (costs && areRemarksEnabled(function))
    remarkAssumptions(function.getSymName(),
                      listAssumedTimes(blockProblem, *costs));
  const Problem &problem = blockProblem.getProblem();
  Result<schedule::Order> order = ListScheduler(options).run(problem);
  if (!order)
    return emitError(function.getLoc(), "no order was found: ")
           << order.error();
  if (areRemarksEnabled(function)) {
    remarkBarriers(function, block);
    Result<Positions> positions = invert(problem, *order);
    MoveReporter reporter(function, blockProblem, *positions, options);
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.isCollective(node))
        reporter.report(node);
  }
  return blockProblem.apply(*order);
}

/// Orders every block of `function` that holds collectives, and emits a remark
/// for each collective. `costs` prices operations; null prices all of them at
/// 0, which only reordering for overlap depends on. A block with an unknown
/// cost keeps its order, with a remark. Returns whether anything moved.
static FailureOr<bool> listSchedule(func::FuncOp function,
                                    ListSchedulerOptions options,
                                    OperationCosts *costs) {
  return rewriteBlocks(getBlocksWithCollectives(function), [&](Block &block) {
    return scheduleBlock(function, block, options, costs);
  });
}

//===----------------------------------------------------------------------===//
// The passes
//===----------------------------------------------------------------------===//

namespace {

/// `Base` is what TableGen makes of a CommSched_ListSchedulePass.
template <typename Base, bool raiseComms, bool sinkWaits,
          bool reorderForOverlap>
struct ListSchedulePass : RewritingPass<Base> {
  FailureOr<bool> rewrite() override {
    OperationCosts *costs = nullptr;
    if (reorderForOverlap) {
      costs = this->template getAnalysis<CostAnalysis>().getCosts();
      if (!costs)
        return failure();
      this->template markAnalysesPreserved<CostAnalysis>();
    }
    schedule::ListSchedulerOptions options;
    options.raiseComms = raiseComms;
    options.sinkWaits = sinkWaits;
    options.reorderForOverlap = reorderForOverlap;
    return listSchedule(this->getOperation(), options, costs);
  }
};

struct RaiseComms
    : ListSchedulePass<mlir::commsched::impl::RaiseCommsBase<RaiseComms>,
                       /*raiseComms=*/true, /*sinkWaits=*/false,
                       /*reorderForOverlap=*/false> {};

struct SinkWaits
    : ListSchedulePass<mlir::commsched::impl::SinkWaitsBase<SinkWaits>,
                       /*raiseComms=*/false, /*sinkWaits=*/true,
                       /*reorderForOverlap=*/false> {};

struct ReorderComputeForOverlap
    : ListSchedulePass<mlir::commsched::impl::ReorderComputeForOverlapBase<
                           ReorderComputeForOverlap>,
                       /*raiseComms=*/true, /*sinkWaits=*/true,
                       /*reorderForOverlap=*/true> {};

} // namespace
