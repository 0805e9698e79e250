//===- Rank.h - State and calls of a rank -----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of one rank: its backend, programs, requests, buffers and records,
// and its first error. Each function of the C interface is a method of `Rank`.
// Methods return their error; `fail` makes it permanent.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_RANK_H
#define COMMSCHED_RUNTIME_CORE_RANK_H

#include "CommSched/Runtime/Backend.h"
#include "Core/Arena.h"
#include "Core/Program.h"
#include "Core/Records.h"
#include "Core/Sites.h"

#include <deque>
#include <map>
#include <unordered_map>

namespace commsched::runtime {

/// Assigns the numbers by which programs refer to launches. A number is never
/// used twice and contains its site, so that the error of a second wait for a
/// request names the site.
class RequestTable {
public:
  /// A request cannot distinguish more sites than this.
  static constexpr int64_t maxSites = int64_t(1) << 24;

  /// Takes the request over; its number is positive.
  int64_t add(std::unique_ptr<Request> request);

  /// The request, or null and why there is none. `sites` are those of the
  /// program that runs.
  Request *find(int64_t number, const std::vector<Site> &sites,
                Status &status) const;

  void remove(int64_t number) { inFlight.erase(number / maxSites); }
  void clear() { inFlight.clear(); }

  /// From now on numbers that were given before are of another program.
  void startProgram() { firstSerial = lastSerial + 1; }

  size_t size() const { return inFlight.size(); }
  /// The oldest launch in flight; null if there is none.
  const Launch *getOldest() const;

private:
  /// By serial number, which is the number without its site.
  std::unordered_map<int64_t, std::unique_ptr<Request>> inFlight;
  int64_t lastSerial = 0;
  int64_t firstSerial = 1;
};

/// A request that one function starts and another one waits for, with the
/// buffers that must live until then.
struct HeldRequest {
  /// 0 for a start that failed.
  int64_t request = 0;
  /// Released once the request has ended.
  std::vector<void *> sent;
  /// Handed to whoever waits.
  std::vector<void *> received;
};

/// One rank. It is used by one thread.
class Rank final : public Recorder {
public:
  Rank() = default;
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;
  /// Notifies the other ranks if this one never left.
  ~Rank() override;

  /// Makes the backend and meets all ranks.
  Status join(const commsched_options &options);
  /// Meets all ranks, unless this one has failed, and leaves.
  void leave();
  bool hasLeft() const { return !backend; }

  /// Keeps the first error, notifies the other ranks and writes the flight
  /// record.
  void fail(const std::string &text);
  bool hasFailed() const { return !status; }
  /// The first error, if it has failed.
  const Status &getStatus() const { return status; }

  Status load(const std::string &json);

  Status start(int32_t site, const void *const *inputs, void *const *outputs,
               int64_t &request);
  /// Starts a site with splits that are values.
  Status startUneven(int32_t site, const void *const *inputs,
                     void *const *outputs, const RowSplits &inputSplits,
                     const RowSplits &outputSplits, int64_t &request);
  /// Reads the splits of one side of a launch of `site` from `buffer`, and adds
  /// them up.
  Status readSplits(int32_t site, const char *side, const void *buffer,
                    int64_t *splits, int32_t numSplits, int64_t &rows);
  Status test(int64_t request, bool &done);
  Status wait(int64_t request);
  /// Returns a number for `resume`, which is positive and never given again.
  int64_t hold(HeldRequest request);
  /// Waits for a request, which fills so many buffers, and takes it out; after
  /// an error it only does the latter.
  Status resume(int64_t number, int32_t numReceived, HeldRequest &request);
  Status barrier(int32_t site);
  Status account(int32_t index, int64_t ns);
  Status compute(int32_t index, int64_t ns, const void *const *inputs,
                 void *const *outputs);
  Status copy(const StridedCopy &copy);

  Status beginStep();
  Status endStep(int64_t &ns);
  Status exchange(const std::string &mine, std::vector<std::string> &all);

  /// A rank of the group, or -1.
  int32_t getGroupRank(int32_t group) const;
  /// Null before `join`.
  Backend *getBackend() { return backend.get(); }
  Arena *getArena() { return arena.get(); }
  Arena *getHostArena() { return hostArena.get(); }
  const std::string &getBackendName() const { return backendName; }
  const StepRecords &getRecords() const { return records; }
  int64_t getCounter(const std::string &name) const;
  void count(const char *name, int64_t amount) { counters[name] += amount; }
  /// A deadline for a call that begins now.
  Deadline getDeadline() const;

  void record(commsched_record_kind kind, int32_t index,
              Interval interval) override;
  void setStarted(const Launch &launch) override;
  void setCompleted(const Launch &launch) override;
  void addStagedBytes(int64_t bytes) override;

private:
  /// A group of the backend; programs share those with equal names, rows and
  /// implementations.
  struct MadeGroup {
    Group group;
    Rows rows;
    /// How many collectives, and how many sends and receives, were launched.
    int64_t numCollectives = 0;
    int64_t numPointToPoint = 0;
  };

  /// Whether the backend can carry out the program.
  Status checkSites(const Program &program) const;
  Status makeGroups(const Program &program, const std::vector<Rows> &rows);
  Status prepareGroups(const Program &program);
  /// The site of the index in the program that runs.
  Status findSite(int32_t index, const Site *&site) const;
  Request *findRequest(int64_t number, Status &found);
  Status checkNoRequest(const char *call) const;
  /// `tensors` are those of a launch that has its own.
  Status makeLaunch(const Site &site, const void *const *inputs,
                    void *const *outputs,
                    std::shared_ptr<const std::vector<Tensor>> tensors,
                    Launch &launch);
  /// The group, or the stream of transfers, of the site's launches.
  MadeGroup &getGroup(const Site &site);
  Status startLaunch(Launch launch, int64_t &request);

  /// The strings that `options` points to.
  std::string backendName, job, flightRecordPath;
  commsched_options options = {};
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Arena> arena, hostArena;
  Status status;

  /// All that were loaded, since launches of the past refer to them; the last
  /// one runs.
  std::vector<std::unique_ptr<Program>> programs;
  std::deque<MadeGroup> madeGroups;
  /// Those of the program that runs.
  std::vector<MadeGroup *> groups;
  /// The streams of transfers.
  MadeGroup d2h, h2d;

  RequestTable requests;
  /// By number.
  std::unordered_map<int64_t, HeldRequest> held;
  int64_t lastHeld = 0;
  FlightRecord flightRecord;
  StepRecords records;
  std::map<std::string, int64_t> counters;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_RANK_H
