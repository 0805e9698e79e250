//===- Collectives.cpp - Collectives as calls of NCCL ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/Collectives.h"

#include "Core/Describe.h"
#include "Nccl/Check.h"
#include "Nccl/Types.h"

#include <algorithm>
#include <functional>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

namespace {

using Call = std::function<Error()>;

/// Collects the calls of launches: how many there are decides whether they need
/// a group. What must be on the stream before them is enqueued at once.
class CallCollector {
public:
  explicit CallCollector(const Target &target) : target(target) {}

  Error collect(const Launch &launch);
  Error run();

private:
  void collectTensor(const Launch &launch, size_t index, const WireType &wire);
  void allToAll(const Launch &launch, size_t index, const WireType &wire);
  Error permute(const Launch &launch, size_t index, const WireType &wire);
  void send(const void *data, int64_t count, const WireType &wire,
            int32_t peer);
  void receive(void *data, int64_t count, const WireType &wire, int32_t peer);
  /// Only calls that move something: NCCL does not drop empty sends.
  void add(const char *name, std::function<ncclResult_t()> call);

  const Target &target;
  std::vector<Call> calls;
};

} // namespace

void CallCollector::add(const char *name, std::function<ncclResult_t()> call) {
  calls.push_back([this, name, call = std::move(call)] {
    return checkNccl(call(), name, target.comm);
  });
}

void CallCollector::send(const void *data, int64_t count, const WireType &wire,
                         int32_t peer) {
  if (count > 0)
    add("ncclSend", [=] {
      return ncclSend(data, count * wire.count, wire.type, peer, target.comm,
                      target.stream);
    });
}

void CallCollector::receive(void *data, int64_t count, const WireType &wire,
                            int32_t peer) {
  if (count > 0)
    add("ncclRecv", [=] {
      return ncclRecv(data, count * wire.count, wire.type, peer, target.comm,
                      target.stream);
    });
}

void CallCollector::allToAll(const Launch &launch, size_t index,
                             const WireType &wire) {
  const Tensor &tensor = launch.site->tensors[index];
  const auto *input = static_cast<const char *>(launch.inputs[index]);
  auto *output = static_cast<char *>(launch.outputs[index]);
  int64_t size = static_cast<int64_t>(launch.group->members.size());
  if (tensor.inputSplits.empty()) {
    int64_t count = tensor.inputs / size * wire.count;
    add("ncclAlltoAll", [=] {
      return ncclAlltoAll(input, output, count, wire.type, target.comm,
                          target.stream);
    });
    return;
  }
  for (int32_t peer = 0; peer < size; ++peer) {
    send(input, tensor.inputSplits[peer], wire, peer);
    receive(output, tensor.outputSplits[peer], wire, peer);
    input += tensor.inputSplits[peer] * tensor.element.bytes;
    output += tensor.outputSplits[peer] * tensor.element.bytes;
  }
}

Error CallCollector::permute(const Launch &launch, size_t index,
                             const WireType &wire) {
  const Tensor &tensor = launch.site->tensors[index];
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
    return std::nullopt;
  return checkCuda(cudaMemsetAsync(launch.outputs[index], 0,
                                   tensor.outputs * tensor.element.bytes,
                                   target.stream),
                   "cudaMemsetAsync");
}

void CallCollector::collectTensor(const Launch &launch, size_t index,
                                  const WireType &wire) {
  const Site &site = *launch.site;
  const void *input = launch.inputs[index];
  void *output = launch.outputs[index];
  size_t inputs = site.tensors[index].inputs * wire.count;
  size_t outputs = site.tensors[index].outputs * wire.count;
  ncclComm_t comm = target.comm;
  cudaStream_t stream = target.stream;
  switch (site.kind) {
  case COMMSCHED_ALL_GATHER:
    return add("ncclAllGather", [=] {
      return ncclAllGather(input, output, inputs, wire.type, comm, stream);
    });
  case COMMSCHED_REDUCE_SCATTER:
    return add("ncclReduceScatter", [=, op = getReduction(*site.reduction)] {
      return ncclReduceScatter(input, output, outputs, wire.type, op, comm,
                               stream);
    });
  case COMMSCHED_ALL_REDUCE:
    return add("ncclAllReduce", [=, op = getReduction(*site.reduction)] {
      return ncclAllReduce(input, output, inputs, wire.type, op, comm, stream);
    });
  case COMMSCHED_BROADCAST:
    // Ranks other than the root need not give an input.
    if (launch.group->rank != site.peer)
      input = output;
    return add("ncclBroadcast", [=, root = site.peer] {
      return ncclBroadcast(input, output, outputs, wire.type, root, comm,
                           stream);
    });
  case COMMSCHED_ALL_TO_ALL:
    return allToAll(launch, index, wire);
  case COMMSCHED_SEND:
    return send(input, site.tensors[index].inputs, wire, site.peer);
  case COMMSCHED_RECV:
    return receive(output, site.tensors[index].outputs, wire, site.peer);
  case COMMSCHED_PERMUTE:
  case COMMSCHED_BARRIER:
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

Error CallCollector::collect(const Launch &launch) {
  const Site &site = *launch.site;
  for (size_t i = 0; i < site.tensors.size(); ++i) {
    const Tensor &tensor = site.tensors[i];
    if (tensor.inputs == 0 && tensor.outputs == 0)
      continue;
    WireType wire = getWireType(tensor.element);
    if (!isAligned(launch, i, wire.bytes)) {
      if (site.reduction)
        return "'nccl' cannot reduce " + tensor.element.name +
               " at addresses that are no multiples of " +
               std::to_string(wire.bytes);
      wire = getByteWireType(tensor.element);
    }
    if (site.kind == COMMSCHED_PERMUTE) {
      if (Error error = permute(launch, i, wire))
        return error;
      continue;
    }
    collectTensor(launch, i, wire);
  }
  return std::nullopt;
}

Error CallCollector::run() {
  if (calls.size() == 1)
    return calls.front()();
  if (calls.empty())
    return std::nullopt;
  if (Error error = checkNccl(ncclGroupStart(), "ncclGroupStart", target.comm))
    return error;
  Error failure;
  for (const Call &call : calls)
    if (!failure)
      failure = call();
  // A group must end, even where a call was refused.
  Error end = checkNccl(ncclGroupEnd(), "ncclGroupEnd", target.comm);
  return failure ? failure : end;
}

Error commsched::runtime::nccl::enqueue(
    const std::vector<const Launch *> &launches, const Target &target) {
  CallCollector collector(target);
  for (const Launch *launch : launches) {
    if (launch->site->kind == COMMSCHED_BARRIER)
      return enqueueBarrier(target);
    if (Error error = collector.collect(*launch))
      return error;
  }
  return collector.run();
}

Error commsched::runtime::nccl::enqueueBarrier(const Target &target) {
  // A maximum leaves the zero as it is, however many run at the same time.
  return checkNccl(ncclAllReduce(target.scratch, target.scratch, 1, ncclUint8,
                                 ncclMax, target.comm, target.stream),
                   "ncclAllReduce", target.comm);
}
