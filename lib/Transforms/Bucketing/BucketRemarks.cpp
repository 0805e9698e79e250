//===- BucketRemarks.cpp - What a bucketing pass says ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketRemarks.h"

#include "../Remarks.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::AloneReason;
using schedule::Bucket;
using schedule::CandidateFate;
using schedule::NodeId;

void mlir::commsched::remarkBucket(func::FuncOp function,
                                   const BlockProblem &problem,
                                   const Bucket &bucket, BucketMode mode) {
  Operation *first = problem.getOperation(bucket.starts.front());
  std::string text;
  llvm::raw_string_ostream os(text);
  os << bucket.starts.size() << " collectives of " << bucket.bytes
     << " bytes become one "
     << (mode == BucketMode::Copy ? "copied" : "coalesced") << " "
     << first->getName() << ": ";
  llvm::interleaveComma(bucket.starts, os, [&](NodeId start) {
    os << describe(problem.getOperation(start));
  });
  remark::passed(first->getLoc(),
                 makeRemark("CollectivesMerged", function.getSymName()))
      << text
      << remark::metric("Members", static_cast<int64_t>(bucket.starts.size()))
      << remark::metric("Bytes", bucket.bytes);
}

std::string mlir::commsched::explainAlone(const BlockProblem &problem,
                                          const CandidateFate &fate) {
  std::string other = fate.other == schedule::noNode
                          ? std::string("another collective")
                          : describe(problem.getOperation(fate.other));
  switch (fate.reason) {
  case AloneReason::None:
    break;
  case AloneReason::NoPartner:
    return "no other collective may travel with it";
  case AloneReason::OverCap:
    return "it is larger than a bucket may be";
  case AloneReason::BucketFull:
    return "the buckets that it might join are full";
  case AloneReason::Dependent:
    return "a dependence joins it to " + other;
  case AloneReason::LosesOverlap:
    return "computation would no longer hide it, or would hide less of "
           "others, together with " +
           other;
  }
  llvm_unreachable("a collective that is not alone");
}

void mlir::commsched::remarkAlone(func::FuncOp function, Block &block,
                                  const AloneReasons &reasons) {
  if (reasons.empty())
    return;
  for (Operation &op : block)
    if (auto it = reasons.find(&op); it != reasons.end())
      remark::missed(op.getLoc(),
                     makeRemark("CollectiveAlone", function.getSymName()))
          << describe(&op) + " stays alone: " + it->second;
}

void mlir::commsched::remarkUnusedEntries(func::FuncOp function,
                                          const BucketPlan &plan,
                                          ArrayRef<bool> usedEntries) {
  for (auto [entry, isUsed] : llvm::enumerate(usedEntries))
    if (!isUsed)
      remark::missed(function.getLoc(),
                     makeRemark("PlanEntryUnused", function.getSymName()))
          << ("entry " + Twine(entry) + " of the plan, '" +
              plan.getText(entry) + "', names no collective")
                 .str();
}
