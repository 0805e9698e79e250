//===- BlockScheduling.cpp - Blocks of scheduling passes ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockScheduling.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "Remarks.h"

using namespace mlir;
using namespace mlir::commsched;

SmallVector<Block *>
mlir::commsched::getBlocksWithCollectives(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function.walk([&](Block *block) {
    if (llvm::any_of(*block, llvm::IsaPred<CollectiveOpInterface>))
      blocks.push_back(block);
  });
  return blocks;
}

remark::detail::InFlightRemark
mlir::commsched::remarkBlockKept(func::FuncOp function, Location location,
                                 const Twine &reason) {
  remark::detail::InFlightRemark remark =
      remark::missed(location, makeRemark("BlockKept", function.getSymName()));
  remark << ("not reordered: " + reason).str();
  return remark;
}
