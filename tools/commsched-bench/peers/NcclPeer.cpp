//===- NcclPeer.cpp - NCCL called directly --------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain calls of NCCL on a stream of their own, on the device that the runtime
// has chosen for this thread. Waits leave the host alone, as in a program that
// goes on launching kernels; `synchronize` waits for the stream.
//
//===----------------------------------------------------------------------===//

#include "../Peer.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>

namespace commsched::bench {
namespace {

class NcclPeer final : public Peer {
public:
  explicit NcclPeer(const PeerConfig &config) : config(config) {}
  ~NcclPeer() override;

  std::string getLibrary() const override;
  std::string getDevice() const override;
  std::string createGroup(const std::vector<int32_t> &members,
                          int32_t &group) override;
  bool supports(const PeerCall &call) const override;
  std::string start(const PeerCall &call, int32_t slot) override;
  std::string wait(int32_t) override { return ""; }
  std::string synchronize() override;

private:
  /// Makes the stream, and the communicator of all ranks.
  std::string initialize();

  struct Group {
    ncclComm_t communicator;
    int32_t rank;
    int32_t size;
  };

  PeerConfig config;
  ncclComm_t world = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Group> groups;
};

} // namespace

static std::string describe(ncclResult_t result) {
  if (result == ncclSuccess)
    return "";
  return std::string("NCCL called directly: ") + ncclGetErrorString(result);
}

static std::string describe(cudaError_t error) {
  if (error == cudaSuccess)
    return "";
  return std::string("NCCL called directly: ") + cudaGetErrorString(error);
}

/// As `describe`, but waits for what goes on: with NCCL_COMM_BLOCKING=0 in the
/// environment, every communicator is one that does not block.
static std::string finish(ncclComm_t communicator, ncclResult_t result) {
  while (result == ncclInProgress)
    if (ncclResult_t error = ncclCommGetAsyncError(communicator, &result);
        error != ncclSuccess)
      return describe(error);
  return describe(result);
}

/// Sets `result` to NCCL's type and returns true if there is one.
static bool getDatatype(commsched_type type, ncclDataType_t &result) {
  switch (type) {
  case COMMSCHED_I8:
    result = ncclInt8;
    return true;
  case COMMSCHED_I32:
    result = ncclInt32;
    return true;
  case COMMSCHED_I64:
    result = ncclInt64;
    return true;
  case COMMSCHED_UI8:
    result = ncclUint8;
    return true;
  case COMMSCHED_UI32:
    result = ncclUint32;
    return true;
  case COMMSCHED_UI64:
    result = ncclUint64;
    return true;
  case COMMSCHED_F8E4M3FN:
    result = ncclFloat8e4m3;
    return true;
  case COMMSCHED_F8E5M2:
    result = ncclFloat8e5m2;
    return true;
  case COMMSCHED_F16:
    result = ncclFloat16;
    return true;
  case COMMSCHED_BF16:
    result = ncclBfloat16;
    return true;
  case COMMSCHED_F32:
    result = ncclFloat32;
    return true;
  case COMMSCHED_F64:
    result = ncclFloat64;
    return true;
  default:
    return false;
  }
}

/// Likewise NCCL's operation.
static bool getOperation(commsched_reduction reduction, ncclRedOp_t &result) {
  switch (reduction) {
  case COMMSCHED_SUM:
    result = ncclSum;
    return true;
  case COMMSCHED_AVG:
    result = ncclAvg;
    return true;
  case COMMSCHED_PROD:
    result = ncclProd;
    return true;
  case COMMSCHED_MIN:
    result = ncclMin;
    return true;
  case COMMSCHED_MAX:
    result = ncclMax;
    return true;
  default:
    return false;
  }
}

NcclPeer::~NcclPeer() {
  for (const Group &group : groups)
    ncclCommDestroy(group.communicator);
  if (world)
    ncclCommDestroy(world);
  if (stream)
    cudaStreamDestroy(stream);
}

std::string NcclPeer::initialize() {
  ncclUniqueId id = {};
  std::string error;
  if (config.rank == 0)
    error = describe(ncclGetUniqueId(&id));
  // Also with an error: the others wait for this.
  std::vector<ncclUniqueId> all(config.numRanks);
  if (config.exchange(&id, all.data(), sizeof(id)) != 0)
    return "the identifier of NCCL's communicator was not exchanged";
  if (!error.empty())
    return error;
  if (error =
          describe(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      !error.empty())
    return error;
  ncclConfig_t options = NCCL_CONFIG_INITIALIZER;
  options.blocking = 1;
  ncclResult_t result = ncclCommInitRankConfig(&world, config.numRanks, all[0],
                                               config.rank, &options);
  return finish(world, result);
}

std::string NcclPeer::getLibrary() const {
  int version = 0;
  ncclGetVersion(&version);
  return "NCCL " + std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string NcclPeer::getDevice() const {
  int device = 0;
  cudaDeviceProp properties = {};
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return "";
  return properties.name;
}

std::string NcclPeer::createGroup(const std::vector<int32_t> &members,
                                  int32_t &group) {
  std::string error = world ? "" : initialize();
  if (!error.empty())
    return error;
  Group made = {nullptr, 0, int32_t(members.size())};
  while (members[made.rank] != config.rank)
    ++made.rank;
  ncclResult_t result = ncclCommSplit(world, members.front(), config.rank,
                                      &made.communicator, nullptr);
  // The parent is what goes on.
  error = finish(world, result);
  if (!error.empty())
    return error;
  group = groups.size();
  groups.push_back(made);
  return "";
}

bool NcclPeer::supports(const PeerCall &call) const {
  ncclDataType_t type;
  ncclRedOp_t operation;
  return getDatatype(call.type, type) &&
         ((call.kind != COMMSCHED_ALL_REDUCE &&
           call.kind != COMMSCHED_REDUCE_SCATTER) ||
          getOperation(call.reduction, operation));
}

std::string NcclPeer::start(const PeerCall &call, int32_t) {
  const auto &[communicator, self, size] = groups[call.group];
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t operation = ncclSum;
  getDatatype(call.type, type);
  getOperation(call.reduction, operation);
  size_t count = call.elements;
  ncclResult_t result = ncclInvalidUsage;
  switch (call.kind) {
  case COMMSCHED_ALL_GATHER:
    result = ncclAllGather(call.input, call.output, count, type, communicator,
                           stream);
    break;
  case COMMSCHED_REDUCE_SCATTER:
    result = ncclReduceScatter(call.input, call.output, count, type, operation,
                               communicator, stream);
    break;
  case COMMSCHED_ALL_REDUCE:
    result = ncclAllReduce(call.input, call.output, count, type, operation,
                           communicator, stream);
    break;
  case COMMSCHED_ALL_TO_ALL:
    result = ncclAlltoAll(call.input, call.output, count, type, communicator,
                          stream);
    break;
  case COMMSCHED_BROADCAST:
    result = ncclBroadcast(call.input, call.output, count, type, call.peer,
                           communicator, stream);
    break;
  case COMMSCHED_PERMUTE: {
    int next = (self + 1) % size, previous = (self + size - 1) % size;
    // The group is ended whatever happens in it.
    result = ncclGroupStart();
    ncclResult_t send =
        ncclSend(call.input, count, type, next, communicator, stream);
    ncclResult_t recv =
        ncclRecv(call.output, count, type, previous, communicator, stream);
    ncclResult_t end = ncclGroupEnd();
    for (ncclResult_t other : {send, recv, end})
      result = result == ncclSuccess ? other : result;
    break;
  }
  case COMMSCHED_SEND:
    result = ncclSend(call.input, count, type, call.peer, communicator, stream);
    break;
  case COMMSCHED_RECV:
    result =
        ncclRecv(call.output, count, type, call.peer, communicator, stream);
    break;
  case COMMSCHED_BARRIER:
  case COMMSCHED_OFFLOAD:
  case COMMSCHED_RELOAD:
    break;
  }
  return finish(communicator, result);
}

std::string NcclPeer::synchronize() {
  return describe(cudaStreamSynchronize(stream));
}

} // namespace commsched::bench

commsched::bench::Peer *
commsched_bench_create_peer(const commsched::bench::PeerConfig *config,
                            std::string *) {
  return std::make_unique<commsched::bench::NcclPeer>(*config).release();
}
