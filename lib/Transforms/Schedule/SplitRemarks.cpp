//===- SplitRemarks.cpp - Remarks on what is split ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitRemarks.h"

#include "../PassSupport.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;

void mlir::commsched::remarkSplitRegions(func::FuncOp function,
                                         BlockScheduler &scheduler,
                                         const BlockSchedule &schedule) {
  if (!schedule.split)
    return;
  SplitChooser &chooser = *scheduler.getChooser();
  for (const SplitRegionChoice &choice :
       schedule.split->program.getChoice().regions) {
    const SplitRegion &region = chooser.getRegion(choice.region);
    const SplitVerdict &verdict = chooser.judge(region);
    size_t numOther = region.members.size() - 2 * region.collectives.size();
    for (Operation *start : region.collectives) {
      auto remark =
          remark::passed(start->getLoc(),
                         makeRemark("CollectiveSplit", function.getSymName()));
      std::string text = (describe(start) + ": split into " +
                          Twine(choice.chunks) + " chunks together with " +
                          Twine(numOther) + " operations of computation, " +
                          Twine(region.numLarge) + " of them large")
                             .str();
      // Of the same region in another number of chunks nothing is said.
      bool isBest = choice.chunks == verdict.chunks;
      if (isBest)
        text += "; alone they take " + std::to_string(verdict.splitNs) +
                " ns instead of " + std::to_string(verdict.wholeNs);
      remark << text;
      if (isBest)
        remark << remark::metric("RegionNsBefore", verdict.wholeNs)
               << remark::metric("RegionNsAfter", verdict.splitNs);
      remark << remark::metric("Chunks", choice.chunks);
    }
  }
}

NotSplitReasons
mlir::commsched::explainNotSplit(BlockScheduler &scheduler,
                                 const BlockSchedule &schedule) {
  NotSplitReasons reasons;
  const BlockProblem &problem = scheduler.getProblem();
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node) {
    if (!problem.getProblem().isCollective(node))
      continue;
    Operation *start = problem.getOperation(node);
    Operation *kept =
        schedule.split ? schedule.split->program.getCopy(start) : start;
    if (kept)
      reasons[kept] = scheduler.explainNotSplit(start, schedule);
  }
  return reasons;
}

void mlir::commsched::remarkSplitEnd(func::FuncOp function, Location place,
                                     Operation *start, StringRef reason) {
  remark::analysis(place, makeRemark("SplitEnd", function.getSymName()))
      << ("splitting " + describe(start) + " (" +
          getLocationText(start->getLoc()) + ") ends here: " + reason)
             .str();
}

void mlir::commsched::remarkNotSplit(func::FuncOp function, Operation *start,
                                     const SplitObstacle &obstacle) {
  remark::missed(start->getLoc(),
                 makeRemark("CollectiveNotSplit", function.getSymName()))
      << describe(start) + ": not split: " + obstacle.text;
  if (obstacle.place)
    remarkSplitEnd(function, *obstacle.place, start, obstacle.text);
}
