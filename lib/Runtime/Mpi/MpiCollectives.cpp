//===- MpiCollectives.cpp - Collectives as calls of MPI -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Mpi/MpiBackend.h"

#include "Core/Program.h"
#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <climits>
#include <cstring>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

//===----------------------------------------------------------------------===//
// Datatypes and operations
//===----------------------------------------------------------------------===//

/// MPI's own type, or MPI_DATATYPE_NULL.
static MPI_Datatype getNativeType(commsched_type type) {
  // In the order of commsched_type.
  static const MPI_Datatype integers[] = {
      MPI_DATATYPE_NULL, MPI_INT8_T,   MPI_INT16_T,  MPI_INT32_T, MPI_INT64_T,
      MPI_UINT8_T,       MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T};
  if (isInteger(type))
    return integers[type];
  return type == COMMSCHED_F32   ? MPI_FLOAT
         : type == COMMSCHED_F64 ? MPI_DOUBLE
                                 : MPI_DATATYPE_NULL;
}

/// MPI's own operation, or MPI_OP_NULL. With NaN, MPI's minimum and maximum
/// depend on the order.
static MPI_Op getNativeOperation(commsched_type type,
                                 commsched_reduction reduction) {
  // In the order of commsched_reduction.
  static const MPI_Op operations[] = {MPI_SUM, MPI_SUM,  MPI_PROD, MPI_MIN,
                                      MPI_MAX, MPI_BAND, MPI_BOR,  MPI_BXOR};
  bool isExtreme = reduction == COMMSCHED_MIN || reduction == COMMSCHED_MAX;
  if (getNativeType(type) == MPI_DATATYPE_NULL ||
      (isExtreme && !isInteger(type)))
    return MPI_OP_NULL;
  return operations[reduction];
}

static constexpr int numReductions = COMMSCHED_BXOR + 1;
static constexpr int numTypes = COMMSCHED_COMPLEX_F64 + 1;

/// MPI gives an operation neither our element type nor our reduction, so there
/// is a function for each pair.
template <int Pair>
static void reduce(void *input, void *inOut, int *count, MPI_Datatype *) {
  accumulate(static_cast<commsched_type>(Pair / numReductions),
             static_cast<commsched_reduction>(Pair % numReductions), inOut,
             input, *count);
}

template <int... Pairs>
static constexpr std::array<MPI_User_function *, sizeof...(Pairs)>
listReduceFunctions(std::integer_sequence<int, Pairs...>) {
  return {&reduce<Pairs>...};
}

static constexpr auto reduceFunctions = listReduceFunctions(
    std::make_integer_sequence<int, numTypes * numReductions>());

Status MpiTypes::getBytes(int64_t bytes, int64_t parts, Extent &extent) {
  if (bytes <= maxCount / parts) {
    extent = {static_cast<int>(bytes), MPI_BYTE};
    return {};
  }
  extent.count = 1;
  return getBytesType(bytes, extent.type);
}

/// Blocks of `maxCount` bytes, and what remains.
Status MpiTypes::getBytesType(int64_t bytes, MPI_Datatype &datatype) {
  MPI_Datatype &made = bytesTypes.try_emplace(bytes, MPI_BYTE).first->second;
  if (made == MPI_BYTE) {
    MPI_Datatype block;
    COMMSCHED_TRY(CALL_MPI(MPI_Type_contiguous, static_cast<int>(maxCount),
                           MPI_BYTE, &block));
    int lengths[] = {static_cast<int>(bytes / maxCount),
                     static_cast<int>(bytes % maxCount)};
    MPI_Aint places[] = {0, bytes / maxCount * maxCount};
    MPI_Datatype types[] = {block, MPI_BYTE};
    Status status =
        CALL_MPI(MPI_Type_create_struct, 2, lengths, places, types, &made);
    MPI_Type_free(&block);
    COMMSCHED_TRY(status);
    COMMSCHED_TRY(CALL_MPI(MPI_Type_commit, &made));
  }
  datatype = made;
  return {};
}

Status MpiTypes::getElement(commsched_type type, MPI_Datatype &datatype) {
  datatype = getNativeType(type);
  return datatype == MPI_DATATYPE_NULL
             ? getBytesType(getByteSize(type), datatype)
             : Status();
}

Status MpiTypes::getOperation(commsched_type type,
                              commsched_reduction reduction,
                              MPI_Op &operation) {
  operation = getNativeOperation(type, reduction);
  if (operation != MPI_OP_NULL)
    return {};
  if (reduction == COMMSCHED_AVG)
    reduction = COMMSCHED_SUM;
  auto [it, isNew] =
      operations.try_emplace(std::make_pair(type, reduction), MPI_OP_NULL);
  if (isNew)
    COMMSCHED_TRY(CALL_MPI(MPI_Op_create,
                           reduceFunctions[type * numReductions + reduction],
                           /*commute=*/1, &it->second));
  operation = it->second;
  return {};
}

void MpiTypes::release() {
  for (auto &[bytes, type] : bytesTypes)
    MPI_Type_free(&type);
  for (auto &[pair, operation] : operations)
    MPI_Op_free(&operation);
  bytesTypes.clear();
  operations.clear();
}

//===----------------------------------------------------------------------===//
// Requests in flight
//===----------------------------------------------------------------------===//

void PendingRequests::add(MPI_Request handle, MpiRequest &owner,
                          int64_t bytes) {
  handles.push_back(handle);
  entries.push_back({&owner, bytes});
  ++owner.numPending;
}

/// "rank 2", of all ranks; the status is that of a message to `owner`.
static std::string describeSource(const MPI_Status &status,
                                  const MpiRequest *owner) {
  if (status.MPI_SOURCE < 0)
    return "a rank";
  return concat("rank ", owner->launch.group->members[status.MPI_SOURCE]);
}

Status PendingRequests::checkReceived(int code, const MPI_Status &status,
                                      size_t place) const {
  const Entry &entry = entries[place];
  int kind = MPI_SUCCESS;
  if (code != MPI_SUCCESS)
    MPI_Error_class(code, &kind);
  if (kind == MPI_ERR_TRUNCATE && entry.bytes >= 0)
    return concat(describeSource(status, entry.owner), " sends more than the ",
                  entry.bytes, " bytes that this rank expects");
  if (kind != MPI_SUCCESS)
    return checkMpi(code, "MPI");
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  if (entry.bytes < 0 || bytes == entry.bytes)
    return {};
  return concat(describeSource(status, entry.owner), " sends ", bytes,
                " bytes, but this rank expects ", entry.bytes);
}

Status PendingRequests::poll(std::vector<MpiRequest *> &ended) {
  if (handles.empty())
    return {};
  places.resize(handles.size());
  statuses.resize(handles.size());
  int numEnded = 0;
  int code = MPI_Testsome(static_cast<int>(handles.size()), handles.data(),
                          &numEnded, places.data(), statuses.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
    return checkMpi(code, "MPI_Testsome");
  if (numEnded == 0)
    return {};

  Status status;
  for (int i = 0; i != numEnded; ++i) {
    MpiRequest *owner = entries[places[i]].owner;
    bool hasCode =
        code == MPI_ERR_IN_STATUS && statuses[i].MPI_ERROR != MPI_ERR_PENDING;
    Status one = checkReceived(hasCode ? statuses[i].MPI_ERROR : MPI_SUCCESS,
                               statuses[i], places[i]);
    if (!one && status)
      status = describeLaunch(owner->launch) + ": " + one.getMessage();
    if (--owner->numPending == 0)
      ended.push_back(owner);
  }

  size_t kept = 0;
  for (size_t i = 0; i != handles.size(); ++i) {
    if (handles[i] == MPI_REQUEST_NULL)
      continue;
    handles[kept] = handles[i];
    entries[kept++] = entries[i];
  }
  handles.resize(kept);
  entries.resize(kept);
  return status;
}

//===----------------------------------------------------------------------===//
// Calls of a launch
//===----------------------------------------------------------------------===//

namespace {

// Messages between two ranks of a group. Those of one tag arrive in the order
// in which they were started, which is the same on both sides.
inline constexpr int permuteTag = 0;
inline constexpr int allToAllTag = 1;
inline constexpr int firstUserTag = 2;

/// Starts the calls of one launch.
class Starter {
public:
  Starter(MpiRequest &request, MPI_Comm communicator, MpiTypes &types,
          PendingRequests &pending)
      : request(request), site(*request.launch.site),
        group(*request.launch.group), numRanks(group.members.size()),
        communicator(communicator), types(types), pending(pending) {}

  /// The calls for one tensor.
  Status start(size_t index);

private:
  /// Adds the request that a call has made.
  Status add(int code, const char *call, int64_t bytes = -1) {
    COMMSCHED_TRY(checkMpi(code, call));
    pending.add(handle, request, bytes);
    return {};
  }

  Status allGather();
  Status reduceScatter();
  Status reduceParts(MPI_Datatype type, MPI_Op operation);
  Status getReduction(MPI_Datatype &type, MPI_Op &operation);
  Status allReduce();
  Status allToAll();
  Status unevenAllToAll();
  Status broadcast();
  Status permute();
  Status send(const void *data, int64_t bytes, int32_t rank, int tag);
  Status receive(void *data, int64_t bytes, int32_t rank, int tag);

  MpiRequest &request;
  const Site &site;
  const Group &group;
  int64_t numRanks;
  MPI_Comm communicator;
  MpiTypes &types;
  PendingRequests &pending;
  MPI_Request handle = MPI_REQUEST_NULL;
  // Of the tensor that is being started.
  const Tensor *tensor = nullptr;
  const char *in = nullptr;
  char *out = nullptr;
  int64_t inBytes = 0;
  int64_t outBytes = 0;
};

} // namespace

#define START_MPI(function, ...)                                               \
  add(function(__VA_ARGS__, communicator, &handle), #function)

Status mpi::checkLimits(const Site &site) {
  if (!isPointToPoint(site.kind))
    return {};
  int *upperBound = nullptr;
  int isSet = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upperBound, &isSet);
  int limit = (isSet ? *upperBound : SHRT_MAX) - firstUserTag;
  if (site.tag <= limit)
    return {};
  return concat("'mpi' has tags from 0 to ", limit, ", not ", site.tag);
}

Status Starter::start(size_t index) {
  tensor = &request.launch.getTensors()[index];
  in = static_cast<const char *>(request.launch.inputs[index]);
  out = static_cast<char *>(request.launch.outputs[index]);
  inBytes = tensor->getInputBytes();
  outBytes = tensor->getOutputBytes();
  switch (site.kind) {
  case COMMSCHED_ALL_GATHER:
    return allGather();
  case COMMSCHED_REDUCE_SCATTER:
    return reduceScatter();
  case COMMSCHED_ALL_REDUCE:
    return allReduce();
  case COMMSCHED_ALL_TO_ALL:
    return tensor->inputSplits.empty() && tensor->outputSplits.empty()
               ? allToAll()
               : unevenAllToAll();
  case COMMSCHED_BROADCAST:
    return broadcast();
  case COMMSCHED_PERMUTE:
    return permute();
  case COMMSCHED_SEND:
    return send(in, inBytes, site.peer, firstUserTag + site.tag);
  case COMMSCHED_RECV:
    return receive(out, outBytes, site.peer, firstUserTag + site.tag);
  case COMMSCHED_BARRIER:
  case COMMSCHED_OFFLOAD:
  case COMMSCHED_RELOAD:
    break;
  }
  return {};
}

Status mpi::startCollective(MpiRequest &request, MPI_Comm communicator,
                            MpiTypes &types, PendingRequests &pending) {
  if (request.launch.site->kind == COMMSCHED_BARRIER) {
    MPI_Request handle = MPI_REQUEST_NULL;
    COMMSCHED_TRY(CALL_MPI(MPI_Ibarrier, communicator, &handle));
    pending.add(handle, request);
  }
  Starter starter(request, communicator, types, pending);
  for (size_t i = 0; i != request.launch.getTensors().size(); ++i)
    COMMSCHED_TRY(starter.start(i));
  return {};
}

void mpi::finishCollective(MpiRequest &request) {
  for (const Staged &staged : request.staged)
    std::memcpy(staged.target, staged.data.get(), staged.bytes);
  const Site &site = *request.launch.site;
  if (site.reduction != COMMSCHED_AVG)
    return;
  for (size_t i = 0; i != site.tensors.size(); ++i)
    divideElements(*site.tensors[i].element.type, request.launch.outputs[i],
                   site.tensors[i].outputs,
                   request.launch.group->members.size());
}

//===----------------------------------------------------------------------===//
// Collectives that move data
//===----------------------------------------------------------------------===//

Status Starter::allGather() {
  if (inBytes == 0)
    return {};
  Extent extent;
  COMMSCHED_TRY(types.getBytes(inBytes, numRanks, extent));
  bool isInPlace = in == out + group.rank * inBytes;
  return START_MPI(MPI_Iallgather, isInPlace ? MPI_IN_PLACE : in, extent.count,
                   extent.type, out, extent.count, extent.type);
}

Status Starter::allToAll() {
  if (inBytes == 0)
    return {};
  Extent extent;
  COMMSCHED_TRY(types.getBytes(inBytes / numRanks, numRanks, extent));
  return START_MPI(MPI_Ialltoall, in, extent.count, extent.type, out,
                   extent.count, extent.type);
}

/// By messages: MPI_Ialltoallv places its parts with 32 bits, and whether they
/// suffice may differ between ranks, since each has its own splits.
Status Starter::unevenAllToAll() {
  auto getPart = [&](const std::vector<int64_t> &splits, int64_t total,
                     int32_t rank) {
    return (splits.empty() ? total / numRanks : splits[rank]) *
           tensor->element.bytes;
  };
  int64_t offset = 0;
  for (int32_t rank = 0; rank != numRanks; ++rank) {
    int64_t bytes = getPart(tensor->outputSplits, tensor->outputs, rank);
    COMMSCHED_TRY(receive(out + offset, bytes, rank, allToAllTag));
    offset += bytes;
  }
  offset = 0;
  for (int32_t rank = 0; rank != numRanks; ++rank) {
    int64_t bytes = getPart(tensor->inputSplits, tensor->inputs, rank);
    COMMSCHED_TRY(send(in + offset, bytes, rank, allToAllTag));
    offset += bytes;
  }
  return {};
}

Status Starter::broadcast() {
  if (outBytes == 0)
    return {};
  Extent extent;
  COMMSCHED_TRY(types.getBytes(outBytes, numRanks, extent));
  // The root sends what it is given, and copies it meanwhile.
  bool isRoot = group.rank == site.peer;
  void *buffer = isRoot ? const_cast<char *>(in) : out;
  Status status =
      START_MPI(MPI_Ibcast, buffer, extent.count, extent.type, site.peer);
  if (status && isRoot && in != out)
    std::memcpy(out, in, outBytes);
  return status;
}

Status Starter::permute() {
  bool isTarget = false;
  for (auto [source, target] : site.pairs) {
    if (target != group.rank)
      continue;
    isTarget = true;
    COMMSCHED_TRY(receive(out, outBytes, source, permuteTag));
  }
  if (!isTarget && outBytes > 0)
    std::memset(out, 0, outBytes);
  for (auto [source, target] : site.pairs)
    if (source == group.rank)
      COMMSCHED_TRY(send(in, inBytes, target, permuteTag));
  return {};
}

Status Starter::send(const void *data, int64_t bytes, int32_t rank, int tag) {
  Extent extent;
  COMMSCHED_TRY(types.getBytes(bytes, 1, extent));
  return START_MPI(MPI_Isend, data, extent.count, extent.type, rank, tag);
}

Status Starter::receive(void *data, int64_t bytes, int32_t rank, int tag) {
  Extent extent;
  COMMSCHED_TRY(types.getBytes(bytes, 1, extent));
  return add(MPI_Irecv(data, extent.count, extent.type, rank, tag, communicator,
                       &handle),
             "MPI_Irecv", bytes);
}

//===----------------------------------------------------------------------===//
// Collectives that reduce
//===----------------------------------------------------------------------===//

Status Starter::getReduction(MPI_Datatype &type, MPI_Op &operation) {
  COMMSCHED_TRY(types.getElement(*tensor->element.type, type));
  return types.getOperation(*tensor->element.type, *site.reduction, operation);
}

Status Starter::allReduce() {
  int64_t count = tensor->inputs;
  MPI_Datatype type;
  MPI_Op operation;
  COMMSCHED_TRY(getReduction(type, operation));
  for (int64_t begin = 0; begin < count; begin += maxCount) {
    int64_t offset = begin * tensor->element.bytes;
    auto size = static_cast<int>(std::min(count - begin, maxCount));
    COMMSCHED_TRY(START_MPI(MPI_Iallreduce,
                            in == out ? MPI_IN_PLACE : in + offset,
                            out + offset, size, type, operation));
  }
  return {};
}

Status Starter::reduceScatter() {
  if (outBytes == 0)
    return {};
  MPI_Datatype type;
  MPI_Op operation;
  COMMSCHED_TRY(getReduction(type, operation));
  if (tensor->outputs > maxCount / numRanks)
    return reduceParts(type, operation);

  // In place MPI delivers to the beginning of the input, not to our own part.
  void *target = out;
  if (out == in + group.rank * outBytes && numRanks > 1) {
    request.staged.push_back(
        {std::unique_ptr<char[]>(new char[outBytes]), out, outBytes});
    target = request.staged.back().data.get();
  }
  bool isInPlace = in == out && numRanks == 1;
  return START_MPI(MPI_Ireduce_scatter_block, isInPlace ? MPI_IN_PLACE : in,
                   target, static_cast<int>(tensor->outputs), type, operation);
}

/// A range of elements of all parts is not one range of the input: each part is
/// reduced to its owner.
Status Starter::reduceParts(MPI_Datatype type, MPI_Op operation) {
  bool isInPlace = out == in + group.rank * outBytes;
  for (int root = 0; root != numRanks; ++root) {
    for (int64_t begin = 0; begin < tensor->outputs; begin += maxCount) {
      int64_t offset = begin * tensor->element.bytes;
      auto size = static_cast<int>(std::min(tensor->outputs - begin, maxCount));
      const void *source = isInPlace && root == group.rank
                               ? MPI_IN_PLACE
                               : in + root * outBytes + offset;
      COMMSCHED_TRY(START_MPI(MPI_Ireduce, source, out + offset, size, type,
                              operation, root));
    }
  }
  return {};
}
