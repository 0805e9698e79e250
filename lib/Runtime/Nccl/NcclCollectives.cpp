//===- NcclCollectives.cpp - Collectives as calls of NCCL -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

#include "Core/Program.h"
#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <functional>
#include <map>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

//===----------------------------------------------------------------------===//
// Types and reductions
//===----------------------------------------------------------------------===//

namespace {
/// One element is `count` values of NCCL's `type`, of `bytes` bytes each.
struct WireType {
  ncclDataType_t type = ncclUint8;
  int64_t count = 1;
  int64_t bytes = 1;
};
} // namespace

/// The first compute capability with reductions of 8-bit floats.
static constexpr int firstFloat8Capability = 90;

/// None for types that NCCL does not have.
static std::optional<WireType> findWireType(commsched_type type) {
  static const std::map<commsched_type, WireType> types = {
      {COMMSCHED_I8, {ncclInt8, 1, 1}},
      {COMMSCHED_UI8, {ncclUint8, 1, 1}},
      {COMMSCHED_I32, {ncclInt32, 1, 4}},
      {COMMSCHED_UI32, {ncclUint32, 1, 4}},
      {COMMSCHED_I64, {ncclInt64, 1, 8}},
      {COMMSCHED_UI64, {ncclUint64, 1, 8}},
      {COMMSCHED_F8E4M3FN, {ncclFloat8e4m3, 1, 1}},
      {COMMSCHED_F8E5M2, {ncclFloat8e5m2, 1, 1}},
      {COMMSCHED_F16, {ncclFloat16, 1, 2}},
      {COMMSCHED_BF16, {ncclBfloat16, 1, 2}},
      {COMMSCHED_F32, {ncclFloat32, 1, 4}},
      {COMMSCHED_F64, {ncclFloat64, 1, 8}},
      {COMMSCHED_COMPLEX_F32, {ncclFloat32, 2, 4}},
      {COMMSCHED_COMPLEX_F64, {ncclFloat64, 2, 8}}};
  auto found = types.find(type);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

/// As bytes, for buffers at any address.
static WireType getByteWireType(const ElementType &element) {
  return {ncclUint8, element.bytes, 1};
}

/// How elements travel.
static WireType getWireType(const ElementType &element) {
  if (element.type)
    if (std::optional<WireType> wire = findWireType(*element.type))
      return *wire;
  return getByteWireType(element);
}

/// A reduction that NCCL has, over `ranks` ranks.
static ncclRedOp_t getReduction(commsched_reduction reduction, size_t ranks) {
  // NCCL 2.28 has no average of 8-bit floats over one rank.
  if (reduction == COMMSCHED_AVG && ranks == 1)
    reduction = COMMSCHED_SUM;
  // In the order of commsched_reduction.
  constexpr ncclRedOp_t reductions[] = {ncclSum, ncclAvg, ncclProd, ncclMin,
                                        ncclMax};
  return reductions[reduction];
}

Status NcclBackend::checkSite(const Site &site) const {
  if (!site.reduction)
    return Status();
  commsched_reduction reduction = *site.reduction;
  for (const Tensor &tensor : site.tensors) {
    const ElementType &element = tensor.element;
    std::string refusal =
        "'nccl' cannot reduce " + element.name + " by " + getName(reduction);
    if (reduction > COMMSCHED_MAX || !element.type ||
        !findWireType(*element.type))
      return refusal;
    // The parts of a complex number are summed alone.
    bool isSum = reduction == COMMSCHED_SUM || reduction == COMMSCHED_AVG;
    if (isComplex(*element.type) && !isSum)
      return refusal;
    bool isFloat8 = *element.type == COMMSCHED_F8E4M3FN ||
                    *element.type == COMMSCHED_F8E5M2;
    if (isFloat8 && capability < firstFloat8Capability)
      return concat(refusal, " on this GPU: its compute capability is ",
                    capability / 10, ".", capability % 10,
                    ", not 9.0 or newer");
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

using Call = std::function<Status()>;

/// Collects the calls of launches: how many there are decides whether they need
/// a group. Work that must precede them on the stream is enqueued at once.
class CallCollector {
public:
  CallCollector(ncclComm_t comm, cudaStream_t stream)
      : comm(comm), stream(stream) {}

  Status collect(const Launch &launch);
  Status run();

private:
  void collectTensor(const Launch &launch, size_t index, const WireType &wire);
  void allToAll(const Launch &launch, size_t index, const WireType &wire);
  Status permute(const Launch &launch, size_t index, const WireType &wire);
  void send(const void *data, int64_t count, const WireType &wire,
            int32_t peer);
  void receive(void *data, int64_t count, const WireType &wire, int32_t peer);
  /// Only calls that move something: NCCL does not drop empty sends.
  template <class Function, class... Arguments>
  void add(const char *name, Function *function, Arguments... arguments) {
    calls.push_back([=] {
      return checkNccl(function(arguments..., comm, stream), name, comm);
    });
  }

  ncclComm_t comm;
  cudaStream_t stream;
  std::vector<Call> calls;
};

} // namespace

#define ADD_NCCL(function, ...) add(#function, function, __VA_ARGS__)

void CallCollector::send(const void *data, int64_t count, const WireType &wire,
                         int32_t peer) {
  if (count > 0)
    ADD_NCCL(ncclSend, data, count * wire.count, wire.type, peer);
}

void CallCollector::receive(void *data, int64_t count, const WireType &wire,
                            int32_t peer) {
  if (count > 0)
    ADD_NCCL(ncclRecv, data, count * wire.count, wire.type, peer);
}

void CallCollector::allToAll(const Launch &launch, size_t index,
                             const WireType &wire) {
  const Tensor &tensor = launch.getTensors()[index];
  const auto *input = static_cast<const char *>(launch.inputs[index]);
  auto *output = static_cast<char *>(launch.outputs[index]);
  int64_t size = static_cast<int64_t>(launch.group->members.size());
  if (tensor.inputSplits.empty()) {
    ADD_NCCL(ncclAlltoAll, input, output, tensor.inputs / size * wire.count,
             wire.type);
    return;
  }
  for (int32_t peer = 0; peer < size; ++peer) {
    send(input, tensor.inputSplits[peer], wire, peer);
    receive(output, tensor.outputSplits[peer], wire, peer);
    input += tensor.inputSplits[peer] * tensor.element.bytes;
    output += tensor.outputSplits[peer] * tensor.element.bytes;
  }
}

Status CallCollector::permute(const Launch &launch, size_t index,
                              const WireType &wire) {
  const Tensor &tensor = launch.getTensors()[index];
  int32_t rank = launch.group->rank;
  bool receives = false;
  for (auto [source, to] : launch.site->pairs) {
    if (source == rank)
      send(launch.inputs[index], tensor.inputs, wire, to);
    if (to == rank) {
      receive(launch.outputs[index], tensor.outputs, wire, source);
      receives = true;
    }
  }
  if (receives)
    return Status();
  return CALL_CUDA(cudaMemsetAsync, launch.outputs[index], 0,
                   tensor.getOutputBytes(), stream);
}

void CallCollector::collectTensor(const Launch &launch, size_t index,
                                  const WireType &wire) {
  const Site &site = *launch.site;
  const void *input = launch.inputs[index];
  void *output = launch.outputs[index];
  const Tensor &tensor = launch.getTensors()[index];
  size_t inputs = tensor.inputs * wire.count;
  size_t outputs = tensor.outputs * wire.count;
  ncclRedOp_t op = getReduction(site.reduction.value_or(COMMSCHED_SUM),
                                launch.group->members.size());
  switch (site.kind) {
  case COMMSCHED_ALL_GATHER:
    return ADD_NCCL(ncclAllGather, input, output, inputs, wire.type);
  case COMMSCHED_REDUCE_SCATTER:
    return ADD_NCCL(ncclReduceScatter, input, output, outputs, wire.type, op);
  case COMMSCHED_ALL_REDUCE:
    return ADD_NCCL(ncclAllReduce, input, output, inputs, wire.type, op);
  case COMMSCHED_BROADCAST:
    // Ranks other than the root need not give an input.
    return ADD_NCCL(ncclBroadcast,
                    launch.group->rank == site.peer ? input : output, output,
                    outputs, wire.type, site.peer);
  case COMMSCHED_ALL_TO_ALL:
    return allToAll(launch, index, wire);
  case COMMSCHED_SEND:
    return send(input, tensor.inputs, wire, site.peer);
  case COMMSCHED_RECV:
    return receive(output, tensor.outputs, wire, site.peer);
  case COMMSCHED_PERMUTE:
  case COMMSCHED_BARRIER:
  case COMMSCHED_OFFLOAD:
  case COMMSCHED_RELOAD:
    return;
  }
}

/// Buckets of several types put elements at any byte, but NCCL wants aligned
/// addresses.
static bool isAligned(const Launch &launch, size_t index, int64_t bytes) {
  auto isMultiple = [&](const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
  };
  return isMultiple(launch.inputs[index]) && isMultiple(launch.outputs[index]);
}

Status CallCollector::collect(const Launch &launch) {
  const Site &site = *launch.site;
  for (size_t i = 0; i < launch.getTensors().size(); ++i) {
    const Tensor &tensor = launch.getTensors()[i];
    if (tensor.inputs == 0 && tensor.outputs == 0)
      continue;
    WireType wire = getWireType(tensor.element);
    if (!isAligned(launch, i, wire.bytes)) {
      if (site.reduction)
        return concat("'nccl' cannot reduce ", tensor.element.name,
                      " at addresses that are no multiples of ", wire.bytes);
      wire = getByteWireType(tensor.element);
    }
    if (site.kind == COMMSCHED_PERMUTE) {
      COMMSCHED_TRY(permute(launch, i, wire));
      continue;
    }
    collectTensor(launch, i, wire);
  }
  return Status();
}

Status CallCollector::run() {
  if (calls.size() == 1)
    return calls.front()();
  if (calls.empty())
    return Status();
  COMMSCHED_TRY(CALL_NCCL(comm, ncclGroupStart));
  Status result;
  for (const Call &call : calls)
    if (result)
      result = call();
  // A group must end, even where a call was refused.
  Status end = CALL_NCCL(comm, ncclGroupEnd);
  return result ? end : result;
}

Status NcclBackend::enqueueCalls(const std::vector<const Launch *> &launches,
                                 const Channel &channel) {
  CallCollector collector(channel.comm, channel.stream);
  for (const Launch *launch : launches) {
    if (launch->site->kind == COMMSCHED_BARRIER)
      return enqueueBarrier(channel.comm, channel.stream);
    COMMSCHED_TRY(collector.collect(*launch));
  }
  return collector.run();
}

Status NcclBackend::enqueueBarrier(ncclComm_t comm, cudaStream_t stream) {
  // A maximum leaves the zero as it is, however many run at the same time.
  return CALL_NCCL(comm, ncclAllReduce, scratch, scratch, 1, ncclUint8, ncclMax,
                   comm, stream);
}
