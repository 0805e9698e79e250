//===- Rank.h - State and calls of a rank -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of one rank: its backend, programs, requests, buffers and records,
// and its first error. The functions of the C interface in Runtime.cpp work on
// it. Methods return their error; `fail` makes it permanent.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_RANK_H
#define COMMSCHED_RUNTIME_CORE_RANK_H

#include "CommSched/Runtime/Backend.h"
#include "Core/Program.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

namespace commsched::runtime {

/// Keeps freed blocks and hands them out again: a backend's own allocation may
/// be slow or wait for the device. A freed block may be given out at once,
/// since programs release buffers in the order of the compute stream.
class Arena {
public:
  /// With `isHost`, of memory of the host.
  explicit Arena(Backend &backend, bool isHost = false)
      : backend(backend), isHost(isHost) {}
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena() { releaseAll(); }

  /// Null and an error when `bytes` is negative, `alignment` no power of two,
  /// or there is no memory left even after giving back what is cached. Zero
  /// bytes give a block, too.
  void *allocate(int64_t bytes, int64_t alignment, Status &status);
  /// An error when the block is not one of this arena's live ones.
  Status release(void *block);
  /// Whether the block is one of this arena's live ones.
  bool owns(void *block) const { return live.count(block) != 0; }

  /// The bytes that callers requested.
  int64_t getLiveBytes() const { return liveBytes; }
  int64_t getPeakBytes() const { return peakBytes; }
  void resetPeak() { peakBytes = liveBytes; }

  /// Gives everything back to the backend, live blocks included.
  void releaseAll();

  /// Blocks are of these sizes only: at most a quarter larger than asked for.
  static int64_t roundUp(int64_t bytes);

private:
  /// Bytes of a block, and its alignment.
  using Class = std::pair<int64_t, int64_t>;
  struct Block {
    Class sizeClass;
    int64_t bytes = 0;
  };

  void *allocateBlock(Class sizeClass, Status &status);
  void releaseCached();

  Backend &backend;
  bool isHost;
  std::unordered_map<void *, Block> live;
  std::map<Class, std::vector<void *>> cached;
  int64_t liveBytes = 0;
  int64_t peakBytes = 0;
};

/// The fields of a flight record besides the launches.
struct FlightRecordHeader {
  std::string backend;
  int32_t rank = 0;
  int32_t numRanks = 0;
  int64_t deadlineMs = 0;
  std::string error;
};

/// The flight record is a ring of the last launches and their states. It is
/// written as JSON with the fields of PyTorch's flight recorder, so that its
/// analysers read it; the sequence numbers show which launches one rank has
/// started and another has not.
class FlightRecord {
public:
  explicit FlightRecord(int64_t capacity = 2000) : capacity(capacity) {}

  /// Adds the launch as scheduled and returns its number. Its site and group
  /// are copied only when the record is written, and must live until then.
  int64_t add(const Launch &launch);
  void setStarted(int64_t record);
  void setCompleted(int64_t record);
  /// The launch has been waited for.
  void setRetired(int64_t record);

  /// The record as JSON, oldest launch first.
  std::string toJson(const FlightRecordHeader &header) const;

private:
  struct Entry {
    const Site *site = nullptr;
    const Group *group = nullptr;
    /// Of the launch, if it has its own.
    std::shared_ptr<const std::vector<Tensor>> tensors;
    int64_t sequence = 0;
    int64_t createdNs = 0;
    /// 0: not yet.
    int64_t startedNs = 0;
    int64_t completedNs = 0;
    bool retired = false;
  };

  /// Null when a later launch has taken the place.
  Entry *find(int64_t record);

  int64_t capacity;
  int64_t count = 0;
  std::vector<Entry> entries;
};

/// Writes `text` into `path`, in which "%r" stands for the rank.
Status writeFlightRecord(const std::string &path, int32_t rank,
                         const std::string &text);

/// The intervals of one step, sorted for the host. Intervals outside of a step
/// are dropped.
class StepRecords {
public:
  void begin() {
    records.clear();
    running = true;
  }
  void add(commsched_record_kind kind, int32_t index, Interval interval) {
    if (running)
      records.push_back({kind, index, interval.beginNs, interval.endNs});
  }
  /// Sorts by the beginnings; records that begin together stay in the order in
  /// which they came.
  void end() {
    running = false;
    std::stable_sort(
        records.begin(), records.end(),
        [](const auto &a, const auto &b) { return a.begin_ns < b.begin_ns; });
  }
  bool isRunning() const { return running; }
  const std::vector<commsched_record> &get() const { return records; }

private:
  std::vector<commsched_record> records;
  bool running = false;
};

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
  const Launch *getOldest() const {
    return inFlight.empty() ? nullptr : &inFlight.begin()->second->launch;
  }

private:
  /// By serial number, which is the number without its site.
  std::map<int64_t, std::unique_ptr<Request>> inFlight;
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

/// A group of the backend; programs share those with equal names, rows and
/// implementations.
struct MadeGroup {
  Group group;
  Rows rows;
  /// How many collectives, and how many sends and receives, were launched.
  int64_t numCollectives = 0;
  int64_t numPointToPoint = 0;
};

/// One rank. It is used by one thread.
struct Rank final : Recorder {
  Rank() = default;
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;
  /// Notifies the other ranks if this one never left.
  ~Rank() override;

  /// Makes the backend and meets all ranks.
  Status join(const commsched_options &options);
  /// Meets all ranks, unless this one has failed, and leaves.
  void leave();

  /// Keeps the first error, notifies the other ranks and writes the flight
  /// record.
  void fail(const std::string &text);
  bool hasFailed() const { return !status; }

  Status load(const std::string &json);
  /// An error if a launch has not been waited for where `call` is made.
  Status checkNoRequest(const char *call) const;
  /// The site of the index in the program that runs.
  Status findSite(int32_t index, const Site *&site) const;
  /// Checks the launch and starts it. `tensors` are those of a launch that has
  /// its own.
  Status start(const Site &site, const void *const *inputs,
               void *const *outputs,
               std::shared_ptr<const std::vector<Tensor>> tensors,
               int64_t &request);
  /// The same for a site whose splits are values.
  Status startUneven(int32_t index, const void *const *inputs,
                     void *const *outputs, const RowSplits &input,
                     const RowSplits &output, int64_t &request);
  /// As commsched_read_splits, with the sum in `rows`; `side` is "input" or
  /// "output".
  Status readSplits(int32_t index, const char *side, const void *buffer,
                    int64_t *splits, int32_t numSplits, int64_t &rows);
  Request *findRequest(int64_t number, Status &found);
  Status wait(int64_t request);
  /// Waits for a request that is held, and hands it over in `taken`.
  Status resume(int64_t number, int32_t numReceived, HeldRequest &taken);
  Status compute(int32_t index, int64_t ns, const void *const *inputs,
                 void *const *outputs);
  /// Types as commsched_copy has them.
  Status copy(StridedCopy copy, int32_t targetType, int32_t sourceType);

  /// A deadline for a call that begins now.
  Deadline getDeadline() const;
  void count(const char *name, int64_t amount) { counters[name] += amount; }

  void record(commsched_record_kind kind, int32_t index,
              Interval interval) override {
    records.add(kind, index, interval);
  }
  void setStarted(const Launch &launch) override {
    flightRecord.setStarted(launch.record);
  }
  void setCompleted(const Launch &launch) override {
    flightRecord.setCompleted(launch.record);
  }
  void addStagedBytes(int64_t bytes) override { count("staged_bytes", bytes); }

  /// The strings that `options` points to.
  std::string backendName, job, flightRecordPath;
  commsched_options options = {};
  /// These three are null before `join`.
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Arena> arena, hostArena;
  /// The first error, if it has failed.
  Status status;
  /// All that were loaded, since launches of the past refer to them; the last
  /// one runs.
  std::vector<std::unique_ptr<Program>> programs;
  std::deque<MadeGroup> madeGroups;
  /// Those of the program that runs.
  std::vector<MadeGroup *> groups;
  /// The streams of offloads and reloads.
  MadeGroup transfers[2];
  RequestTable requests;
  /// By number, which is positive and never given again.
  std::unordered_map<int64_t, HeldRequest> held;
  int64_t lastHeld = 0;
  FlightRecord flightRecord;
  StepRecords records;
  std::map<std::string, int64_t> counters;

private:
  /// Whether the backend can carry out the program.
  Status checkSites(const Program &program) const;
  Status makeGroups(const Program &program, const std::vector<Rows> &rows);
  Status prepareGroups(const Program &program);
  Status findUnevenSite(int32_t index, const Site *&site,
                        int64_t &numRanks) const;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_RANK_H
