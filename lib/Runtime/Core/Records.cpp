//===- Records.cpp - Requests and the flight record -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Rank.h"

#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

using namespace commsched::runtime;
using Json = nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

int64_t RequestTable::add(std::unique_ptr<Request> request) {
  int64_t number = ++lastSerial * maxSites + request->launch.site->index;
  inFlight[lastSerial] = std::move(request);
  return number;
}

Request *RequestTable::find(int64_t number, const std::vector<Site> &sites,
                            Status &status) const {
  int64_t serial = number / maxSites;
  int64_t site = number % maxSites;
  auto found = inFlight.find(serial);
  if (found != inFlight.end() && found->second->launch.site->index == site)
    return found->second.get();
  bool wasGiven = serial >= firstSerial && serial <= lastSerial &&
                  site < static_cast<int64_t>(sites.size());
  if (wasGiven && found == inFlight.end())
    status = "the request of " + describeSite(sites[site]) +
             " has already been waited for";
  else
    status = concat("there is no request ", number);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The flight record
//===----------------------------------------------------------------------===//

/// Since 1970, so that the records of several machines can be compared.
static int64_t getWallNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int64_t FlightRecord::add(const Launch &launch) {
  Entry entry;
  entry.site = launch.site;
  entry.group = launch.group;
  entry.tensors = launch.ownTensors;
  entry.sequence = launch.sequence;
  entry.createdNs = getWallNs();
  if (count < capacity)
    entries.push_back(entry);
  else
    entries[count % capacity] = entry;
  return count++;
}

FlightRecord::Entry *FlightRecord::find(int64_t record) {
  if (record < 0 || record >= count || record < count - capacity)
    return nullptr;
  return &entries[record % capacity];
}

void FlightRecord::setStarted(int64_t record) {
  if (Entry *entry = find(record))
    entry->startedNs = getWallNs();
}

void FlightRecord::setCompleted(int64_t record) {
  Entry *entry = find(record);
  if (!entry)
    return;
  entry->completedNs = getWallNs();
  if (entry->startedNs == 0)
    entry->startedNs = entry->completedNs;
}

void FlightRecord::setRetired(int64_t record) {
  if (Entry *entry = find(record))
    entry->retired = true;
}

/// "step.mlir:7:8" as a frame of a stack.
static Json makeFrame(const Site &site) {
  std::string file = site.location;
  int64_t numbers[2] = {0, 0};
  for (int64_t &number : numbers) {
    size_t colon = file.rfind(':');
    std::string tail = colon == std::string::npos ? "" : file.substr(colon + 1);
    if (tail.empty() || tail.size() > 9 ||
        tail.find_first_not_of("0123456789") != std::string::npos)
      break;
    number = std::stoll(tail);
    file.resize(colon);
  }
  // With one number only, that is the line.
  int64_t line = numbers[1] ? numbers[1] : numbers[0];
  return {{"name", site.name}, {"filename", file}, {"line", line}};
}

static Json makeTime(int64_t ns) { return ns ? Json(ns) : Json(nullptr); }

/// Sizes and types of the tensors on one side of a launch.
static void addTensors(Json &entry, const std::vector<Tensor> &tensors,
                       const char *side, int64_t Tensor::*elements) {
  Json sizes = Json::array();
  Json types = Json::array();
  for (const Tensor &tensor : tensors) {
    sizes.push_back(Json::array({tensor.*elements}));
    types.push_back(tensor.element.name);
  }
  entry[std::string(side) + "_sizes"] = sizes;
  entry[std::string(side) + "_dtypes"] = types;
}

std::string FlightRecord::toJson(const FlightRecordHeader &header) const {
  Json list = Json::array();
  /// The last sequence number of each group in each state; -1 for none.
  struct GroupStatus {
    const Group *group = nullptr;
    int64_t last[3] = {-1, -1, -1};
  };
  std::map<int32_t, GroupStatus> groups;
  for (int64_t i = std::max<int64_t>(0, count - capacity); i < count; ++i) {
    const Entry &entry = entries[i % capacity];
    const Site &site = *entry.site;
    bool pointToPoint = isPointToPoint(site.kind);
    Json json;
    json["record_id"] = i;
    json["pg_id"] = entry.group->index;
    std::string group = getFullName(*entry.group);
    json["process_group"] = {group, group};
    json["collective_seq_id"] = pointToPoint ? 0 : entry.sequence;
    json["p2p_seq_id"] = pointToPoint ? entry.sequence : 0;
    json["op_id"] = i;
    json["profiling_name"] = header.backend + ":" + getName(site.kind);
    json["is_p2p"] = pointToPoint;
    const std::vector<Tensor> &tensors =
        entry.tensors ? *entry.tensors : site.tensors;
    addTensors(json, tensors, "input", &Tensor::inputs);
    addTensors(json, tensors, "output", &Tensor::outputs);
    json["time_created_ns"] = entry.createdNs;
    json["time_discovered_started_ns"] = makeTime(entry.startedNs);
    json["time_discovered_completed_ns"] = makeTime(entry.completedNs);
    if (entry.completedNs)
      json["duration_ms"] =
          static_cast<double>(entry.completedNs - entry.startedNs) / 1e6;
    json["state"] = entry.completedNs ? "completed"
                    : entry.startedNs ? "started"
                                      : "scheduled";
    json["retired"] = entry.retired;
    json["timeout_ms"] = header.deadlineMs;
    json["frames"] = Json::array({makeFrame(site)});
    list.push_back(std::move(json));

    GroupStatus &status = groups[entry.group->index];
    status.group = entry.group;
    if (pointToPoint)
      continue;
    status.last[0] = entry.sequence;
    if (entry.startedNs)
      status.last[1] = entry.sequence;
    if (entry.completedNs)
      status.last[2] = entry.sequence;
  }
  Json configs = Json::object();
  Json statuses = Json::object();
  for (const auto &[index, status] : groups) {
    std::string key = std::to_string(index);
    std::string name = getFullName(*status.group);
    configs[key] = {{"name", name},
                    {"desc", name},
                    {"ranks", Json(status.group->members).dump()}};
    statuses[key] = {{"last_enqueued_collective", status.last[0]},
                     {"last_started_collective", status.last[1]},
                     {"last_completed_collective", status.last[2]}};
  }
  Json document = {{"version", "2.4"},      {"backend", header.backend},
                   {"rank", header.rank},   {"world_size", header.numRanks},
                   {"error", header.error}, {"pg_config", configs},
                   {"pg_status", statuses}, {"entries", list}};
  // Names may be any bytes; what is no UTF-8 is replaced.
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status commsched::runtime::writeFlightRecord(const std::string &path,
                                             int32_t rank,
                                             const std::string &text) {
  std::string name = path;
  for (size_t at = name.find("%r"); at != std::string::npos;
       at = name.find("%r", at + 1))
    name.replace(at, 2, std::to_string(rank));
  // So that a record is whole, even if the program ends meanwhile.
  const std::string partial = name + ".tmp";
  std::ofstream file(partial, std::ios::binary);
  file << text;
  file.close();
  if (file && std::rename(partial.c_str(), name.c_str()) == 0)
    return Status();
  std::remove(partial.c_str());
  return "cannot write the flight record '" + name + "'";
}
