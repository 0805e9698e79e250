//===- Measurements.cpp - Times and memory of runs ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Measurements.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

/// How many numbers precede those of the sites.
static constexpr size_t numStepNumbers = 5;
static constexpr size_t numSiteNumbers = 3;

std::vector<int64_t> Summary::toNumbers() const {
  std::vector<int64_t> numbers = {stepNs, periodNs, exposedNs, peakBytes,
                                  hostPeakBytes};
  for (const SiteTimes &site : sites)
    numbers.insert(numbers.end(),
                   {site.startNs, site.durationNs, site.exposedNs});
  return numbers;
}

Summary Summary::fromNumbers(ArrayRef<int64_t> numbers) {
  Summary summary{numbers[0], numbers[1], numbers[2],
                  numbers[3], numbers[4], {}};
  for (numbers = numbers.drop_front(numStepNumbers); !numbers.empty();
       numbers = numbers.drop_front(numSiteNumbers))
    summary.sites.push_back({numbers[0], numbers[1], numbers[2]});
  return summary;
}

int64_t mlir::commsched::run::getMedian(std::vector<int64_t> values) {
  auto middle = values.begin() + (values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The time from one repetition to the next; -1 where it is not known.
static int64_t findPeriod(const MeasuredRun &run, ArrayRef<int64_t> siteCalls) {
  std::vector<std::vector<int64_t>> startsNs(siteCalls.size());
  for (const commsched_record &record : run.records)
    if (record.kind == COMMSCHED_RECORD_COLLECTIVE &&
        static_cast<size_t>(record.index) < startsNs.size())
      startsNs[record.index].push_back(record.begin_ns);
  std::vector<int64_t> periodsNs;
  for (auto [starts, calls] : llvm::zip_equal(startsNs, siteCalls)) {
    auto size = static_cast<int64_t>(starts.size());
    int64_t middle = calls / 2, last = calls - 1;
    if (middle >= last || size == 0 || size % calls != 0)
      continue;
    int64_t ofCall = size / calls;
    periodsNs.push_back((starts[last * ofCall] - starts[middle * ofCall]) /
                        (last - middle));
  }
  return periodsNs.empty() ? -1 : getMedian(std::move(periodsNs));
}

/// The numbers of one run.
static Summary getNumbers(const MeasuredRun &run, ArrayRef<int64_t> siteCalls) {
  size_t numSites = siteCalls.size();
  Summary summary;
  summary.stepNs = run.stepNs;
  summary.exposedNs = 0;
  summary.periodNs = findPeriod(run, siteCalls);
  summary.peakBytes = run.peakBytes;
  summary.hostPeakBytes = run.hostPeakBytes;
  summary.sites.resize(numSites);
  auto add = [](int64_t &sum, int64_t time) {
    sum = std::max<int64_t>(sum, 0) + time;
  };
  for (const commsched_record &record : run.records) {
    int64_t time = record.end_ns - record.begin_ns;
    auto index = static_cast<size_t>(record.index);
    if (record.kind == COMMSCHED_RECORD_COMPUTE || index >= numSites)
      continue;
    SiteTimes &site = summary.sites[index];
    if (record.kind == COMMSCHED_RECORD_WAIT) {
      add(site.exposedNs, time);
      summary.exposedNs += time;
      continue;
    }
    if (site.startNs < 0)
      site.startNs = record.begin_ns;
    add(site.durationNs, time);
    add(site.exposedNs, 0);
  }
  return summary;
}

Summary mlir::commsched::run::summarize(ArrayRef<MeasuredRun> runs,
                                        ArrayRef<int64_t> siteCalls) {
  // By number its values in all runs.
  std::vector<std::vector<int64_t>> lists;
  for (const MeasuredRun &run : runs) {
    std::vector<int64_t> numbers = getNumbers(run, siteCalls).toNumbers();
    lists.resize(numbers.size());
    for (auto [list, number] : llvm::zip_equal(lists, numbers))
      list.push_back(number);
  }
  return Summary::fromNumbers(llvm::map_to_vector(lists, getMedian));
}

std::vector<std::optional<int64_t>>
mlir::commsched::run::getMedianTimes(ArrayRef<MeasuredRun> runs,
                                     commsched_record_kind kind, size_t count) {
  std::vector<std::vector<int64_t>> times(count);
  for (const MeasuredRun &run : runs)
    for (const commsched_record &record : run.records)
      if (record.kind == kind && static_cast<size_t>(record.index) < count)
        times[record.index].push_back(record.end_ns - record.begin_ns);
  std::vector<std::optional<int64_t>> medians(count);
  for (size_t index = 0; index < count; ++index)
    if (!times[index].empty())
      medians[index] = getMedian(std::move(times[index]));
  return medians;
}

//===----------------------------------------------------------------------===//
// Exchange between ranks
//===----------------------------------------------------------------------===//

llvm::Error mlir::commsched::run::getRuntimeError() {
  StringRef text = commsched_last_error();
  if (text.empty())
    return llvm::Error::success();
  return llvm::createStringError(text);
}

llvm::Expected<std::vector<int64_t>>
mlir::commsched::run::exchangeLargest(ArrayRef<int64_t> mine) {
  llvm::Expected<std::vector<int64_t>> all = exchange(mine);
  if (!all)
    return all.takeError();
  std::vector<int64_t> largest = mine.vec();
  for (auto [index, value] : llvm::enumerate(*all)) {
    int64_t &most = largest[index % mine.size()];
    most = std::max(most, value);
  }
  return largest;
}

llvm::Expected<std::vector<std::vector<commsched_record>>>
mlir::commsched::run::exchangeRecords(ArrayRef<commsched_record> mine) {
  llvm::Expected<std::vector<int64_t>> counts =
      exchange(ArrayRef<int64_t>(static_cast<int64_t>(mine.size())));
  if (!counts)
    return counts.takeError();
  size_t most = *std::max_element(counts->begin(), counts->end());
  std::vector<commsched_record> padded(mine.begin(), mine.end());
  padded.resize(most);
  llvm::Expected<std::vector<commsched_record>> all =
      exchange(ArrayRef<commsched_record>(padded));
  if (!all)
    return all.takeError();
  std::vector<std::vector<commsched_record>> records;
  for (auto [rank, count] : llvm::enumerate(*counts)) {
    auto first = all->begin() + rank * most;
    records.emplace_back(first, first + count);
  }
  return records;
}
