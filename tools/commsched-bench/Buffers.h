//===- Buffers.h - Buffers of the timed calls -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the calls of one rank read and write. Calls in flight together have
// slots of their own; slots are used in turn, so that a call seldom finds in
// the caches what the one before it has left there.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_BUFFERS_H
#define COMMSCHED_TOOLS_BENCH_BUFFERS_H

#include "Plan.h"

namespace commsched::bench {

enum class Place : uint8_t { OutOfPlace, InPlace };

/// What one call works on.
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

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_BUFFERS_H
