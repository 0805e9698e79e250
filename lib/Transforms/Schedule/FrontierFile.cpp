//===- FrontierFile.cpp - One file for all functions of a module ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontierFile.h"
#include "../OutputFile.h"

using namespace mlir;
using namespace mlir::commsched;

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
