//===- Backend.h - Interface of the runtime's backends ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface between the runtime's core and its backends. The core parses
// programs, compares ranks, keeps errors, requests, the flight record and the
// records of a step; a backend moves data and makes time pass. One object is
// one rank, used by one thread. A backend other than "local" is a shared object
// that exports `commsched_create_backend`, with the C++ ABI of the core.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_BACKEND_H
#define COMMSCHED_RUNTIME_BACKEND_H

#include "CommSched/Runtime/Runtime.h"

#include <cassert>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace commsched::runtime {

/// The version of this interface: the core refuses backends of other versions.
inline constexpr int32_t backendVersion = 8;

/// The outcome of an operation: success, or a message that describes the
/// failure. True on success.
class Status {
public:
  /// Success.
  Status() = default;
  /// Failure; the constructors are implicit, so that functions return messages.
  Status(std::string message) : message(std::move(message)) {}
  Status(const char *message) : message(message) {}

  explicit operator bool() const { return !message; }
  /// Only of a failure.
  const std::string &getMessage() const {
    assert(message && "a success has no message");
    return *message;
  }

  friend bool operator==(const Status &a, const Status &b) {
    return a.message == b.message;
  }

private:
  std::optional<std::string> message;
};

/// The texts and numbers of a message, one after the other.
template <class... Parts> std::string concat(const Parts &...parts) {
  std::string text;
  auto add = [&text](const auto &part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
      text += std::to_string(part);
    else
      text += part;
  };
  (add(parts), ...);
  return text;
}

/// The status, with `where` in front of its message if it is a failure.
inline Status within(const std::string &where, const Status &status) {
  return status ? status : where + ": " + status.getMessage();
}

/// Ends the calling function with the failure of a Status, if it is one.
#define COMMSCHED_TRY(...)                                                     \
  do {                                                                         \
    if (commsched::runtime::Status tried = (__VA_ARGS__); !tried)              \
      return tried;                                                            \
  } while (false)

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// Whether a site of the kind moves data between a rank and its host, without
/// other ranks.
inline bool isTransfer(commsched_kind kind) {
  return kind == COMMSCHED_OFFLOAD || kind == COMMSCHED_RELOAD;
}

/// The type of one element; without a `type` it is only so many bytes.
struct ElementType {
  std::optional<commsched_type> type;
  int64_t bytes = 0;
  /// As in the program's description.
  std::string name;
};

/// The ways to carry out a collective.
enum class Method {
  /// Kernels of NCCL.
  Nccl,
  /// The copy engines of the GPUs, on memory that all ranks of the group see.
  CopyEngine,
  /// Kernels of NCCL on such memory.
  Symmetric
};

/// How the collectives of a group are carried out, where the program says so.
/// A backend with one way for all of them need not distinguish methods.
struct Implementation {
  /// As the target of the program calls it, "nccl-4".
  std::string name;
  Method method = Method::Nccl;
  /// The channels that `Method::Nccl` takes at most; 0: as many as NCCL likes.
  int32_t channels = 0;
  /// Collectives of the same ranks whose implementations have one stream are
  /// carried out one after the other.
  std::string stream;

  friend bool operator==(const Implementation &a, const Implementation &b) {
    return a.name == b.name && a.method == b.method &&
           a.channels == b.channels && a.stream == b.stream;
  }
};

/// A process group as this rank sees it. Groups live as long as the backend.
/// The launches of transfers have a group, too, of this rank alone, which
/// stands for their stream and which `createGroup` is not called for.
struct Group {
  /// Of the streams of transfers.
  static constexpr int32_t d2hIndex = -2;
  static constexpr int32_t h2dIndex = -1;

  /// Counts the groups of the backend. Programs that are loaded one after the
  /// other share groups with equal rows and implementations, so this need not
  /// be the index in a description.
  int32_t index = 0;
  /// The index of the first group with the same ranks and the same stream:
  /// their launches are carried out in the order of their starts.
  int32_t stream = 0;
  std::string name;
  /// The ranks of this rank's own row, in order; empty if it is in none.
  std::vector<int32_t> members;
  /// This rank's place in `members`, or -1.
  int32_t rank = -1;
  /// None: as the backend likes.
  std::optional<Implementation> implementation = std::nullopt;
};

/// One tensor of a launch: elements that one rank sends and receives.
struct Tensor {
  ElementType element;
  int64_t inputs = 0;
  int64_t outputs = 0;
  /// Only for an uneven all_to_all: elements for each rank of the group.
  std::vector<int64_t> inputSplits;
  std::vector<int64_t> outputSplits;
  /// Where splits are values, which count rows: the elements of a row.
  int64_t rowElements = 0;

  int64_t getInputBytes() const { return inputs * element.bytes; }
  int64_t getOutputBytes() const { return outputs * element.bytes; }
};

/// A collective or a transfer of the program.
struct Site {
  int32_t index = 0;
  /// Counts the collectives, and is the same on all ranks; -1 for a transfer.
  int32_t collective = 0;
  std::string name;
  std::string location;
  commsched_kind kind = COMMSCHED_BARRIER;
  /// -1 for a transfer.
  int32_t group = 0;
  std::optional<commsched_reduction> reduction;
  /// A rank of the group, or -1.
  int32_t peer = -1;
  int32_t tag = 0;
  /// Nanoseconds, or -1 when not known.
  int64_t runtimeNs = -1;
  /// Without the numbers of elements, and splits, of a side whose splits are
  /// values: each launch has its own.
  std::vector<Tensor> tensors;
  /// Of an all_to_all.
  bool inputSplitsAreValues = false;
  bool outputSplitsAreValues = false;
  std::vector<std::pair<int32_t, int32_t>> pairs;

  bool hasSplitValues() const {
    return inputSplitsAreValues || outputSplitsAreValues;
  }
};

/// One execution of a site.
struct Launch {
  const Site *site = nullptr;
  const Group *group = nullptr;
  /// Counts the collectives of this rank on this group from 0, and by itself
  /// its sends and receives; of transfers, those on the stream.
  int64_t sequence = 0;
  /// Its number in the flight record.
  int64_t record = 0;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  /// Those of the site with the splits of this launch, where they are values.
  std::shared_ptr<const std::vector<Tensor>> ownTensors;

  const std::vector<Tensor> &getTensors() const {
    return ownTensors ? *ownTensors : site->tensors;
  }
};

/// A launch in flight, owned by the core until its wait; backends derive from
/// it what they need to remember.
struct Request {
  virtual ~Request() = default;
  Launch launch;
};

/// An interval that a backend reports, in nanoseconds since `beginStep`.
struct Interval {
  int64_t beginNs = 0;
  int64_t endNs = 0;
};

/// Rows to copy, see commsched_copy.
struct StridedCopy {
  void *target = nullptr;
  const void *source = nullptr;
  /// None on both sides: elements are bytes.
  std::optional<commsched_type> targetType;
  std::optional<commsched_type> sourceType;
  int64_t targetStride = 0;
  int64_t sourceStride = 0;
  int64_t rows = 0;
  int64_t rowElements = 0;
};

/// An operand of an operator, for emulated data.
struct OperatorBuffer {
  ElementType element;
  int64_t elements = 0;
};

/// An operator that commsched_compute stands for.
struct Operator {
  int32_t index = 0;
  std::string name;
  std::string location;
  std::vector<OperatorBuffer> inputs;
  std::vector<OperatorBuffer> outputs;
};

/// Receives the intervals and states that a backend reports. They may come late
/// (GPU events), but before `endStep` returns.
class Recorder {
public:
  virtual ~Recorder() = default;
  virtual void record(commsched_record_kind kind, int32_t index,
                      Interval interval) = 0;
  /// The states of PyTorch's flight recorder for the launch.
  virtual void setStarted(const Launch &launch) = 0;
  virtual void setCompleted(const Launch &launch) = 0;
  /// Bytes that the backend copied for itself.
  virtual void addStagedBytes(int64_t bytes) = 0;
};

class Backend {
public:
  virtual ~Backend() = default;

  virtual int32_t getRank() const = 0;
  virtual int32_t getNumRanks() const = 0;

  /// Gathers the texts of all ranks, in their order. Collective. On expiry the
  /// error names the ranks that have not come.
  virtual Status exchange(const std::string &mine,
                          std::vector<std::string> &all, Deadline deadline) = 0;

  /// Notifies the other ranks that this one has failed, so that they stop
  /// waiting with an error that quotes `text`. Does not wait for them.
  virtual void fail(const std::string &text) = 0;

  /// An error if the backend cannot run `site`: "'nccl' has no type i16".
  virtual Status checkSite(const Site &site) const = 0;
  /// An error if the backend cannot carry out `site` by the implementation of
  /// its group. The message continues "implementation 'symmetric' of group
  /// 'dp' ": "has no barrier".
  virtual Status checkImplementation(const Implementation &,
                                     const Site &) const {
    return Status();
  }
  /// An error if a program with code on the processor cannot run here.
  virtual Status checkHostCode(const std::string &where) const = 0;

  /// Makes the communicator of a group. Called for all groups in one order on
  /// all ranks, also where `group` has no members here.
  virtual Status createGroup(const Group &group, Deadline deadline) = 0;
  /// Makes room for the collectives of a program on the group, `sites`. Called
  /// for all groups with an implementation, when those of the program are made,
  /// in one order on all ranks. Nothing is in flight.
  virtual Status prepareGroup(const Group &, const std::vector<const Site *> &,
                              Deadline) {
    return Status();
  }

  /// Starts a collective, be it a barrier, or a transfer, which does not wait
  /// for those of the other direction; null and an error if it cannot.
  virtual std::unique_ptr<Request> start(Launch launch, Status &status) = 0;
  /// Whether `wait` would not wait.
  virtual bool test(Request &request, Status &status) = 0;
  /// Makes compute wait for the request. On expiry of the deadline the error
  /// has the form of `describeTimeout`.
  virtual Status wait(Request &request, Deadline deadline) = 0;
  virtual Status poll() = 0;

  virtual Status compute(const Operator &op, int64_t ns,
                         const void *const *inputs, void *const *outputs) = 0;
  virtual Status copy(const StridedCopy &copy) = 0;
  virtual Status zero(void *target, int64_t bytes) = 0;

  /// `bytes` is positive; aligned to 64 bytes or `alignment`, whichever is
  /// more. Null on an error.
  virtual void *allocate(int64_t bytes, int64_t alignment, Status &status) = 0;
  virtual void release(void *buffer) = 0;
  /// The same for memory of the host, pinned where there is a device; released
  /// likewise.
  virtual void *allocateHost(int64_t bytes, int64_t alignment, Status &status) {
    return allocate(bytes, alignment, status);
  }
  virtual Status upload(void *buffer, const void *host, int64_t bytes) = 0;
  virtual Status download(void *host, const void *buffer, int64_t bytes) = 0;
  /// As download, within a program: waits for the compute stream, but not for
  /// collectives in flight.
  virtual Status read(void *host, const void *buffer, int64_t bytes) {
    return download(host, buffer, bytes);
  }

  /// The caller has met all ranks. Time starts.
  virtual Status beginStep() = 0;
  /// Waits until all streams are idle and hands over what is not yet recorded.
  virtual Status endStep(int64_t &stepNs, Deadline deadline) = 0;
  virtual Status synchronize(Deadline deadline) = 0;

  /// After an error, or when the rank leaves. Must not wait for ranks that may
  /// have failed when `failed`.
  virtual Status shutdown(bool failed, Deadline deadline) = 0;
};

/// The parameters of a backend's creation.
struct BackendConfig {
  int32_t version = backendVersion;
  const commsched_options *options = nullptr;
  Recorder *recorder = nullptr;
  Deadline deadline;
};

/// Ranks with what is known of each.
using RankStates = std::vector<std::pair<int32_t, std::string>>;

/// "timed out after 5000 ms in the wait for all_gather 'ag' (step.mlir:7:8) on
/// group 'dp', launch 3: rank 2 has not started it (its last: launch 2,
/// reduce_scatter 'rs'); rank 3 is gone".
COMMSCHED_RUNTIME_API std::string describeTimeout(const Launch &launch,
                                                  int64_t deadlineMs,
                                                  const RankStates &missing);

/// Numbers for the outputs of opaque operators that depend on their inputs, so
/// that two orders of the same program can be compared: a wrong input anywhere
/// spoils everything behind it.
///
/// Writes integers from 0 to 7 (an i1: 0 or 1; both parts of a complex number;
/// every byte of a type without a name), exact in every type, from a hash of
/// the operator's name and the bytes of all inputs. Of large inputs blocks are
/// sampled. An output may be the buffer of an input.
COMMSCHED_RUNTIME_API void emulateData(const Operator &op,
                                       const void *const *inputs,
                                       void *const *outputs);

} // namespace commsched::runtime

/// Exported by every backend's shared object; null and a text in `error` when
/// the backend cannot start here.
extern "C" COMMSCHED_RUNTIME_API ::commsched::runtime::Backend *
commsched_create_backend(const ::commsched::runtime::BackendConfig *config,
                         std::string *error);

#endif // COMMSCHED_RUNTIME_BACKEND_H
