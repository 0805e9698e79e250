//===- HiddenTransfers.cpp - Transfers that computation hides -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Transfers/HiddenTransfers.h"

#include "../Model/RangeMaximum.h"
#include "../Model/SortBy.h"

#include <algorithm>

using namespace mlir::commsched::schedule;

namespace {

/// Jobs of one machine that all are released at 0, each with a deadline. They
/// are feasible if for each deadline d, what is due until then takes at most d.
class Deadlines {
public:
  explicit Deadlines(const std::vector<int64_t> &deadlines);

  /// Takes the job of that index, if all that are taken remain feasible.
  bool take(int32_t job, int64_t durationNs);
  void undo(int32_t job, int64_t durationNs);

private:
  /// By job: its place among the deadlines.
  std::vector<int32_t> places;
  /// By place: what is due until then, less the deadline.
  RangeMaximum lateness;
};

} // namespace

/// The jobs in the order of their deadlines; equal ones by index.
static std::vector<int32_t> sortJobs(const std::vector<int64_t> &deadlines) {
  return sortBy(deadlines.size(), [&](int32_t job) { return deadlines[job]; });
}

static std::vector<int64_t> negateSorted(std::vector<int64_t> deadlines) {
  std::sort(deadlines.begin(), deadlines.end());
  std::transform(deadlines.begin(), deadlines.end(), deadlines.begin(),
                 std::negate<int64_t>());
  return deadlines;
}

Deadlines::Deadlines(const std::vector<int64_t> &deadlines)
    : places(deadlines.size()), lateness(negateSorted(deadlines)) {
  int32_t place = 0;
  for (int32_t job : sortJobs(deadlines))
    places[job] = place++;
}

bool Deadlines::take(int32_t job, int64_t durationNs) {
  auto end = static_cast<int32_t>(places.size());
  if (lateness.exceeds(places[job], end, -durationNs))
    return false;
  lateness.add(places[job], end, durationNs);
  return true;
}

void Deadlines::undo(int32_t job, int64_t durationNs) {
  lateness.add(places[job], static_cast<int32_t>(places.size()), -durationNs);
}

std::vector<int32_t> mlir::commsched::schedule::chooseHiddenTransfers(
    const std::vector<TransferCandidate> &candidates,
    const TransferLimits &limits) {
  std::vector<int64_t> leftNs, neededNs, gapsNs;
  for (const TransferCandidate &candidate : candidates) {
    // Backwards in time, the end of the forward is the one release time.
    leftNs.push_back(limits.forwardNs - candidate.readyNs);
    neededNs.push_back(candidate.neededNs);
    gapsNs.push_back(leftNs.back() + candidate.neededNs);
  }
  Deadlines offloads(leftNs), reloads(neededNs);
  std::vector<int32_t> order =
      sortBy(candidates.size(), [&](int32_t index) { return -gapsNs[index]; });
  std::vector<int32_t> chosen, exposed;
  int64_t room = limits.hostBytes;
  for (int32_t index : order) {
    const TransferCandidate &candidate = candidates[index];
    if (candidate.bytes > room)
      continue;
    bool isHidden = offloads.take(index, candidate.offloadNs);
    if (isHidden && !reloads.take(index, candidate.reloadNs)) {
      offloads.undo(index, candidate.offloadNs);
      isHidden = false;
    }
    if (!isHidden) {
      exposed.push_back(index);
      continue;
    }
    chosen.push_back(index);
    room -= candidate.bytes;
  }
  for (int32_t index : exposed)
    if (candidates[index].mayBeExposed && candidates[index].bytes <= room) {
      chosen.push_back(index);
      room -= candidates[index].bytes;
    }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}
