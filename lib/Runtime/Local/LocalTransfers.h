//===- LocalTransfers.h - Transfers of ranks that are threads ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The request of an offload or a reload. A thread copies from the input to the
// output. If buffers are checked, it copies from what was staged at the start
// to a buffer that the wait delivers, so that a program that writes the input
// or touches the output too early is found in every run.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_LOCAL_LOCALTRANSFERS_H
#define COMMSCHED_RUNTIME_LOCAL_LOCALTRANSFERS_H

#include "Core/TransferThreads.h"
#include "Local/Staging.h"

namespace commsched::runtime {

struct LocalTransfer final : Request {
  TransferJobPtr job;
  /// In modelled time.
  Interval modelled;
  bool isRecorded = false;
  /// Only if buffers are checked: what was sent, and what has arrived.
  Staged staged, arrived;
};

/// A transfer whose job has not been started.
std::unique_ptr<LocalTransfer> makeLocalTransfer(Launch launch,
                                                 bool checkBuffers);

/// Once the job is done: checks the buffers and writes the outputs, unless the
/// thread has written them itself.
Status deliver(const LocalTransfer &transfer);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_LOCAL_LOCALTRANSFERS_H
