//===- Rank.cpp - What a thread is for the runtime --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Rank.h"

#include "Core/BackendLoader.h"
#include "Core/Comparison.h"
#include "Core/Describe.h"

#include <algorithm>

using namespace commsched::runtime;

Rank::~Rank() {
  if (backend && !hasFailed())
    fail("its thread ended without commsched_finalize");
  leave();
}

Deadline Rank::getDeadline() const {
  return Clock::now() + std::chrono::milliseconds(options.deadline_ms);
}

/// What all ranks must say alike.
static std::string describeOptions(const commsched_options &options) {
  return "modelled_times=" + std::to_string(options.modelled_times != 0) +
         " emulate_data=" + std::to_string(options.emulate_data);
}

Error Rank::join(const commsched_options &given) {
  options = given;
  backendName = given.backend ? given.backend : "local";
  job = given.job ? given.job : "default";
  flightRecordPath = given.flight_record ? given.flight_record : "";
  options.backend = backendName.c_str();
  options.job = job.c_str();
  options.flight_record = flightRecordPath.c_str();
  // A year, so that points in time cannot overflow.
  constexpr int64_t mostMs = int64_t(365) * 24 * 3600 * 1000;
  if (options.deadline_ms <= 0 || options.deadline_ms > mostMs)
    return "a deadline of " + std::to_string(options.deadline_ms) +
           " ms is not in [1, " + std::to_string(mostMs) + "]";

  BackendConfig config;
  config.options = &options;
  config.recorder = this;
  config.deadline = getDeadline();
  Error failure;
  backend = createBackend(backendName, config, failure);
  if (!backend)
    return failure;
  arena = std::make_unique<Arena>(*backend);

  std::vector<std::string> all;
  if (Error failure =
          backend->exchange(describeOptions(options), all, getDeadline()))
    return failure;
  for (size_t other = 1; other < all.size(); ++other)
    if (all[other] != all[0])
      return "ranks joined with different options: rank 0 with " + all[0] +
             ", but rank " + std::to_string(other) + " with " + all[other];
  return std::nullopt;
}

void Rank::leave() {
  if (!backend)
    return;
  if (!hasFailed()) {
    std::vector<std::string> all;
    if (const Launch *launch = requests.getOldest())
      fail("commsched_finalize before the wait for " + describeLaunch(*launch));
    else if (Error failure = backend->exchange("", all, getDeadline()))
      fail(*failure);
  }
  if (Error failure = backend->shutdown(hasFailed(), getDeadline()))
    fail(*failure);
  requests.clear();
  arena.reset();
  backend.reset();
}

void Rank::fail(const std::string &text) {
  if (error)
    return;
  error = text;
  if (backend)
    backend->fail(text);
  if (flightRecordPath.empty())
    return;
  FlightRecordHeader header;
  header.backend = backendName;
  header.rank = backend ? backend->getRank() : options.rank;
  header.numRanks = backend ? backend->getNumRanks() : options.num_ranks;
  header.deadlineMs = options.deadline_ms;
  header.error = text;
  if (Error failure = writeFlightRecord(flightRecordPath, header.rank,
                                        flightRecord.toJson(header)))
    *error += "; and " + *failure;
}

Error Rank::load(const std::string &json) {
  if (const Launch *launch = requests.getOldest())
    return "commsched_load_program before the wait for " +
           describeLaunch(*launch);
  auto program = std::make_unique<Program>();
  if (Error failure = parseProgram(json, *program))
    return failure;
  if (static_cast<int64_t>(program->sites.size()) > RequestTable::maxSites)
    return "program description: more than " +
           std::to_string(RequestTable::maxSites) + " sites";
  std::vector<Rows> rows(program->groups.size());
  for (size_t i = 0; i < rows.size(); ++i)
    if (Error failure =
            expandGroup(program->groups[i], backend->getNumRanks(), rows[i]))
      return failure;
  if (!program->hostCode.empty())
    if (Error failure = backend->checkHostCode(program->hostCode))
      return failure;
  for (const Site &site : program->sites)
    if (Error failure = backend->checkSite(site))
      return describeSite(site) + ": " + *failure;
  Deadline deadline = getDeadline();
  if (Error failure = comparePrograms(
          *program, rows,
          [&](const std::string &mine, std::vector<std::string> &all) {
            return backend->exchange(mine, all, deadline);
          }))
    return failure;
  if (Error failure = makeGroups(*program, rows))
    return failure;
  requests.startProgram();
  programs.push_back(std::move(program));
  return std::nullopt;
}

Error Rank::makeGroups(const Program &program, const std::vector<Rows> &rows) {
  Deadline deadline = getDeadline();
  groups.clear();
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string &name = program.groups[i].name;
    auto same = std::find_if(
        madeGroups.begin(), madeGroups.end(), [&](const MadeGroup &made) {
          return made.group.name == name && made.rows == rows[i];
        });
    if (same != madeGroups.end()) {
      groups.push_back(&*same);
      continue;
    }
    MadeGroup &made = madeGroups.emplace_back();
    made.rows = rows[i];
    made.group.index = static_cast<int32_t>(madeGroups.size() - 1);
    made.group.name = name;
    int32_t rank = backend->getRank();
    for (const std::vector<int32_t> &row : rows[i]) {
      auto place = std::find(row.begin(), row.end(), rank);
      if (place == row.end())
        continue;
      made.group.members = row;
      made.group.rank = static_cast<int32_t>(place - row.begin());
    }
    if (Error failure = backend->createGroup(made.group, deadline))
      return "group '" + name + "': " + *failure;
    groups.push_back(&made);
  }
  return std::nullopt;
}

int32_t Rank::getGroupRank(int32_t group) const {
  if (group < 0 || group >= static_cast<int32_t>(groups.size()))
    return -1;
  return groups[group]->group.rank;
}

int64_t Rank::getCounter(const std::string &name) const {
  auto found = counters.find(name);
  return found == counters.end() ? 0 : found->second;
}

void Rank::record(commsched_record_kind kind, int32_t index,
                  Interval interval) {
  records.add(kind, index, interval);
}

void Rank::setStarted(const Launch &launch) {
  flightRecord.setStarted(launch.record);
}

void Rank::setCompleted(const Launch &launch) {
  flightRecord.setCompleted(launch.record);
}

void Rank::addStagedBytes(int64_t bytes) { count("staged_bytes", bytes); }
