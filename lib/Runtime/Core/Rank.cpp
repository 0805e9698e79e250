//===- Rank.cpp - State and calls of a rank -------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Rank.h"

#include "Core/BackendLoader.h"
#include "Core/ProgramComparison.h"
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
    status = "there is no request " + std::to_string(number);
  return nullptr;
}

const Launch *RequestTable::getOldest() const {
  const Launch *oldest = nullptr;
  int64_t oldestSerial = lastSerial + 1;
  for (const auto &[serial, request] : inFlight) {
    if (serial < oldestSerial) {
      oldestSerial = serial;
      oldest = &request->launch;
    }
  }
  return oldest;
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
  return "modelled_times=" + std::to_string(options.modelled_times != 0) +
         " emulate_data=" + std::to_string(options.emulate_data);
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
    return "a deadline of " + std::to_string(options.deadline_ms) +
           " ms is not in [1, " + std::to_string(mostMs) + "]";

  BackendConfig config;
  config.options = &options;
  config.recorder = this;
  config.deadline = getDeadline();
  Status created;
  backend = createBackend(backendName, config, created);
  if (!backend)
    return created;
  arena = std::make_unique<Arena>(*backend);
  hostArena = std::make_unique<Arena>(*backend, /*isHost=*/true);
  d2h.group = {
      Group::d2hIndex, Group::d2hIndex, "d2h", {backend->getRank()}, 0};
  h2d.group = {
      Group::h2dIndex, Group::h2dIndex, "h2d", {backend->getRank()}, 0};

  std::vector<std::string> all;
  COMMSCHED_TRY(
      backend->exchange(describeOptions(options), all, getDeadline()));
  for (size_t other = 1; other < all.size(); ++other)
    if (all[other] != all[0])
      return "ranks joined with different options: rank 0 with " + all[0] +
             ", but rank " + std::to_string(other) + " with " + all[other];
  return Status();
}

/// An error if a launch has not been waited for where `call` is made.
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
  FlightRecordHeader header;
  header.backend = backendName;
  header.rank = backend ? backend->getRank() : options.rank;
  header.numRanks = backend ? backend->getNumRanks() : options.num_ranks;
  header.deadlineMs = options.deadline_ms;
  header.error = text;
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
    return "program description: more than " +
           std::to_string(RequestTable::maxSites) + " sites";
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
    if (Status status = backend->checkSite(site); !status)
      return describeSite(site) + ": " + status.getMessage();
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
    if (Status status = backend->createGroup(made.group, deadline); !status)
      return "group " + quoteGroup(made.group) + ": " + status.getMessage();
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
    if (Status status = backend->prepareGroup(group, sites[i], deadline);
        !status)
      return "group " + quoteGroup(group) + ": " + status.getMessage();
  }
  return Status();
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

//===----------------------------------------------------------------------===//
// Calls of a program
//===----------------------------------------------------------------------===//

Status Rank::findSite(int32_t index, const Site *&site) const {
  if (programs.empty())
    return std::string("no program has been loaded");
  const Program &program = *programs.back();
  if (index < 0 || index >= static_cast<int32_t>(program.sites.size()))
    return "site " + std::to_string(index) +
           " does not exist: the program has " +
           std::to_string(program.sites.size());
  site = &program.sites[index];
  return Status();
}

Rank::MadeGroup &Rank::getGroup(const Site &site) {
  if (site.kind == COMMSCHED_OFFLOAD)
    return d2h;
  return site.kind == COMMSCHED_RELOAD ? h2d : *groups[site.group];
}

Status Rank::makeLaunch(const Site &site, const void *const *inputs,
                        void *const *outputs,
                        std::shared_ptr<const std::vector<Tensor>> tensors,
                        Launch &launch) {
  MadeGroup &made = getGroup(site);
  if (made.group.rank < 0)
    return describeSite(site) + ": rank " + std::to_string(backend->getRank()) +
           " is in no row of group " + quoteGroup(made.group);
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
  return Status();
}

Status Rank::startLaunch(Launch launch, int64_t &request) {
  count("starts", 1);
  Status started;
  std::unique_ptr<Request> made = backend->start(launch, started);
  if (!made)
    return started;
  made->launch = std::move(launch);
  request = requests.add(std::move(made));
  return Status();
}

Status Rank::start(int32_t index, const void *const *inputs,
                   void *const *outputs, int64_t &request) {
  const Site *site = nullptr;
  COMMSCHED_TRY(findSite(index, site));
  if (site->kind == COMMSCHED_BARRIER)
    return describeSite(*site) + " is started by commsched_barrier only";
  if (site->hasSplitValues())
    return describeSite(*site) + " is started by commsched_start_uneven only";
  Launch launch;
  COMMSCHED_TRY(makeLaunch(*site, inputs, outputs, nullptr, launch));
  return startLaunch(std::move(launch), request);
}

/// An error if all splits of the site are in the description.
static Status checkSplitValues(const Site &site) {
  return site.hasSplitValues()
             ? Status()
             : Status(describeSite(site) + " has no splits that are values");
}

Status Rank::startUneven(int32_t index, const void *const *inputs,
                         void *const *outputs, const RowSplits &inputSplits,
                         const RowSplits &outputSplits, int64_t &request) {
  const Site *site = nullptr;
  COMMSCHED_TRY(findSite(index, site));
  COMMSCHED_TRY(checkSplitValues(*site));
  auto tensors = std::make_shared<std::vector<Tensor>>();
  int64_t ranks = programs.back()->groups[site->group].size;
  if (Status status =
          resolveTensors(*site, ranks, inputSplits, outputSplits, *tensors);
      !status)
    return describeSite(*site) + ": " + status.getMessage();
  Launch launch;
  COMMSCHED_TRY(makeLaunch(*site, inputs, outputs, std::move(tensors), launch));
  return startLaunch(std::move(launch), request);
}

Status Rank::readSplits(int32_t index, const char *side, const void *buffer,
                        int64_t *splits, int32_t numSplits, int64_t &rows) {
  // After an error only programs on the processor need the numbers.
  if (!backend || (hasFailed() && !backend->checkHostCode("")))
    return Status();
  const Site *site = nullptr;
  COMMSCHED_TRY(findSite(index, site));
  COMMSCHED_TRY(checkSplitValues(*site));
  int64_t ranks = programs.back()->groups[site->group].size;
  if (ranks != numSplits)
    return describeSite(*site) + " has splits for " + std::to_string(ranks) +
           " ranks, not " + std::to_string(numSplits);
  std::vector<int64_t> read(ranks);
  COMMSCHED_TRY(backend->read(read.data(), buffer,
                              ranks * static_cast<int64_t>(sizeof(int64_t))));
  Status added = addSplits(side, read.data(), ranks, rows);
  if (!added) {
    for (int64_t &split : read)
      split = std::max<int64_t>(split, 0);
    // Without those that are negative they may be usable.
    if (!addSplits(side, read.data(), ranks, rows)) {
      rows = 0;
      std::fill(read.begin(), read.end(), 0);
    }
  }
  std::copy(read.begin(), read.end(), splits);
  return added ? added : describeSite(*site) + ": " + added.getMessage();
}

Request *Rank::findRequest(int64_t number, Status &found) {
  static const std::vector<Site> none;
  return requests.find(number, programs.empty() ? none : programs.back()->sites,
                       found);
}

Status Rank::test(int64_t number, bool &done) {
  Status found;
  if (Request *request = findRequest(number, found))
    done = backend->test(*request, found);
  return found;
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

int64_t Rank::hold(HeldRequest request) {
  held.emplace(++lastHeld, std::move(request));
  return lastHeld;
}

Status Rank::resume(int64_t number, int32_t numReceived, HeldRequest &request) {
  auto entry = held.find(number);
  if (entry == held.end())
    return "no request is held as number " + std::to_string(number) +
           ", or it has been resumed before";
  request = std::move(entry->second);
  held.erase(entry);
  if (request.received.size() != static_cast<size_t>(numReceived))
    return "a request that fills " + std::to_string(request.received.size()) +
           " buffers is resumed for " + std::to_string(numReceived);
  return request.request == 0 || hasFailed() ? Status() : wait(request.request);
}

Status Rank::barrier(int32_t index) {
  const Site *site = nullptr;
  COMMSCHED_TRY(findSite(index, site));
  if (site->kind != COMMSCHED_BARRIER)
    return describeSite(*site) + " is no barrier";
  Launch launch;
  int64_t request = 0;
  COMMSCHED_TRY(makeLaunch(*site, nullptr, nullptr, nullptr, launch));
  COMMSCHED_TRY(startLaunch(std::move(launch), request));
  return wait(request);
}

Status Rank::compute(int32_t index, int64_t ns, const void *const *inputs,
                     void *const *outputs) {
  if (programs.empty())
    return std::string("no program has been loaded");
  const Program &program = *programs.back();
  if (index < 0 || index >= static_cast<int32_t>(program.operators.size()))
    return "operator " + std::to_string(index) +
           " does not exist: the program has " +
           std::to_string(program.operators.size());
  const Operator &op = program.operators[index];
  if (ns < 0)
    return "operator '" + op.name + "' takes " + std::to_string(ns) + " ns";
  auto check = [&](const std::vector<OperatorBuffer> &buffers,
                   const void *const *pointers, const char *what) {
    for (size_t i = 0; i < buffers.size() && options.emulate_data; ++i)
      if (buffers[i].elements > 0 && (!pointers || !pointers[i]))
        return Status("operator '" + op.name + "': " + what + " " +
                      std::to_string(i) + " is null");
    return Status();
  };
  COMMSCHED_TRY(check(op.inputs, inputs, "input"));
  COMMSCHED_TRY(check(op.outputs, outputs, "output"));
  return backend->compute(op, ns, inputs, outputs);
}

Status Rank::account(int32_t index, int64_t ns) {
  // The operator has no buffers, so that there is nothing to make up.
  return options.modelled_times ? compute(index, ns, nullptr, nullptr)
                                : Status();
}

Status Rank::copy(const StridedCopy &copy) {
  if (copy.rows < 0 || copy.rowElements < 0)
    return "cannot copy " + std::to_string(copy.rows) + " rows of " +
           std::to_string(copy.rowElements) + " elements";
  int64_t elements = copy.rows * copy.rowElements;
  if (elements > 0 && (!copy.target || !copy.source))
    return std::string("cannot copy: the ") +
           (copy.target ? "source" : "target") + " is null";
  if (copy.targetType && copy.sourceType)
    COMMSCHED_TRY(checkConversion(*copy.targetType, *copy.sourceType));
  count("copies", 1);
  count("copied_bytes",
        elements * (copy.targetType ? getByteSize(*copy.targetType) : 1));
  return backend->copy(copy);
}

Status Rank::beginStep() {
  COMMSCHED_TRY(checkNoRequest("commsched_begin_step"));
  std::vector<std::string> all;
  COMMSCHED_TRY(backend->exchange("", all, getDeadline()));
  records.begin();
  return backend->beginStep();
}

Status Rank::endStep(int64_t &ns) {
  if (!records.isRunning())
    return std::string("commsched_end_step without commsched_begin_step");
  Status ended = backend->endStep(ns, getDeadline());
  records.end();
  return ended;
}

Status Rank::exchange(const std::string &mine, std::vector<std::string> &all) {
  return backend->exchange(mine, all, getDeadline());
}
