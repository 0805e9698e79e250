//===- Calls.h - Calls of a collective and their buffers --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The calls that are timed and compared: those of the runtime, and those of a
// peer that calls the same library without the runtime.
//
// Calls that are in flight together have slots of their own in the buffers. The
// slots are used in turn, so that a call seldom finds in the caches what the
// call before it has left there.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_CALLS_H
#define COMMSCHED_TOOLS_BENCH_CALLS_H

#include "Peer.h"
#include "Plan.h"

namespace commsched::bench {

enum class Place : uint8_t { OutOfPlace, InPlace };

/// The buffers of one call.
struct CallBuffers {
  char *input = nullptr;
  char *output = nullptr;
};

/// The part of a point that one rank plays.
struct PointView {
  const Point *point = nullptr;
  std::vector<int32_t> members;
  /// The rank's index in `members`.
  int32_t self = 0;
  PartCounts parts;
  int64_t partBytes = 0;
  /// Calls that may be in flight together.
  int32_t slots = 0;

  PointView(const Plan &plan, const Point &point, int32_t rank,
            int32_t launches);

  /// Whether this rank has something to send, and to receive.
  bool sends() const;
  bool receives() const;
};

/// Memory for all points, taken from the runtime once.
class Buffers {
public:
  Buffers() = default;
  Buffers(const Buffers &) = delete;
  Buffers &operator=(const Buffers &) = delete;
  ~Buffers();

  /// False on an error of the runtime.
  bool allocate(const Plan &plan, int32_t rank, int32_t launches);
  /// Writes zeros into all slots of a point. False on an error of the runtime.
  bool clear(const PointView &view);

  /// `slot` is below `view.slots`.
  CallBuffers get(const PointView &view, Place place, int32_t slot) const;

private:
  char *inputs = nullptr;
  char *outputs = nullptr;
};

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
  /// The arguments of commsched_start.
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
