//===- RankProgress.cpp - Collectives that a rank has started -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

#include "Core/Program.h"

#include <nlohmann/json.hpp>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;
using nlohmann::json;

/// How many launches of a group another rank can compare.
static constexpr size_t mostRecent = 32;

void RankProgress::setGroups(int32_t count) {
  std::lock_guard<std::mutex> lock(mutex);
  numGroups = count;
}

void RankProgress::setStarted(const Launch &launch) {
  std::lock_guard<std::mutex> lock(mutex);
  // Sites and groups outlive the backend's use of them, buffers do not.
  last.site = launch.site;
  last.group = launch.group;
  last.sequence = launch.sequence;
  if (isPointToPoint(launch.site->kind) || isTransfer(launch.site->kind))
    return;
  size_t index = launch.group->index;
  if (groups.size() <= index)
    groups.resize(index + 1);
  Started &started = groups[index];
  started.count = launch.sequence + 1;
  started.recent.push_back(launch.site);
  if (started.recent.size() > mostRecent)
    started.recent.pop_front();
}

std::string RankProgress::write() const {
  std::lock_guard<std::mutex> lock(mutex);
  json started = json::array();
  for (const Started &group : groups) {
    json recent = json::array();
    for (const Site *site : group.recent)
      recent.push_back(describeSite(*site));
    started.push_back({{"count", group.count}, {"recent", recent}});
  }
  json object{{"groups", numGroups},
              {"started", started},
              {"last", last.site ? describeLast(last) : ""}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

namespace {
/// The text of another rank's RankProgress.
struct OtherProgress {
  int32_t numGroups = 0;
  json started = json::array();
  std::string last;

  explicit OtherProgress(const Standing &standing) {
    json object = json::parse(standing.status.value_or(""), nullptr, false);
    if (!object.is_object())
      return;
    numGroups = object.value("groups", 0);
    started = object.value("started", started);
    last = object.value("last", "");
  }

  /// Why the collective is not the other rank's, too; empty if it is, or if it
  /// is too long ago to compare.
  std::string compare(const Launch &launch) const {
    size_t index = launch.group->index;
    int64_t count = 0;
    json recent = json::array();
    if (index < started.size()) {
      count = started[index].value("count", count);
      recent = started[index].value("recent", recent);
    }
    if (count <= launch.sequence)
      return "has not started it" + quoteLast(last, nothingElse);
    int64_t place = launch.sequence - (count - int64_t(recent.size()));
    if (place < 0)
      return "";
    std::string other = recent[place].get<std::string>();
    if (other == describeSite(*launch.site))
      return "";
    return "has started " + other + " in its place";
  }
};
} // namespace

RankStates
commsched::runtime::nccl::findMissing(const Launch &launch,
                                      const std::vector<Standing> &standings) {
  // Transfers have no other member.
  return describeEach(getPartners(launch), [&](int32_t rank) -> std::string {
    const Standing &standing = standings[rank];
    if (!standing.absence.empty())
      return standing.absence;
    OtherProgress progress(standing);
    return isPointToPoint(launch.site->kind)
               ? "has not matched it" + quoteLast(progress.last, nothingElse)
               : progress.compare(launch);
  });
}

RankStates
commsched::runtime::nccl::findMissing(int32_t index,
                                      const std::vector<Standing> &standings) {
  RankStates missing;
  for (size_t rank = 0; rank < standings.size(); ++rank) {
    if (!standings[rank].absence.empty())
      missing.emplace_back(rank, standings[rank].absence);
    else if (OtherProgress(standings[rank]).numGroups <= index)
      missing.emplace_back(rank, "has not come");
  }
  return missing;
}
