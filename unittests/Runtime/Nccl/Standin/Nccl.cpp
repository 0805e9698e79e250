//===- Nccl.cpp - Stand-in for NCCL ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operations.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <unistd.h>
#include <utility>

using namespace standin;
using Guard = std::lock_guard<std::recursive_mutex>;

// The type that NCCL leaves open.
struct ncclComm {
  int number = 0;
  std::shared_ptr<World> world;
  int rank = 0;
  /// Done when it returns true; until then the communicator is in progress.
  std::function<bool()> pending;
  int64_t numCollectives = 0;
  int64_t numSplits = 0;
  int64_t numWindows = 0;
  /// Those that are registered, by their first byte.
  std::map<const char *, size_t> windows;
  /// Whether collectives outside of windows are taken for a mistake: NCCL would
  /// carry them out by its usual kernels.
  bool wantsWindows = false;
  bool isConnected = false;
  std::shared_ptr<bool> isAborted = std::make_shared<bool>(false);
  bool wasAsked = false;
};

namespace {
/// Calls between ncclGroupStart and ncclGroupEnd.
struct OpenGroup {
  int depth = 0;
  std::vector<Operation> operations;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};
} // namespace

static thread_local OpenGroup openGroup;

static std::map<std::string, std::shared_ptr<World>> &getWorlds() {
  static std::map<std::string, std::shared_ptr<World>> worlds;
  return worlds;
}

static std::string nameComm(ncclComm_t comm) {
  return comm ? "c" + std::to_string(comm->number) : "null";
}

static std::string nameType(ncclDataType_t type) {
  static const char *names[] = {"i8",  "u8",   "i32",    "u32",
                                "i64", "u64",  "f16",    "f32",
                                "f64", "bf16", "f8e4m3", "f8e5m2"};
  return names[type];
}

static std::string nameReduction(ncclRedOp_t op) {
  static const char *names[] = {"sum", "prod", "max", "min", "avg"};
  return names[op];
}

#define STANDIN_BEGIN(call, arguments)                                         \
  Guard guard(getLock());                                                      \
  record(std::string(#call) + "(" + (arguments) + ")");                        \
  if (int failure = getFailure(#call))                                         \
    return static_cast<ncclResult_t>(failure);

/// Puts the operations on the stream as one piece of work, which begins when
/// the communicator has done what it does in the background.
static ncclResult_t submit(ncclComm_t comm, cudaStream_t stream,
                           std::vector<Operation> operations, bool isStuck) {
  if (comm->pending)
    return ncclInvalidUsage;
  auto state = std::make_shared<std::vector<Operation>>(std::move(operations));
  auto work = [world = comm->world, rank = comm->rank,
               isAborted = comm->isAborted, state, isStuck](double &now) {
    if (*isAborted)
      return true;
    if (isStuck)
      return false;
    for (Operation &operation : *state)
      if (!arrive(*world, rank, operation, now))
        return false;
    if (!world->defect.empty())
      return false;
    std::map<int, size_t> receives;
    for (const Operation &operation : *state)
      if (!isReady(*world, rank, operation,
                   operation.kind == Kind::Recv ? receives[operation.peer]++
                                                : 0))
        return false;
    double end = now;
    for (const Operation &operation : *state) {
      double own = now;
      finish(*world, rank, operation, own);
      end = std::max(end, own);
    }
    now = end;
    return true;
  };
  if (comm->isConnected) {
    enqueue(stream, work);
    return ncclSuccess;
  }
  // Ranks connect at the first use.
  comm->pending = [comm, stream, work] {
    comm->isConnected = true;
    enqueue(stream, work);
    return true;
  };
  return ncclInProgress;
}

static bool isInWindow(ncclComm_t comm, const void *address) {
  auto *byte = static_cast<const char *>(address);
  auto after = comm->windows.upper_bound(byte);
  if (after == comm->windows.begin())
    return false;
  auto [begin, bytes] = *std::prev(after);
  return byte < begin + bytes;
}

/// Records and carries out a call, `more` of whose arguments stand behind the
/// type.
static ncclResult_t run(const char *call, Operation operation,
                        const std::string &more, ncclComm_t comm,
                        cudaStream_t stream) {
  Guard guard(getLock());
  std::string buffers;
  if (operation.kind != Kind::Recv)
    buffers += nameAddress(operation.input) + ", ";
  if (operation.kind != Kind::Send)
    buffers += nameAddress(operation.output) + ", ";
  record(std::string(call) + "(" + buffers + std::to_string(operation.count) +
         ", " + nameType(operation.type) + more + ", " + nameComm(comm) + ", " +
         nameStream(stream) + ")");
  if (int failure = getFailure(call))
    return static_cast<ncclResult_t>(failure);
  if (comm->wantsWindows && operation.count > 0 &&
      (!isInWindow(comm, operation.input) ||
       !isInWindow(comm, operation.output)))
    comm->world->defect = "a buffer is in no window";
  if (operation.kind != Kind::Send && operation.kind != Kind::Recv)
    operation.number = comm->numCollectives++;
  // As NCCL 2.28 (src/device/onerank.cu).
  if (operation.op == ncclAvg && comm->world->size == 1 &&
      (operation.type == ncclFloat8e4m3 || operation.type == ncclFloat8e5m2))
    return ncclInvalidArgument;
  // What is never there cannot be read.
  bool empty = operation.count == 0 && operation.number >= 0;
  if (openGroup.depth == 0)
    return empty ? ncclSuccess
                 : submit(comm, stream, {operation}, isStuck(call));
  if (openGroup.comm && openGroup.comm != comm)
    return ncclInvalidUsage;
  openGroup.comm = comm;
  openGroup.stream = stream;
  if (!empty)
    openGroup.operations.push_back(operation);
  return ncclSuccess;
}

extern "C" {

STANDIN_API ncclResult_t ncclGetVersion(int *version) {
  *version = getSettings().ncclVersion;
  return ncclSuccess;
}

STANDIN_API const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  case ncclInvalidUsage:
    return "invalid usage";
  default:
    return "a stand-in's error";
  }
}

STANDIN_API const char *ncclGetLastError(ncclComm_t comm) {
  return comm && comm->world ? comm->world->defect.c_str() : "";
}

STANDIN_API ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  const char *order = std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  STANDIN_BEGIN(ncclGetUniqueId,
                std::string("launch order ") + (order ? order : "unset"))
  static std::atomic<int> next{0};
  std::memset(id->internal, 0, sizeof(id->internal));
  std::string text = std::to_string(getpid()) + "/" + std::to_string(next++);
  text.copy(id->internal, sizeof(id->internal));
  return ncclSuccess;
}

STANDIN_API ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int size,
                                                ncclUniqueId id, int rank,
                                                ncclConfig_t *config) {
  STANDIN_BEGIN(ncclCommInitRankConfig,
                std::to_string(rank) + " of " + std::to_string(size) +
                    ", blocking " + std::to_string(config->blocking))
  *comm = new ncclComm;
  (*comm)->number = takeNumber("communicator");
  std::shared_ptr<World> &world =
      getWorlds()[std::string(id.internal, sizeof(id.internal))];
  if (!world)
    world = std::make_shared<World>();
  world->size = size;
  ++world->numJoined;
  (*comm)->world = world;
  (*comm)->rank = rank;
  bool stuck = isStuck("ncclCommInitRankConfig");
  (*comm)->pending = [world, stuck] {
    return !stuck && (world->numJoined == world->size || getSettings().alone);
  };
  return ncclInProgress;
}

/// The part of a split's ranks with one color, once all have come.
static void makeChild(ncclComm_t parent, int64_t number, int color,
                      ncclComm_t child) {
  std::vector<std::pair<int, int>> row;
  for (const auto &[rank, choice] : parent->world->splits[number])
    if (choice.first == color)
      row.emplace_back(choice.second, rank);
  std::sort(row.begin(), row.end());
  std::shared_ptr<World> &world = parent->world->children[{number, color}];
  if (!world)
    world = std::make_shared<World>();
  world->size = static_cast<int>(row.size());
  child->world = world;
  for (size_t place = 0; place < row.size(); ++place)
    if (row[place].second == parent->rank)
      child->rank = static_cast<int>(place);
}

/// ", CTAs 4-4, policy 2": what is not left to NCCL.
static std::string describe(const ncclConfig_t &config) {
  std::string text = ", blocking " + std::to_string(config.blocking);
  if (config.minCTAs != NCCL_CONFIG_UNDEF_INT)
    text += ", CTAs " + std::to_string(config.minCTAs) + "-" +
            std::to_string(config.maxCTAs);
  if (config.CTAPolicy != NCCL_CONFIG_UNDEF_INT)
    text += ", policy " + std::to_string(config.CTAPolicy);
  return text;
}

STANDIN_API ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key,
                                       ncclComm_t *result,
                                       ncclConfig_t *config) {
  STANDIN_BEGIN(ncclCommSplit,
                nameComm(comm) + ", " +
                    (color == NCCL_SPLIT_NOCOLOR ? std::string("none")
                                                 : std::to_string(color)) +
                    ", " + std::to_string(key) +
                    (config ? describe(*config) : ""))
  if (comm->pending)
    return ncclInvalidUsage;
  int64_t number = comm->numSplits++;
  comm->world->splits[number][comm->rank] = {color, key};
  // Only the end of the split makes the new one known.
  *result = nullptr;
  ncclComm_t child = nullptr;
  if (color != NCCL_SPLIT_NOCOLOR) {
    child = new ncclComm;
    child->number = takeNumber("communicator");
    child->wantsWindows = config && config->CTAPolicy == NCCL_CTA_POLICY_ZERO;
  }
  bool stuck = isStuck("ncclCommSplit");
  comm->pending = [=] {
    int here = static_cast<int>(comm->world->splits[number].size());
    if (stuck || (here != comm->world->size && !getSettings().alone))
      return false;
    if (child)
      makeChild(comm, number, color, child);
    *result = child;
    return true;
  };
  return ncclInProgress;
}

STANDIN_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm,
                                               ncclResult_t *result) {
  Guard guard(getLock());
  if (int error = getSettings().asyncError) {
    *result = static_cast<ncclResult_t>(error);
    return ncclSuccess;
  }
  progress();
  if (!comm->world->defect.empty()) {
    *result = ncclInvalidUsage;
    return ncclSuccess;
  }
  // The first question always comes too early.
  if (comm->pending && !comm->wasAsked) {
    comm->wasAsked = true;
    *result = ncclInProgress;
    return ncclSuccess;
  }
  if (comm->pending && comm->pending()) {
    comm->pending = nullptr;
    comm->wasAsked = false;
  }
  *result = comm->pending ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}

STANDIN_API ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  STANDIN_BEGIN(ncclCommFinalize, nameComm(comm))
  bool stuck = isStuck("ncclCommFinalize");
  comm->pending = [stuck] { return !stuck; };
  return ncclInProgress;
}

STANDIN_API ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  STANDIN_BEGIN(ncclCommDestroy, nameComm(comm))
  delete comm;
  return ncclSuccess;
}

STANDIN_API ncclResult_t ncclCommAbort(ncclComm_t comm) {
  STANDIN_BEGIN(ncclCommAbort, nameComm(comm))
  *comm->isAborted = true;
  delete comm;
  return ncclSuccess;
}

STANDIN_API ncclResult_t ncclMemAlloc(void **pointer, size_t bytes) {
  STANDIN_BEGIN(ncclMemAlloc, std::to_string(bytes))
  return cudaMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess
                                                   : ncclUnhandledCudaError;
}

STANDIN_API ncclResult_t ncclMemFree(void *pointer) {
  STANDIN_BEGIN(ncclMemFree, nameAddress(pointer))
  return cudaFree(pointer) == cudaSuccess ? ncclSuccess
                                          : ncclUnhandledCudaError;
}

STANDIN_API ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer,
                                                size_t bytes,
                                                ncclWindow_t *window,
                                                int flags) {
  STANDIN_BEGIN(ncclCommWindowRegister,
                nameComm(comm) + ", " + nameAddress(buffer) + ", " +
                    std::to_string(bytes) + ", flags " + std::to_string(flags))
  if (comm->pending)
    return ncclInvalidUsage;
  if (!getSettings().hasWindows) {
    // NCCL returns the handle of a local registration then.
    const char *local = std::getenv("NCCL_LOCAL_REGISTER");
    if (!local || std::string(local) != "0")
      *window = reinterpret_cast<ncclWindow_t>(buffer);
    return ncclSuccess;
  }
  int64_t number = comm->numWindows++;
  std::map<int, size_t> &sizes = comm->world->windows[number];
  sizes[comm->rank] = bytes;
  if (sizes.begin()->second != bytes)
    comm->world->defect = "ranks register windows of different sizes";
  bool stuck = isStuck("ncclCommWindowRegister");
  comm->pending = [=] {
    int here = static_cast<int>(comm->world->windows[number].size());
    if (stuck || (here != comm->world->size && !getSettings().alone))
      return false;
    comm->windows[static_cast<char *>(buffer)] = bytes;
    *window = reinterpret_cast<ncclWindow_t>(buffer);
    return true;
  };
  return ncclInProgress;
}

STANDIN_API ncclResult_t ncclCommWindowDeregister(ncclComm_t comm,
                                                  ncclWindow_t window) {
  STANDIN_BEGIN(ncclCommWindowDeregister,
                nameComm(comm) + ", " + nameAddress(window))
  comm->windows.erase(reinterpret_cast<char *>(window));
  return ncclSuccess;
}

STANDIN_API ncclResult_t ncclGroupStart() {
  STANDIN_BEGIN(ncclGroupStart, "")
  ++openGroup.depth;
  return ncclSuccess;
}

STANDIN_API ncclResult_t ncclGroupEnd() {
  STANDIN_BEGIN(ncclGroupEnd, "")
  if (--openGroup.depth > 0)
    return ncclSuccess;
  OpenGroup group = std::exchange(openGroup, {});
  return group.operations.empty()
             ? ncclSuccess
             : submit(group.comm, group.stream, std::move(group.operations),
                      isStuck("ncclGroupEnd"));
}

STANDIN_API ncclResult_t ncclAllGather(const void *input, void *output,
                                       size_t count, ncclDataType_t type,
                                       ncclComm_t comm, cudaStream_t stream) {
  return run(__func__, {Kind::AllGather, input, output, count, type}, "", comm,
             stream);
}

STANDIN_API ncclResult_t ncclAlltoAll(const void *input, void *output,
                                      size_t count, ncclDataType_t type,
                                      ncclComm_t comm, cudaStream_t stream) {
  return run(__func__, {Kind::AllToAll, input, output, count, type}, "", comm,
             stream);
}

STANDIN_API ncclResult_t ncclReduceScatter(const void *input, void *output,
                                           size_t count, ncclDataType_t type,
                                           ncclRedOp_t op, ncclComm_t comm,
                                           cudaStream_t stream) {
  return run(__func__, {Kind::ReduceScatter, input, output, count, type, op},
             ", " + nameReduction(op), comm, stream);
}

STANDIN_API ncclResult_t ncclAllReduce(const void *input, void *output,
                                       size_t count, ncclDataType_t type,
                                       ncclRedOp_t op, ncclComm_t comm,
                                       cudaStream_t stream) {
  return run(__func__, {Kind::AllReduce, input, output, count, type, op},
             ", " + nameReduction(op), comm, stream);
}

STANDIN_API ncclResult_t ncclBroadcast(const void *input, void *output,
                                       size_t count, ncclDataType_t type,
                                       int root, ncclComm_t comm,
                                       cudaStream_t stream) {
  return run(__func__,
             {Kind::Broadcast, input, output, count, type, ncclSum, root},
             ", root " + std::to_string(root), comm, stream);
}

STANDIN_API ncclResult_t ncclSend(const void *input, size_t count,
                                  ncclDataType_t type, int peer,
                                  ncclComm_t comm, cudaStream_t stream) {
  return run(__func__, {Kind::Send, input, nullptr, count, type, ncclSum, peer},
             ", to " + std::to_string(peer), comm, stream);
}

STANDIN_API ncclResult_t ncclRecv(void *output, size_t count,
                                  ncclDataType_t type, int peer,
                                  ncclComm_t comm, cudaStream_t stream) {
  return run(__func__,
             {Kind::Recv, nullptr, output, count, type, ncclSum, peer},
             ", from " + std::to_string(peer), comm, stream);
}

} // extern "C"
