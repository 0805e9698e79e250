//===- Frontier.cpp - Pass that trades step time against memory -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Determines how much time more memory saves: each function is scheduled for
// several budgets, and points that take both more time and more memory than
// another one are dropped.
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Support/Unlimited.h"
#include "FrontierFile.h"
#include "SchedulingPass.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_FRONTIER
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Frontiers
//===----------------------------------------------------------------------===//

void mlir::commsched::keepFrontier(std::vector<FrontierPoint> &points) {
  auto getKey = [](const FrontierPoint &point) {
    return std::make_tuple(point.peakBytes, point.stepNs,
                           point.budgetBytes.value_or(unlimited));
  };
  llvm::sort(points, [&](const FrontierPoint &a, const FrontierPoint &b) {
    return getKey(a) < getKey(b);
  });
  std::optional<int64_t> shortestNs;
  llvm::erase_if(points, [&](const FrontierPoint &point) {
    if (shortestNs && point.stepNs >= *shortestNs)
      return true;
    shortestNs = point.stepNs;
    return false;
  });
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Calls `print` with the name and the value of each number of `point`; null
/// stands for none.
static void
forEachNumber(const FrontierPoint &point,
              function_ref<void(StringRef, std::optional<int64_t>)> print) {
  print("budget_bytes", point.budgetBytes);
  print("peak_bytes", point.peakBytes);
  print("step_time_ns", point.stepNs);
  print("lower_bound_ns", point.lowerBoundNs);
  print("exposed_comm_ns", point.exposedNs);
  print("num_collectives", point.numCollectives);
}

/// Prints an array of JSON with one object for each point.
static void printFrontiersAsJson(ArrayRef<FunctionFrontier> frontiers,
                                 raw_ostream &os) {
  json::OStream stream(os, /*IndentSize=*/1);
  stream.array([&] {
    for (const FunctionFrontier &frontier : frontiers)
      for (const FrontierPoint &point : frontier.points)
        stream.object([&] {
          stream.attribute("function", frontier.function);
          forEachNumber(point,
                        [&](StringRef name, std::optional<int64_t> number) {
                          stream.attribute(name, number);
                        });
        });
  });
  os << "\n";
}

/// A symbol may hold what separates fields.
static void printCsvName(StringRef name, raw_ostream &os) {
  if (name.find_first_of(",\"\r\n") == StringRef::npos) {
    os << name;
    return;
  }
  os << '"';
  for (char character : name)
    os << (character == '"' ? "\"\"" : StringRef(&character, 1));
  os << '"';
}

/// Prints a line with the names of the columns, and one for each point.
static void printFrontiersAsCsv(ArrayRef<FunctionFrontier> frontiers,
                                raw_ostream &os) {
  os << "function";
  forEachNumber(
      {}, [&](StringRef name, std::optional<int64_t>) { os << ',' << name; });
  os << '\n';
  for (const FunctionFrontier &frontier : frontiers)
    for (const FrontierPoint &point : frontier.points) {
      printCsvName(frontier.function, os);
      forEachNumber(point, [&](StringRef, std::optional<int64_t> number) {
        os << ',';
        if (number)
          os << *number;
      });
      os << '\n';
    }
}

LogicalResult
mlir::commsched::writeFrontiers(Location loc, StringRef path,
                                ArrayRef<FunctionFrontier> frontiers) {
  return writeOutputFile(loc, path, "the frontier", [&](raw_ostream &os) {
    path.ends_with(".json") ? printFrontiersAsJson(frontiers, os)
                            : printFrontiersAsCsv(frontiers, os);
  });
}

namespace {

struct Frontier
    : SchedulingPass<mlir::commsched::impl::FrontierBase<Frontier>> {
  using SchedulingPass::SchedulingPass;

  void runOnOperation() override;

private:
  FailureOr<FunctionFrontier> sweep(func::FuncOp function) const;
};

} // namespace

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

static FailureOr<FrontierPoint> makePoint(const BlockScheduler &scheduler,
                                          const BlockSchedule &schedule) {
  FailureOr<int64_t> lowerBoundNs = scheduler.computeLowerBoundNs(schedule);
  if (failed(lowerBoundNs))
    return failure();
  FrontierPoint point;
  if (schedule.limitBytes != unlimited)
    point.budgetBytes = schedule.limitBytes;
  point.peakBytes = schedule.step.peakBytes;
  point.stepNs = schedule.step.stepNs;
  point.lowerBoundNs = *lowerBoundNs;
  point.exposedNs = schedule.exposedNs;
  point.numCollectives = schedule.numCollectives;
  return point;
}

/// Schedules a block for `budget`, for the budget steps, from the least peak
/// on, and without a limit.
static FailureOr<std::vector<FrontierPoint>>
sweepBudgets(BlockScheduler &scheduler, const MemoryBudget &budget) {
  FailureOr<SmallVector<int64_t>> steps = scheduler.listBudgetSteps();
  if (failed(steps))
    return failure();
  SmallVector<int64_t> &limits = *steps;
  limits.push_back(unlimited);
  limits.push_back(scheduler.getLimitBytes(budget));
  llvm::sort(limits);
  limits.erase(llvm::unique(limits), limits.end());
  std::vector<FrontierPoint> points;
  for (int64_t limit : limits) {
    FailureOr<BlockSchedule> schedule = scheduler.schedule(limit);
    if (failed(schedule))
      return failure();
    FailureOr<FrontierPoint> point = makePoint(scheduler, *schedule);
    if (failed(point))
      return failure();
    points.push_back(*point);
  }
  keepFrontier(points);
  return points;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

FailureOr<FunctionFrontier> Frontier::sweep(func::FuncOp function) const {
  FunctionFrontier frontier{json::fixUTF8(function.getSymName()), {}};
  FailureOr<std::shared_ptr<CostAnalysis>> pricing =
      CostAnalysis::create(function);
  if (failed(pricing))
    return failure();
  auto decline = [&](Location location, StringRef reason) {
    remark::missed(location,
                   makeRemark("BlockNotInFrontier", function.getSymName()))
        << ("the frontier is without a block " + reason).str();
  };
  for (Block *block : getBlocksWithCollectives(function)) {
    if (!isBody(function, *block)) {
      decline(function.getLoc(),
              "that is not the only one of the function's body");
      continue;
    }
    FailureOr<std::unique_ptr<BlockScheduler>> scheduler =
        BlockScheduler::create(
            function, *block, scheduling,
            [&](Location location, StringRef reason) {
              decline(location, ("that cannot be scheduled: " + reason).str());
            },
            *pricing);
    if (failed(scheduler))
      return failure();
    if (!*scheduler)
      continue;
    (*scheduler)->remarkAssumptions();
    FailureOr<std::vector<FrontierPoint>> points =
        sweepBudgets(**scheduler, scheduling.budget);
    if (failed(points))
      return failure();
    frontier.points = std::move(*points);
  }
  return frontier;
}

void Frontier::runOnOperation() {
  ModuleOp module = getOperation();
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return signalPassFailure();
  Callees callees(module, *costs);
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  std::vector<FunctionFrontier> frontiers(functions.size());
  LogicalResult result = failableParallelForEachN(
      &getContext(), 0, functions.size(), [&](size_t index) {
        FailureOr<FunctionFrontier> frontier = sweep(functions[index]);
        if (succeeded(frontier))
          frontiers[index] = std::move(*frontier);
        return LogicalResult(frontier);
      });
  if (failed(result) ||
      failed(writeFrontiers(module.getLoc(), file, frontiers)))
    return signalPassFailure();
  markAllAnalysesPreserved();
}
