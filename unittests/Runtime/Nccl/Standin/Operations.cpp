//===- Operations.cpp - Operations of stand-in communicators --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operations.h"

#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <cstring>

using namespace standin;
using namespace commsched::runtime;

/// The time of every collective, independent of its size.
static constexpr double operationNs = 1000;

static size_t getBytes(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
  case ncclFloat8e4m3:
  case ncclFloat8e5m2:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt64:
  case ncclUint64:
  case ncclFloat64:
    return 8;
  default:
    return 4;
  }
}

static commsched_type getType(ncclDataType_t type) {
  static constexpr commsched_type types[] = {
      COMMSCHED_I8,  COMMSCHED_UI8,  COMMSCHED_I32,      COMMSCHED_UI32,
      COMMSCHED_I64, COMMSCHED_UI64, COMMSCHED_F16,      COMMSCHED_F32,
      COMMSCHED_F64, COMMSCHED_BF16, COMMSCHED_F8E4M3FN, COMMSCHED_F8E5M2};
  return types[type];
}

static commsched_reduction getReduction(ncclRedOp_t op) {
  static constexpr commsched_reduction reductions[] = {
      COMMSCHED_SUM, COMMSCHED_PROD, COMMSCHED_MAX, COMMSCHED_MIN,
      COMMSCHED_AVG};
  return reductions[op];
}

/// Elements that a rank brings, for `count` as NCCL counts.
static size_t getInputs(const World &world, const Operation &operation) {
  bool isWhole =
      operation.kind == Kind::ReduceScatter || operation.kind == Kind::AllToAll;
  return operation.count * (isWhole ? world.size : 1);
}

bool standin::arrive(World &world, int rank, Operation &operation, double now) {
  if (operation.hasArrived)
    return true;
  operation.hasArrived = true;
  size_t bytes = getInputs(world, operation) * getBytes(operation.type);
  std::string data;
  if (operation.kind != Kind::Recv && operation.input)
    data.assign(static_cast<const char *>(operation.input), bytes);
  if (operation.kind == Kind::Send)
    world.messages[{rank, operation.peer}].push_back(std::move(data));
  if (operation.kind == Kind::Send || operation.kind == Kind::Recv)
    return true;
  Meeting &meeting = world.meetings[operation.number];
  std::string signature =
      std::to_string(static_cast<int>(operation.kind)) + "/" +
      std::to_string(operation.count) + "/" + std::to_string(operation.type) +
      "/" + std::to_string(operation.op) + "/" + std::to_string(operation.peer);
  if (meeting.first.empty())
    meeting.first = signature;
  if (meeting.first != signature) {
    world.defect = "collective " + std::to_string(operation.number) + " is " +
                   meeting.first + " and " + signature;
    return false;
  }
  meeting.inputs[rank] = std::move(data);
  meeting.time = std::max(meeting.time, now);
  return true;
}

bool standin::isReady(const World &world, int rank, const Operation &operation,
                      size_t before) {
  if (operation.kind == Kind::Send || getSettings().alone)
    return true;
  if (operation.kind == Kind::Recv) {
    auto found = world.messages.find({operation.peer, rank});
    return found != world.messages.end() && found->second.size() > before;
  }
  auto found = world.meetings.find(operation.number);
  return found != world.meetings.end() &&
         static_cast<int>(found->second.inputs.size()) == world.size;
}

static void reduce(const std::map<int, std::string> &inputs, size_t offset,
                   const Operation &operation) {
  std::vector<const void *> sources;
  for (const auto &[rank, data] : inputs)
    sources.push_back(data.data() + offset);
  reduceInOrder(getType(operation.type), getReduction(operation.op),
                sources.data(), static_cast<int64_t>(sources.size()),
                operation.output, static_cast<int64_t>(operation.count));
}

void standin::finish(World &world, int rank, const Operation &operation,
                     double &now) {
  auto *output = static_cast<char *>(operation.output);
  size_t bytes = operation.count * getBytes(operation.type);
  if (operation.kind == Kind::Send || getSettings().alone) {
    now += operationNs;
    return;
  }
  if (operation.kind == Kind::Recv) {
    std::deque<std::string> &queue = world.messages[{operation.peer, rank}];
    if (queue.front().size() != bytes)
      world.defect = "a message of " + std::to_string(queue.front().size()) +
                     " bytes, received as " + std::to_string(bytes);
    std::memcpy(output, queue.front().data(),
                std::min(bytes, queue.front().size()));
    queue.pop_front();
    now += operationNs;
    return;
  }
  Meeting &meeting = world.meetings[operation.number];
  now = std::max(now, meeting.time) + operationNs;
  switch (operation.kind) {
  case Kind::AllGather:
    for (const auto &[other, data] : meeting.inputs)
      std::memcpy(output + other * bytes, data.data(), bytes);
    break;
  case Kind::AllToAll:
    for (const auto &[other, data] : meeting.inputs)
      std::memcpy(output + other * bytes, data.data() + rank * bytes, bytes);
    break;
  case Kind::Broadcast:
    std::memcpy(output, meeting.inputs[operation.peer].data(), bytes);
    break;
  case Kind::AllReduce:
    reduce(meeting.inputs, 0, operation);
    break;
  default:
    reduce(meeting.inputs, rank * bytes, operation);
  }
  if (++meeting.numDone == world.size)
    world.meetings.erase(operation.number);
}
