//===- Frontier.cpp - Step time against peak memory -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Frontier.h"

#include "../OutputFile.h"
#include "CommSched/Support/Unlimited.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;
namespace json = llvm::json;

/// What may come on top of the baseline.
static constexpr int32_t sweptPercent[] = {0, 1, 2, 5, 10, 20, 50, 100};
static FailureOr<FrontierPoint> makePoint(const BlockScheduler &scheduler,
                                          int64_t limitBytes,
                                          const BlockSchedule &schedule) {
  FailureOr<int64_t> lowerBoundNs = scheduler.computeLowerBoundNs(schedule);
  if (failed(lowerBoundNs))
    return failure();
  FrontierPoint point;
  if (limitBytes != unlimited)
    point.budgetBytes = limitBytes;
  point.peakBytes = schedule.step.peakBytes;
  point.stepNs = schedule.step.stepNs;
  point.lowerBoundNs = *lowerBoundNs;
  point.exposedNs = schedule.exposedNs;
  point.numCollectives = schedule.numCollectives;
  return point;
}

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

FailureOr<std::vector<FrontierPoint>>
mlir::commsched::sweepBudgets(BlockScheduler &scheduler,
                              const BlockSchedule &chosen, int64_t limitBytes) {
  SmallVector<int64_t> limits = {unlimited};
  for (int32_t percent : sweptPercent) {
    MemoryBudget budget;
    budget.fraction = percent / 100.0;
    limits.push_back(scheduler.getLimitBytes(budget));
  }
  llvm::sort(limits);
  limits.erase(llvm::unique(limits), limits.end());
  std::vector<FrontierPoint> points;
  auto add = [&](int64_t limit, const BlockSchedule &schedule) {
    FailureOr<FrontierPoint> point = makePoint(scheduler, limit, schedule);
    if (succeeded(point))
      points.push_back(*point);
    return point;
  };
  if (failed(add(limitBytes, chosen)))
    return failure();
  for (int64_t limit : limits) {
    if (limit == limitBytes)
      continue;
    FailureOr<BlockSchedule> schedule = scheduler.schedule(limit);
    if (failed(schedule) || failed(add(limit, *schedule)))
      return failure();
  }
  keepFrontier(points);
  return points;
}

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

void mlir::commsched::printFrontiersAsJson(ArrayRef<Frontier> frontiers,
                                           raw_ostream &os) {
  json::OStream stream(os, /*IndentSize=*/1);
  stream.array([&] {
    for (const Frontier &frontier : frontiers)
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

void mlir::commsched::printFrontiersAsCsv(ArrayRef<Frontier> frontiers,
                                          raw_ostream &os) {
  os << "function";
  forEachNumber(
      {}, [&](StringRef name, std::optional<int64_t>) { os << ',' << name; });
  os << '\n';
  for (const Frontier &frontier : frontiers)
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

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

LogicalResult FrontierFile::write(Location loc,
                                  ArrayRef<Frontier> frontiers) const {
  return writeOutputFile(loc, path, "the frontier", [&](raw_ostream &os) {
    StringRef(path).ends_with(".json") ? printFrontiersAsJson(frontiers, os)
                                       : printFrontiersAsCsv(frontiers, os);
  });
}

LogicalResult FrontierFile::add(func::FuncOp function, Frontier frontier) {
  Operation *holder = function->getParentOp();
  if (!holder)
    return write(function.getLoc(), frontier);
  std::lock_guard<std::mutex> lock(mutex);
  DenseMap<Operation *, Frontier> &come = waiting[holder];
  come[function] = std::move(frontier);
  // Which functions there are is for their holder to change, whatever runs
  // inside of them now.
  std::vector<Frontier> frontiers;
  for (Region &region : holder->getRegions())
    for (auto sibling : region.getOps<func::FuncOp>()) {
      auto it = come.find(sibling);
      if (it == come.end())
        return success();
      frontiers.push_back(it->second);
    }
  waiting.erase(holder);
  return write(holder->getLoc(), frontiers);
}
