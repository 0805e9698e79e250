//===- Rank.cpp - State and calls of a rank -------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Rank.h"

#include "Core/BackendLoader.h"
#include "Core/Sites.h"
#include "Numerics/ElementArithmetic.h"
#include "Numerics/ElementTypes.h"

#include <algorithm>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// RequestTable
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
// Joining, leaving and loading
//===----------------------------------------------------------------------===//

Rank::~Rank() {
  if (backend && !hasFailed())
    fail("its thread ended without commsched_finalize");
  leave();
}

Deadline Rank::getDeadline() const {
  return Clock::now() + std::chrono::milliseconds(options.deadline_ms);
}

/// The options that must be equal on all ranks.
static std::string describeOptions(const commsched_options &options) {
  return concat("modelled_times=", options.modelled_times != 0,
                " emulate_data=", options.emulate_data);
}

Status Rank::join(const commsched_options &given) {
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
    return concat("a deadline of ", options.deadline_ms, " ms is not in [1, ",
                  mostMs, "]");

  BackendConfig config{backendVersion, &options, this, getDeadline()};
  Status created;
  backend = createBackend(backendName, config, created);
  if (!backend)
    return created;
  arena = std::make_unique<Arena>(*backend);
  hostArena = std::make_unique<Arena>(*backend, /*isHost=*/true);
  int32_t rank = backend->getRank();
  transfers[0].group = {Group::d2hIndex, Group::d2hIndex, "d2h", {rank}, 0};
  transfers[1].group = {Group::h2dIndex, Group::h2dIndex, "h2d", {rank}, 0};

  std::vector<std::string> all;
  COMMSCHED_TRY(
      backend->exchange(describeOptions(options), all, getDeadline()));
  for (size_t other = 1; other < all.size(); ++other)
    if (all[other] != all[0])
      return concat("ranks joined with different options: rank 0 with ", all[0],
                    ", but rank ", other, " with ", all[other]);
  return Status();
}

Status Rank::checkNoRequest(const char *call) const {
  if (const Launch *launch = requests.getOldest())
    return std::string(call) + " before the wait for " +
           describeLaunch(*launch);
  return Status();
}

void Rank::leave() {
  if (!backend)
    return;
  if (!hasFailed()) {
    std::vector<std::string> all;
    Status left = checkNoRequest("commsched_finalize");
    if (left)
      left = backend->exchange("", all, getDeadline());
    if (!left)
      fail(left.getMessage());
  }
  if (Status status = backend->shutdown(hasFailed(), getDeadline()); !status)
    fail(status.getMessage());
  requests.clear();
  arena.reset();
  hostArena.reset();
  backend.reset();
}

void Rank::fail(const std::string &text) {
  if (hasFailed())
    return;
  status = text;
  if (backend)
    backend->fail(text);
  if (flightRecordPath.empty())
    return;
  FlightRecordHeader header{
      backendName, backend ? backend->getRank() : options.rank,
      backend ? backend->getNumRanks() : options.num_ranks, options.deadline_ms,
      text};
  if (Status written = writeFlightRecord(flightRecordPath, header.rank,
                                         flightRecord.toJson(header));
      !written)
    status = text + "; and " + written.getMessage();
}

Status Rank::load(const std::string &json) {
  COMMSCHED_TRY(checkNoRequest("commsched_load_program"));
  auto program = std::make_unique<Program>();
  COMMSCHED_TRY(parseProgram(json, *program));
  if (static_cast<int64_t>(program->sites.size()) > RequestTable::maxSites)
    return concat("program description: more than ", RequestTable::maxSites,
                  " sites");
  std::vector<Rows> rows(program->groups.size());
  for (size_t i = 0; i < rows.size(); ++i)
    COMMSCHED_TRY(
        expandGroup(program->groups[i], backend->getNumRanks(), rows[i]));
  if (!program->hostCode.empty())
    COMMSCHED_TRY(backend->checkHostCode(program->hostCode));
  COMMSCHED_TRY(checkSites(*program));
  Deadline deadline = getDeadline();
  COMMSCHED_TRY(comparePrograms(
      *program, rows,
      [&](const std::string &mine, std::vector<std::string> &all) {
        return backend->exchange(mine, all, deadline);
      }));
  COMMSCHED_TRY(makeGroups(*program, rows));
  COMMSCHED_TRY(prepareGroups(*program));
  requests.startProgram();
  programs.push_back(std::move(program));
  return Status();
}

Status Rank::checkSites(const Program &program) const {
  for (const Site &site : program.sites) {
    COMMSCHED_TRY(within(describeSite(site), backend->checkSite(site)));
    if (isTransfer(site.kind) || !program.groups[site.group].implementation)
      continue;
    const GroupDescription &group = program.groups[site.group];
    if (Status status =
            backend->checkImplementation(*group.implementation, site);
        !status)
      return describeSite(site) + ": implementation '" +
             group.implementation->name + "' of group '" + group.name + "' " +
             status.getMessage();
  }
  return Status();
}

/// The name of the group's stream among the groups of the same ranks: that of
/// its implementation, and "nccl" without one.
static std::string
getStreamName(const std::optional<Implementation> &implementation) {
  return implementation ? implementation->stream : "nccl";
}

Status Rank::makeGroups(const Program &program, const std::vector<Rows> &rows) {
  Deadline deadline = getDeadline();
  groups.clear();
  for (size_t i = 0; i < rows.size(); ++i) {
    const GroupDescription &description = program.groups[i];
    auto index = static_cast<int32_t>(madeGroups.size());
    int32_t stream = index;
    MadeGroup *same = nullptr;
    for (MadeGroup &other : madeGroups) {
      const Group &group = other.group;
      if (group.name != description.name || other.rows != rows[i])
        continue;
      if (group.implementation == description.implementation)
        same = &other;
      if (getStreamName(group.implementation) ==
          getStreamName(description.implementation))
        stream = std::min(stream, group.index);
    }
    if (same) {
      groups.push_back(same);
      continue;
    }
    MadeGroup &made = madeGroups.emplace_back();
    made.rows = rows[i];
    made.group.index = index;
    made.group.stream = stream;
    made.group.name = description.name;
    made.group.implementation = description.implementation;
    int32_t rank = backend->getRank();
    for (const std::vector<int32_t> &row : rows[i]) {
      auto place = std::find(row.begin(), row.end(), rank);
      if (place == row.end())
        continue;
      made.group.members = row;
      made.group.rank = static_cast<int32_t>(place - row.begin());
    }
    COMMSCHED_TRY(within("group " + quoteGroup(made.group),
                         backend->createGroup(made.group, deadline)));
    groups.push_back(&made);
  }
  return Status();
}

Status Rank::prepareGroups(const Program &program) {
  Deadline deadline = getDeadline();
  std::vector<std::vector<const Site *>> sites(groups.size());
  for (const Site &site : program.sites)
    if (!isTransfer(site.kind))
      sites[site.group].push_back(&site);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Group &group = groups[i]->group;
    if (!group.implementation)
      continue;
    COMMSCHED_TRY(within("group " + quoteGroup(group),
                         backend->prepareGroup(group, sites[i], deadline)));
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Calls of a program
//===----------------------------------------------------------------------===//

Status Rank::findSite(int32_t index, const Site *&site) const {
  if (programs.empty())
    return "no program has been loaded";
  const std::vector<Site> &sites = programs.back()->sites;
  if (index < 0 || index >= static_cast<int32_t>(sites.size()))
    return concat("site ", index, " does not exist: the program has ",
                  sites.size());
  site = &sites[index];
  return Status();
}

Status Rank::findUnevenSite(int32_t index, const Site *&site,
                            int64_t &numRanks) const {
  COMMSCHED_TRY(findSite(index, site));
  if (!site->hasSplitValues())
    return describeSite(*site) + " has no splits that are values";
  numRanks = programs.back()->groups[site->group].size;
  return Status();
}

Status Rank::start(const Site &site, const void *const *inputs,
                   void *const *outputs,
                   std::shared_ptr<const std::vector<Tensor>> tensors,
                   int64_t &request) {
  MadeGroup &made = isTransfer(site.kind)
                        ? transfers[site.kind == COMMSCHED_RELOAD]
                        : *groups[site.group];
  if (made.group.rank < 0)
    return concat(describeSite(site), ": rank ", backend->getRank(),
                  " is in no row of group ", quoteGroup(made.group));
  Launch launch;
  launch.site = &site;
  launch.group = &made.group;
  launch.ownTensors = std::move(tensors);
  for (size_t i = 0; i < site.tensors.size(); ++i) {
    launch.inputs.push_back(inputs ? inputs[i] : nullptr);
    launch.outputs.push_back(outputs ? outputs[i] : nullptr);
  }
  COMMSCHED_TRY(checkLaunch(launch));
  launch.sequence = isPointToPoint(site.kind) ? made.numPointToPoint++
                                              : made.numCollectives++;
  launch.record = flightRecord.add(launch);
  count("starts", 1);
  Status started;
  std::unique_ptr<Request> startedRequest = backend->start(launch, started);
  if (!startedRequest)
    return started;
  startedRequest->launch = std::move(launch);
  request = requests.add(std::move(startedRequest));
  return Status();
}

Request *Rank::findRequest(int64_t number, Status &found) {
  static const std::vector<Site> none;
  return requests.find(number, programs.empty() ? none : programs.back()->sites,
                       found);
}

Status Rank::wait(int64_t number) {
  Status found;
  Request *request = findRequest(number, found);
  if (!request)
    return found;
  COMMSCHED_TRY(backend->wait(*request, getDeadline()));
  flightRecord.setRetired(request->launch.record);
  requests.remove(number);
  return Status();
}

Status Rank::compute(int32_t index, int64_t ns, const void *const *inputs,
                     void *const *outputs) {
  if (programs.empty())
    return "no program has been loaded";
  const std::vector<Operator> &operators = programs.back()->operators;
  if (index < 0 || index >= static_cast<int32_t>(operators.size()))
    return concat("operator ", index, " does not exist: the program has ",
                  operators.size());
  const Operator &op = operators[index];
  if (ns < 0)
    return concat("operator '", op.name, "' takes ", ns, " ns");
  auto check = [&](const std::vector<OperatorBuffer> &buffers,
                   const void *const *pointers, const char *what) {
    for (size_t i = 0; i < buffers.size() && options.emulate_data; ++i)
      if (buffers[i].elements > 0 && (!pointers || !pointers[i]))
        return Status(
            concat("operator '", op.name, "': ", what, " ", i, " is null"));
    return Status();
  };
  COMMSCHED_TRY(check(op.inputs, inputs, "input"));
  COMMSCHED_TRY(check(op.outputs, outputs, "output"));
  return backend->compute(op, ns, inputs, outputs);
}
