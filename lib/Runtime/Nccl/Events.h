//===- Events.h - CUDA events that are used again ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Making an event takes longer than recording one, so they go back to a pool.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_EVENTS_H
#define COMMSCHED_RUNTIME_NCCL_EVENTS_H

#include "Nccl/Check.h"

namespace commsched::runtime::nccl {

/// An event that has been recorded; the last owner gives it back. The pool must
/// outlive it.
using Event = std::shared_ptr<CUevent_st>;

class EventPool {
public:
  EventPool() = default;
  EventPool(const EventPool &) = delete;
  EventPool &operator=(const EventPool &) = delete;
  ~EventPool();

  /// Records an event that knows its time.
  Error record(cudaStream_t stream, Event &event);

private:
  std::vector<cudaEvent_t> idle;
};

/// Whether the GPU has come past the event.
Error queryEvent(const Event &event, bool &passed);

/// Nanoseconds from one event to another, both passed.
Error getElapsed(const Event &from, const Event &to, int64_t &ns);

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_EVENTS_H
