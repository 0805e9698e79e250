//===- Measurement.cpp - Measurement of a benchmark's points --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Measurement.h"

#include "Pattern.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>

namespace commsched::bench {

int64_t getPercentile(llvm::ArrayRef<int64_t> sorted, int32_t percent) {
  assert(!sorted.empty() && percent >= 0 && percent <= 100);
  size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[rank == 0 ? 0 : rank - 1];
}

Summary summarize(std::vector<int64_t> samples) {
  assert(!samples.empty() && "nothing was measured");
  llvm::sort(samples);
  size_t middle = samples.size() / 2;
  Summary summary;
  summary.p5 = getPercentile(samples, 5);
  summary.median =
      samples.size() % 2 == 1
          ? samples[middle]
          : samples[middle - 1] + (samples[middle] - samples[middle - 1]) / 2;
  summary.p95 = getPercentile(samples, 95);
  return summary;
}

std::vector<int64_t> maximumOverRanks(llvm::ArrayRef<int64_t> perRank,
                                      int32_t ranks) {
  size_t samples = perRank.size() / ranks;
  std::vector<int64_t> result = perRank.take_front(samples).vec();
  for (int32_t rank = 1; rank < ranks; ++rank)
    for (size_t i = 0; i < samples; ++i)
      result[i] = std::max(result[i], perRank[rank * samples + i]);
  return result;
}

/// Slots whose contents are checked.
static constexpr int32_t checkedSlots = 4;
/// The byte that outputs are filled with before they are checked: no element of
/// the patterns looks like that.
static constexpr char spoiled = '\xff';

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Measurement::Measurement(const Settings &settings, const Plan &plan, Peer *peer)
    : settings(settings), plan(plan), peer(peer), rank(commsched_rank()),
      numRanks(commsched_num_ranks()) {}

bool Measurement::prepare() {
  if (peer)
    for (const PlanGroup &group : plan.groups) {
      std::string error =
          peer->createGroup(group.getMembers(rank), peerGroups.emplace_back());
      if (!error.empty()) {
        commsched_fail(error.c_str());
        return false;
      }
    }
  int64_t largest = 0;
  for (const Point &point : plan.points)
    largest = std::max(largest, point.bytes);
  host.reset(new (std::nothrow) char[largest]);
  if (!host) {
    std::string text = "cannot allocate " + std::to_string(largest) +
                       " bytes of host memory to check results";
    commsched_fail(text.c_str());
    return false;
  }
  return buffers.allocate(plan, rank, settings.launches);
}

bool Measurement::meet() {
  return commsched_barrier(plan.barrierSite) == 0 &&
         commsched_synchronize() == 0;
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

bool Measurement::fillInput(const PointView &view, Place place, int32_t slot) {
  if (!view.sends())
    return true;
  const Point &point = *view.point;
  Pattern pattern(*point.element, point.operation, point.reduction,
                  view.members);
  int64_t bytes = view.parts.inputs * view.partBytes;
  pattern.fillInputs(view.self, point.partElements,
                     llvm::MutableArrayRef(host.get(), bytes));
  return commsched_upload(buffers.get(view, place, slot).input, host.get(),
                          bytes) == 0;
}

bool Measurement::spoilOutput(const PointView &view, Place place,
                              int32_t slot) {
  int64_t bytes = view.parts.outputs * view.partBytes;
  std::fill_n(host.get(), bytes, spoiled);
  return commsched_upload(buffers.get(view, place, slot).output, host.get(),
                          bytes) == 0;
}

bool Measurement::countWrong(const PointView &view, Place place, int32_t slot,
                             int64_t &wrong) {
  if (!view.receives())
    return true;
  const Point &point = *view.point;
  int64_t bytes = view.parts.outputs * view.partBytes;
  if (commsched_download(host.get(), buffers.get(view, place, slot).output,
                         bytes) != 0)
    return false;
  Pattern pattern(*point.element, point.operation, point.reduction,
                  view.members);
  wrong += pattern.countWrong(view.self, point.partElements,
                              llvm::ArrayRef(host.get(), bytes));
  return true;
}

bool Measurement::check(const PointView &view, Place place, Calls &calls,
                        int64_t &wrong) {
  int32_t slots = std::min(view.slots, checkedSlots);
  // In place, the input is a part of the output.
  for (int32_t slot = 0; slot < slots; ++slot)
    if (!spoilOutput(view, place, slot) || !fillInput(view, place, slot))
      return false;
  if (!meet() || !runBatch(calls, slots, slots))
    return false;
  for (int32_t slot = 0; slot < slots; ++slot)
    if (!countWrong(view, place, slot, wrong))
      return false;
  return true;
}

bool Measurement::checkDirect(const PointView &view, Place place,
                              Calls &calls) {
  // MPI leaves results elsewhere than the runtime where a broadcast is out of
  // place (the root has no output) or another operation in place.
  bool isBroadcast = view.point->operation == Operation::Broadcast;
  if ((place == Place::InPlace) != isBroadcast)
    return true;
  int64_t wrong = 0;
  if (!check(view, place, calls, wrong))
    return false;
  if (wrong == 0)
    return true;
  std::string text =
      (stringifyOperation(view.point->operation) + " called directly gives " +
       llvm::Twine(wrong) + " wrong elements")
          .str();
  commsched_fail(text.c_str());
  return false;
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

bool Measurement::runBatch(Calls &calls, int32_t slots, int32_t launches) {
  for (int32_t i = 0; i < launches; ++i) {
    if (i >= slots && !calls.wait(i % slots))
      return false;
    if (!calls.start(i % slots))
      return false;
  }
  for (int32_t i = std::max(launches - slots, 0); i < launches; ++i)
    if (!calls.wait(i % slots))
      return false;
  return calls.synchronize();
}

bool Measurement::timeIsolated(Calls &calls, int32_t slot, Samples &samples) {
  if (!meet())
    return false;
  int64_t begin = now();
  if (!calls.start(slot) || !calls.wait(slot) || !calls.synchronize())
    return false;
  samples.push_back(now() - begin);
  return true;
}

bool Measurement::timeBatch(Calls &calls, int32_t slots, Samples &samples) {
  if (!meet())
    return false;
  int64_t begin = now();
  if (!runBatch(calls, slots, settings.launches))
    return false;
  samples.push_back((now() - begin) / settings.launches);
  return true;
}

bool Measurement::timeWays(int32_t slots, llvm::ArrayRef<Calls *> ways,
                           llvm::MutableArrayRef<Samples> samples) {
  for (Calls *calls : ways)
    if (!meet() || !runBatch(*calls, slots, settings.warmup))
      return false;
  for (int32_t round = 0; round < settings.repeats; ++round)
    for (size_t i = 0; i < ways.size(); ++i) {
      // Each goes first as often as the others.
      size_t way = (i + round) % ways.size();
      if (!timeIsolated(*ways[way], round % slots, samples[way]) ||
          !timeBatch(*ways[way], slots, samples[way]))
        return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

bool Measurement::combine(llvm::MutableArrayRef<Samples> samples,
                          int64_t &wrong) {
  std::vector<int64_t> mine = {wrong};
  for (const Samples &series : samples)
    mine.insert(mine.end(), series.begin(), series.end());
  std::vector<int64_t> all(mine.size() * numRanks);
  if (commsched_exchange(mine.data(), all.data(),
                         mine.size() * sizeof(int64_t)) != 0)
    return false;
  std::vector<int64_t> largest = maximumOverRanks(all, numRanks);
  wrong = 0;
  for (int32_t i = 0; i < numRanks; ++i)
    wrong += all[i * mine.size()];
  auto next = largest.begin() + 1;
  for (Samples &series : samples) {
    std::copy_n(next, series.size(), series.begin());
    next += series.size();
  }
  return true;
}

static Timing summarizeSamples(llvm::ArrayRef<int64_t> samples) {
  std::vector<int64_t> isolated, backToBack;
  for (size_t i = 0; i < samples.size(); i += 2) {
    isolated.push_back(samples[i]);
    backToBack.push_back(samples[i + 1]);
  }
  return {summarize(std::move(isolated)), summarize(std::move(backToBack))};
}

bool Measurement::measurePlace(const PointView &view, Place place,
                               PlaceResult &result) {
  RuntimeCalls runtimeCalls(view, buffers, place);
  std::optional<DirectCalls> directCalls;
  std::vector<Calls *> ways = {&runtimeCalls};
  if (peer) {
    directCalls.emplace(view, buffers, place, *peer,
                        peerGroups[view.point->group]);
    if (directCalls->isSupported())
      ways.push_back(&*directCalls);
  }
  if (!check(view, place, runtimeCalls, result.wrong))
    return false;
  if (ways.size() == 2 && !checkDirect(view, place, *directCalls))
    return false;
  // Zeros, which do not grow where results become inputs.
  std::vector<Samples> samples(ways.size());
  if (!buffers.clear(view) || !timeWays(view.slots, ways, samples) ||
      !combine(samples, result.wrong))
    return false;
  result.runtime = summarizeSamples(samples[0]);
  if (ways.size() == 2)
    result.direct = summarizeSamples(samples[1]);
  return true;
}

bool Measurement::measure(const Point &point, PointResult &result) {
  PointView view(plan, point, rank, settings.launches);
  if (!measurePlace(view, Place::OutOfPlace, result.outOfPlace))
    return false;
  if (!hasInPlaceForm(point.operation))
    return true;
  return measurePlace(view, Place::InPlace, result.inPlace.emplace());
}

} // namespace commsched::bench
