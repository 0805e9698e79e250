//===- Operation.cpp - What can be timed ----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operation.h"

#include "llvm/Support/ErrorHandling.h"

namespace commsched::bench {

static const Operation operations[] = {
    Operation::AllGather, Operation::ReduceScatter, Operation::AllReduce,
    Operation::AllToAll,  Operation::Broadcast,     Operation::Permute,
    Operation::SendRecv};

llvm::ArrayRef<Operation> getOperations() { return operations; }

llvm::StringRef stringifyOperation(Operation operation) {
  switch (operation) {
  case Operation::AllGather:
    return "all_gather";
  case Operation::ReduceScatter:
    return "reduce_scatter";
  case Operation::AllReduce:
    return "all_reduce";
  case Operation::AllToAll:
    return "all_to_all";
  case Operation::Broadcast:
    return "broadcast";
  case Operation::Permute:
    return "permute";
  case Operation::SendRecv:
    return "send_recv";
  }
  llvm_unreachable("unknown operation");
}

PartCounts getPartCounts(Operation operation, int64_t ranks) {
  switch (operation) {
  case Operation::AllGather:
    return {1, ranks};
  case Operation::ReduceScatter:
    return {ranks, 1};
  case Operation::AllToAll:
    return {ranks, ranks};
  default:
    return {1, 1};
  }
}

bool isReduction(Operation operation) {
  return operation == Operation::ReduceScatter ||
         operation == Operation::AllReduce;
}

bool hasInPlaceForm(Operation operation) {
  return operation == Operation::AllGather || isReduction(operation) ||
         operation == Operation::Broadcast;
}

int32_t getLeastRanks(Operation operation) {
  return operation == Operation::SendRecv ? 2 : 1;
}

double computeAlgorithmBandwidth(int64_t bytes, double timeNs) {
  return timeNs > 0 ? double(bytes) / timeNs : 0;
}

double computeBusFactor(Operation operation, int64_t ranks) {
  double others = double(ranks - 1) / double(ranks);
  switch (operation) {
  case Operation::AllReduce:
    return 2 * others;
  case Operation::AllGather:
  case Operation::ReduceScatter:
  case Operation::AllToAll:
    return others;
  case Operation::Broadcast:
  case Operation::Permute:
  case Operation::SendRecv:
    return 1;
  }
  llvm_unreachable("unknown operation");
}

} // namespace commsched::bench
