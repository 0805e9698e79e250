//===- LocalTransfers.cpp - Transfers of ranks that are threads -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Local/LocalTransfers.h"

using namespace commsched::runtime;

std::unique_ptr<LocalTransfer>
commsched::runtime::makeLocalTransfer(Launch launch, bool checkBuffers) {
  auto transfer = std::make_unique<LocalTransfer>();
  transfer->job = makeTransferJob(launch);
  if (checkBuffers) {
    transfer->staged = stageInputs(launch);
    spoilOutputs(launch, transfer->staged);
    for (size_t i = 0; i < transfer->staged.size(); ++i) {
      StagedTensor arrived;
      arrived.size = transfer->staged[i].size;
      arrived.bytes.reset(new char[arrived.size]);
      TransferJob::Copy &copy = transfer->job->copies[i];
      copy.source = transfer->staged[i].bytes.get();
      copy.target = arrived.bytes.get();
      transfer->arrived.push_back(std::move(arrived));
    }
  }
  transfer->launch = std::move(launch);
  return transfer;
}

Status commsched::runtime::deliver(const LocalTransfer &transfer) {
  if (transfer.staged.empty())
    return Status();
  if (Status status = checkBuffers(transfer.launch, transfer.staged); !status)
    return status;
  writeOutputs(transfer.launch, {&transfer.arrived});
  return Status();
}
