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

#include <algorithm>
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

  PeerConfig config;
  ncclComm_t world = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<ncclComm_t> communicators;
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
  for (ncclComm_t communicator : communicators)
    ncclCommDestroy(communicator);
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
  return describe(
      ncclCommInitRank(&world, config.numRanks, all[0], config.rank));
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
  ncclComm_t communicator = nullptr;
  error = describe(ncclCommSplit(world, members.front(), config.rank,
                                 &communicator, nullptr));
  if (!error.empty())
    return error;
  group = communicators.size();
  communicators.push_back(communicator);
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
  ncclComm_t communicator = communicators[call.group];
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t operation = ncclSum;
  getDatatype(call.type, type);
  getOperation(call.reduction, operation);
  size_t count = call.elements;
  switch (call.kind) {
  case COMMSCHED_ALL_GATHER:
    return describe(ncclAllGather(call.input, call.output, count, type,
                                  communicator, stream));
  case COMMSCHED_REDUCE_SCATTER:
    return describe(ncclReduceScatter(call.input, call.output, count, type,
                                      operation, communicator, stream));
  case COMMSCHED_ALL_REDUCE:
    return describe(ncclAllReduce(call.input, call.output, count, type,
                                  operation, communicator, stream));
  case COMMSCHED_ALL_TO_ALL:
    return describe(ncclAlltoAll(call.input, call.output, count, type,
                                 communicator, stream));
  case COMMSCHED_BROADCAST:
    return describe(ncclBroadcast(call.input, call.output, count, type,
                                  call.peer, communicator, stream));
  case COMMSCHED_PERMUTE: {
    int self = 0, size = 1;
    ncclCommUserRank(communicator, &self);
    ncclCommCount(communicator, &size);
    // All of them, so that a failure leaves no group open.
    ncclResult_t results[] = {ncclGroupStart(),
                              ncclSend(call.input, count, type,
                                       (self + 1) % size, communicator, stream),
                              ncclRecv(call.output, count, type,
                                       (self + size - 1) % size, communicator,
                                       stream),
                              ncclGroupEnd()};
    return describe(*std::max_element(std::begin(results), std::end(results)));
  }
  case COMMSCHED_SEND:
    return describe(
        ncclSend(call.input, count, type, call.peer, communicator, stream));
  case COMMSCHED_RECV:
    return describe(
        ncclRecv(call.output, count, type, call.peer, communicator, stream));
  case COMMSCHED_BARRIER:
    break;
  }
  return "NCCL called directly: no such call";
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
