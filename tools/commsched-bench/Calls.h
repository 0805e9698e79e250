//===- Calls.h - Two ways to call a collective ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One interface for what is timed and compared: the runtime, and a peer that
// calls the same library without it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_CALLS_H
#define COMMSCHED_TOOLS_BENCH_CALLS_H

#include "Buffers.h"
#include "Peer.h"

namespace commsched::bench {

/// The calls of one point in one place. Functions return false once the runtime
/// has an error.
class Calls {
public:
  virtual ~Calls() = default;
  virtual bool start(int32_t slot) = 0;
  virtual bool wait(int32_t slot) = 0;
  /// Waits on the host until all that was started has ended.
  virtual bool synchronize() = 0;
};

class RuntimeCalls final : public Calls {
public:
  RuntimeCalls(const PointView &view, const Buffers &buffers, Place place);
  bool start(int32_t slot) override;
  bool wait(int32_t slot) override;
  bool synchronize() override;

private:
  /// What commsched_start takes.
  struct Slot {
    const void *input;
    void *output;
    int64_t request = 0;
  };
  std::vector<Slot> slots;
  int32_t site;
  /// Whether this rank takes part; the others of a send_recv do not.
  bool active;
};

class DirectCalls final : public Calls {
public:
  /// `group` is the peer's.
  DirectCalls(const PointView &view, const Buffers &buffers, Place place,
              Peer &peer, int32_t group);
  /// Whether the peer has these calls at all; the same on all ranks.
  bool isSupported() const { return peer.supports(calls.front()); }
  bool start(int32_t slot) override;
  bool wait(int32_t slot) override;
  bool synchronize() override;

private:
  Peer &peer;
  std::vector<PeerCall> calls;
  bool active;
};

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_CALLS_H
