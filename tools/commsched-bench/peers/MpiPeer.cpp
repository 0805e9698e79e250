//===- MpiPeer.cpp - MPI called directly ----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Non-blocking collectives of MPI and MPI_Wait, with MPI's own types. A type
// that MPI has not is moved as bytes and not reduced.
//
//===----------------------------------------------------------------------===//

#include "../Peer.h"

#include <mpi.h>

#include <array>
#include <climits>
#include <memory>

namespace commsched::bench {
namespace {

class MpiPeer final : public Peer {
public:
  ~MpiPeer() override {
    for (MPI_Comm &communicator : communicators)
      MPI_Comm_free(&communicator);
  }

  std::string getLibrary() const override;
  std::string getDevice() const override { return ""; }
  std::string createGroup(const std::vector<int32_t> &members,
                          int32_t &group) override;
  bool supports(const PeerCall &call) const override;
  std::string start(const PeerCall &call, int32_t slot) override;
  std::string wait(int32_t slot) override;
  std::string synchronize() override { return ""; }

private:
  std::vector<MPI_Comm> communicators;
  /// Two for a permute.
  std::array<std::array<MPI_Request, 2>, maxSlots> requests;
};

} // namespace

static std::string describe(int code) {
  if (code == MPI_SUCCESS)
    return "";
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return "MPI called directly: " + std::string(text, length);
}

/// MPI's type of one element, MPI_DATATYPE_NULL if it has none.
static MPI_Datatype getDatatype(commsched_type type) {
  switch (type) {
  case COMMSCHED_I8:
    return MPI_INT8_T;
  case COMMSCHED_I16:
    return MPI_INT16_T;
  case COMMSCHED_I32:
    return MPI_INT32_T;
  case COMMSCHED_I64:
    return MPI_INT64_T;
  case COMMSCHED_UI8:
    return MPI_UINT8_T;
  case COMMSCHED_UI16:
    return MPI_UINT16_T;
  case COMMSCHED_UI32:
    return MPI_UINT32_T;
  case COMMSCHED_UI64:
    return MPI_UINT64_T;
  case COMMSCHED_F32:
    return MPI_FLOAT;
  case COMMSCHED_F64:
    return MPI_DOUBLE;
  case COMMSCHED_COMPLEX_F32:
    return MPI_C_FLOAT_COMPLEX;
  case COMMSCHED_COMPLEX_F64:
    return MPI_C_DOUBLE_COMPLEX;
  default:
    return MPI_DATATYPE_NULL;
  }
}

/// MPI's operation, MPI_OP_NULL if it has none.
static MPI_Op getOperation(commsched_reduction reduction) {
  switch (reduction) {
  case COMMSCHED_SUM:
    return MPI_SUM;
  case COMMSCHED_AVG:
    return MPI_OP_NULL;
  case COMMSCHED_PROD:
    return MPI_PROD;
  case COMMSCHED_MIN:
    return MPI_MIN;
  case COMMSCHED_MAX:
    return MPI_MAX;
  case COMMSCHED_BAND:
    return MPI_BAND;
  case COMMSCHED_BOR:
    return MPI_BOR;
  case COMMSCHED_BXOR:
    return MPI_BXOR;
  }
  return MPI_OP_NULL;
}

static bool reduces(const PeerCall &call) {
  return call.kind == COMMSCHED_ALL_REDUCE ||
         call.kind == COMMSCHED_REDUCE_SCATTER;
}

std::string MpiPeer::getLibrary() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  // Open MPI goes on with its builder and its date.
  std::string version(text, length);
  return version.substr(0, version.find_first_of(",\n"));
}

std::string MpiPeer::createGroup(const std::vector<int32_t> &members,
                                 int32_t &group) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm communicator = MPI_COMM_NULL;
  int code =
      MPI_Comm_split(MPI_COMM_WORLD, members.front(), rank, &communicator);
  if (code != MPI_SUCCESS)
    return describe(code);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  group = communicators.size();
  communicators.push_back(communicator);
  return "";
}

bool MpiPeer::supports(const PeerCall &call) const {
  if (!reduces(call))
    return call.elements <= INT_MAX / call.elementBytes;
  return call.elements <= INT_MAX &&
         getDatatype(call.type) != MPI_DATATYPE_NULL &&
         getOperation(call.reduction) != MPI_OP_NULL;
}

std::string MpiPeer::start(const PeerCall &call, int32_t slot) {
  MPI_Comm communicator = communicators[call.group];
  MPI_Datatype type = getDatatype(call.type);
  int count = call.elements;
  if (!reduces(call) && type == MPI_DATATYPE_NULL) {
    type = MPI_BYTE;
    count *= call.elementBytes;
  }
  const void *input = call.inPlace ? MPI_IN_PLACE : call.input;
  void *output = call.output;
  MPI_Op op = getOperation(call.reduction);
  auto &[request, second] = requests[slot];
  request = second = MPI_REQUEST_NULL;
  int rank = 0, size = 1;
  switch (call.kind) {
  case COMMSCHED_ALL_GATHER:
    return describe(MPI_Iallgather(input, call.inPlace ? 0 : count, type,
                                   output, count, type, communicator,
                                   &request));
  case COMMSCHED_REDUCE_SCATTER:
    // MPI takes the whole input in place, and leaves this rank's part at its
    // front: not where the runtime has it, but the same work.
    if (call.inPlace)
      output = const_cast<void *>(call.input);
    return describe(MPI_Ireduce_scatter_block(input, output, count, type, op,
                                              communicator, &request));
  case COMMSCHED_ALL_REDUCE:
    return describe(
        MPI_Iallreduce(input, output, count, type, op, communicator, &request));
  case COMMSCHED_ALL_TO_ALL:
    return describe(MPI_Ialltoall(input, count, type, output, count, type,
                                  communicator, &request));
  case COMMSCHED_BROADCAST: {
    // MPI's broadcast has one buffer; the root's input need not be copied.
    MPI_Comm_rank(communicator, &rank);
    void *buffer =
        rank == call.peer ? const_cast<void *>(call.input) : call.output;
    return describe(
        MPI_Ibcast(buffer, count, type, call.peer, communicator, &request));
  }
  case COMMSCHED_PERMUTE: {
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    int code = MPI_Irecv(output, count, type, (rank + size - 1) % size, 0,
                         communicator, &request);
    if (code == MPI_SUCCESS)
      code = MPI_Isend(input, count, type, (rank + 1) % size, 0, communicator,
                       &second);
    return describe(code);
  }
  case COMMSCHED_SEND:
    return describe(
        MPI_Isend(input, count, type, call.peer, 0, communicator, &request));
  case COMMSCHED_RECV:
    return describe(
        MPI_Irecv(output, count, type, call.peer, 0, communicator, &request));
  case COMMSCHED_BARRIER:
  case COMMSCHED_OFFLOAD:
  case COMMSCHED_RELOAD:
    break;
  }
  return "MPI called directly: no such call";
}

std::string MpiPeer::wait(int32_t slot) {
  for (MPI_Request &request : requests[slot])
    if (int code = MPI_Wait(&request, MPI_STATUS_IGNORE); code != MPI_SUCCESS)
      return describe(code);
  return "";
}

} // namespace commsched::bench

commsched::bench::Peer *
commsched_bench_create_peer(const commsched::bench::PeerConfig *,
                            std::string *error) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    *error = "MPI has not been initialized";
    return nullptr;
  }
  return std::make_unique<commsched::bench::MpiPeer>().release();
}
