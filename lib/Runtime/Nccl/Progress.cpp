//===- Progress.cpp - How far this rank has come --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/Progress.h"

#include "Bootstrap/Payloads.h"
#include "Core/Describe.h"

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;
using nlohmann::json;

void Progress::setGroups(int32_t count) {
  std::lock_guard<std::mutex> lock(mutex);
  numGroups = count;
}

void Progress::setStarted(const Launch &launch) {
  std::lock_guard<std::mutex> lock(mutex);
  // Sites and groups outlive the backend's use of them, buffers do not.
  last.site = launch.site;
  last.group = launch.group;
  last.sequence = launch.sequence;
  if (isPointToPoint(launch.site->kind))
    return;
  size_t group = launch.group->index;
  if (numStarted.size() <= group)
    numStarted.resize(group + 1);
  numStarted[group] = launch.sequence + 1;
}

std::string Progress::write() const {
  std::lock_guard<std::mutex> lock(mutex);
  return dumpJson(json{{"groups", numGroups},
                       {"started", numStarted},
                       {"last", last.site ? describeLast(last) : ""}});
}

namespace {
/// What another rank's Progress has written.
struct OtherProgress {
  int32_t numGroups = 0;
  std::vector<int64_t> numStarted;
  std::string last;

  explicit OtherProgress(const Standing &standing) {
    json object = json::parse(standing.status.value_or(""), nullptr, false);
    if (!object.is_object())
      return;
    numGroups = object.value("groups", 0);
    numStarted = object.value("started", numStarted);
    last = object.value("last", "");
  }

  std::string describeLast() const {
    return last.empty() ? " (nor anything else)" : " (its last: " + last + ")";
  }
};
} // namespace

MissingRanks
commsched::runtime::nccl::findMissing(const Launch &launch,
                                      const std::vector<Standing> &standings) {
  const Group &group = *launch.group;
  bool toPeer = isPointToPoint(launch.site->kind);
  MissingRanks missing;
  for (size_t place = 0; place < group.members.size(); ++place) {
    int32_t rank = group.members[place];
    if (static_cast<int32_t>(place) == group.rank ||
        (toPeer && static_cast<int32_t>(place) != launch.site->peer))
      continue;
    const Standing &standing = standings[rank];
    if (!standing.absence.empty()) {
      missing.emplace_back(rank, standing.absence);
      continue;
    }
    OtherProgress progress(standing);
    size_t index = group.index;
    int64_t count =
        index < progress.numStarted.size() ? progress.numStarted[index] : 0;
    if (toPeer)
      missing.emplace_back(rank,
                           "has not matched it" + progress.describeLast());
    else if (count <= launch.sequence)
      missing.emplace_back(rank,
                           "has not started it" + progress.describeLast());
  }
  return missing;
}

MissingRanks
commsched::runtime::nccl::findMissing(int32_t index,
                                      const std::vector<Standing> &standings) {
  MissingRanks missing;
  for (size_t rank = 0; rank < standings.size(); ++rank) {
    if (!standings[rank].absence.empty())
      missing.emplace_back(rank, standings[rank].absence);
    else if (OtherProgress(standings[rank]).numGroups <= index)
      missing.emplace_back(rank, "has not come");
  }
  return missing;
}
