//===- Measurement.h - Measurement of a benchmark's points ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times one point after the other on one rank, together with all other ranks,
// and checks the received data. All ranks have the same results, since they
// exchange their samples and use those of the slowest rank.
//
// A call is timed in two ways. Isolated: all ranks meet, then each takes the
// time from its start to the end of its wait. Back to back: a batch of launches
// is issued, then waited for, and a launch has its share of the batch. The
// first is the time that dependent work waits, the second the throughput of a
// link.
//
// Of the samples the order statistics are kept, which a few disturbed samples
// do not change.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_MEASUREMENT_H
#define COMMSCHED_TOOLS_BENCH_MEASUREMENT_H

#include "Calls.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace commsched::bench {

/// Nanoseconds.
struct Summary {
  int64_t p5 = 0;
  int64_t median = 0;
  int64_t p95 = 0;
};

/// The sample below or at which `percent` of the samples lie, counted up: the
/// nearest rank, always one of the samples. `sorted` is ascending and not
/// empty, `percent` from 0 to 100.
int64_t getPercentile(llvm::ArrayRef<int64_t> sorted, int32_t percent);

/// `samples` must not be empty. The median of an even number is the mean of the
/// two in the middle, rounded down.
Summary summarize(std::vector<int64_t> samples);

/// `perRank` holds the samples of one rank after those of another. The result
/// has each sample's largest value over the ranks.
std::vector<int64_t> maximumOverRanks(llvm::ArrayRef<int64_t> perRank,
                                      int32_t ranks);

/// Nanoseconds of one call.
struct Timing {
  Summary isolated;
  Summary backToBack;
};

struct PlaceResult {
  Timing runtime;
  /// Absent without a peer, or where it lacks the call.
  std::optional<Timing> direct;
  /// Elements that ranks received wrong, all together.
  int64_t wrong = 0;
};

struct PointResult {
  PlaceResult outOfPlace;
  /// Absent for operations that have no such form.
  std::optional<PlaceResult> inPlace;
};

class Measurement {
public:
  /// `peer` may be null.
  Measurement(const Settings &settings, const Plan &plan, Peer *peer);

  /// Allocates, and makes the peer's groups. False on an error of the runtime;
  /// so do the others.
  bool prepare();
  bool measure(const Point &point, PointResult &result);

private:
  /// Of one way of calling: an isolated call, a batch, an isolated call, ...
  using Samples = std::vector<int64_t>;

  bool meet();
  bool fillInput(const PointView &view, Place place, int32_t slot);
  bool spoilOutput(const PointView &view, Place place, int32_t slot);
  bool countWrong(const PointView &view, Place place, int32_t slot,
                  int64_t &wrong);
  /// Adds to `wrong` what this rank received wrong in one batch.
  bool check(const PointView &view, Place place, Calls &calls, int64_t &wrong);
  bool checkDirect(const PointView &view, Place place, Calls &calls);

  bool runBatch(Calls &calls, int32_t slots, int32_t launches);
  bool timeIsolated(Calls &calls, int32_t slot, Samples &samples);
  bool timeBatch(Calls &calls, int32_t slots, Samples &samples);
  /// Times all ways in turn, so that a disturbance of the machine hits each.
  bool timeWays(int32_t slots, llvm::ArrayRef<Calls *> ways,
                llvm::MutableArrayRef<Samples> samples);
  bool measurePlace(const PointView &view, Place place, PlaceResult &result);
  /// Replaces each sample by the largest of all ranks, `wrong` by the sum.
  bool combine(llvm::MutableArrayRef<Samples> samples, int64_t &wrong);

  const Settings &settings;
  const Plan &plan;
  Peer *peer;
  /// The peer's, by the plan's.
  std::vector<int32_t> peerGroups;
  int32_t rank;
  int32_t numRanks;
  Buffers buffers;
  /// As large as the largest point's full buffer.
  std::unique_ptr<char[]> host;
};

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_MEASUREMENT_H
