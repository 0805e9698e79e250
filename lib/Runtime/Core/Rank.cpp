//===- Rank.cpp - State and calls of a rank -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Rank.h"

#include "Core/Launcher.h"
#include "Numerics/ElementTypes.h"

#include <algorithm>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static constexpr int64_t leastBytes = 64;
/// Larger requests are mistakes, and could not be rounded up.
static constexpr int64_t mostBytes = int64_t(1) << 60;

int64_t Arena::roundUp(int64_t bytes) {
  if (bytes <= leastBytes)
    return leastBytes;
  // Four sizes for each power of two, multiples of 64 bytes.
  int64_t power = leastBytes;
  while (power * 2 < bytes)
    power *= 2;
  int64_t step = std::max(power / 4, leastBytes);
  return (bytes + step - 1) / step * step;
}

void *Arena::allocateBlock(Class sizeClass, Status &status) {
  auto [bytes, alignment] = sizeClass;
  return isHost ? backend.allocateHost(bytes, alignment, status)
                : backend.allocate(bytes, alignment, status);
}

void *Arena::allocate(int64_t bytes, int64_t alignment, Status &status) {
  if (bytes < 0 || bytes > mostBytes) {
    status = concat("cannot allocate ", bytes, " bytes");
    return nullptr;
  }
  if (alignment < 0 || (alignment & (alignment - 1)) != 0) {
    status = concat("an alignment of ", alignment, " is no power of two");
    return nullptr;
  }
  Class sizeClass(roundUp(bytes), std::max(alignment, leastBytes));
  void *pointer = nullptr;
  std::vector<void *> &blocks = cached[sizeClass];
  if (!blocks.empty()) {
    pointer = blocks.back();
    blocks.pop_back();
  } else {
    pointer = allocateBlock(sizeClass, status);
    if (!pointer) {
      // Cached blocks of other sizes may make room.
      releaseCached();
      status = Status();
      pointer = allocateBlock(sizeClass, status);
    }
    if (!pointer) {
      status = concat("cannot allocate ", bytes, " bytes",
                      isHost ? " of host memory" : "", " with ", liveBytes,
                      " in use", status ? "" : ": " + status.getMessage());
      return nullptr;
    }
  }
  live[pointer] = {sizeClass, bytes};
  liveBytes += bytes;
  peakBytes = std::max(peakBytes, liveBytes);
  return pointer;
}

Status Arena::release(void *block) {
  auto found = live.find(block);
  if (found == live.end())
    return "released a buffer that is not allocated";
  liveBytes -= found->second.bytes;
  cached[found->second.sizeClass].push_back(block);
  live.erase(found);
  return Status();
}

void Arena::releaseCached() {
  for (auto &[sizeClass, blocks] : cached) {
    for (void *block : blocks)
      backend.release(block);
    blocks.clear();
  }
}

void Arena::releaseAll() {
  releaseCached();
  for (const auto &[block, info] : live)
    backend.release(block);
  live.clear();
  liveBytes = 0;
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

  // The options that must be equal on all ranks.
  std::string mine = concat("modelled_times=", options.modelled_times != 0,
                            " emulate_data=", options.emulate_data);
  std::vector<std::string> all;
  COMMSCHED_TRY(backend->exchange(mine, all, getDeadline()));
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

Status Rank::startUneven(int32_t index, const void *const *inputs,
                         void *const *outputs, const RowSplits &input,
                         const RowSplits &output, int64_t &request) {
  const Site *site = nullptr;
  int64_t ranks = 0;
  COMMSCHED_TRY(findUnevenSite(index, site, ranks));
  auto tensors = std::make_shared<std::vector<Tensor>>();
  Status status = resolveTensors(*site, ranks, input, output, *tensors);
  return status ? start(*site, inputs, outputs, std::move(tensors), request)
                : within(describeSite(*site), status);
}

Status Rank::readSplits(int32_t index, const char *side, const void *buffer,
                        int64_t *splits, int32_t numSplits, int64_t &rows) {
  // After an error only programs on the processor need the numbers.
  if (!backend || (hasFailed() && !backend->checkHostCode("")))
    return Status();
  const Site *site = nullptr;
  int64_t ranks = 0;
  COMMSCHED_TRY(findUnevenSite(index, site, ranks));
  if (ranks != numSplits)
    return concat(describeSite(*site), " has splits for ", ranks,
                  " ranks, not ", numSplits);
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
  return added ? added : within(describeSite(*site), added);
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

Status Rank::resume(int64_t number, int32_t numReceived, HeldRequest &taken) {
  auto entry = held.find(number);
  if (entry == held.end())
    return concat("no request is held as number ", number,
                  ", or it has been resumed before");
  taken = std::move(entry->second);
  held.erase(entry);
  if (taken.received.size() != static_cast<size_t>(numReceived))
    return concat("a request that fills ", taken.received.size(),
                  " buffers is resumed for ", numReceived);
  return taken.request == 0 || hasFailed() ? Status() : wait(taken.request);
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

Status Rank::copy(StridedCopy copy, int32_t targetType, int32_t sourceType) {
  bool typed = targetType != -1 || sourceType != -1;
  for (int32_t type : {targetType, sourceType})
    if (typed && !isType(type))
      return concat("cannot copy: ", type, " is no type");
  if (copy.rows < 0 || copy.rowElements < 0)
    return concat("cannot copy ", copy.rows, " rows of ", copy.rowElements,
                  " elements");
  int64_t bytes = copy.rows * copy.rowElements;
  if (bytes > 0 && (!copy.target || !copy.source))
    return concat("cannot copy: the ", copy.target ? "source" : "target",
                  " is null");
  if (typed) {
    copy.targetType = static_cast<commsched_type>(targetType);
    copy.sourceType = static_cast<commsched_type>(sourceType);
    COMMSCHED_TRY(checkConversion(*copy.targetType, *copy.sourceType));
    bytes *= getByteSize(*copy.targetType);
  }
  count("copies", 1);
  count("copied_bytes", bytes);
  return backend->copy(copy);
}
