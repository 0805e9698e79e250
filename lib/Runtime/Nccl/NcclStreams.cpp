//===- NcclStreams.cpp - Work that the backend enqueues -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The methods of NcclBackend that enqueue work on streams: launches and waits,
// compute, copies and buffers.
//
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

#include "Core/EmulatedData.h"
#include "Core/Sites.h"
#include "Nccl/Kernels.h"
#include "Numerics/ElementTypes.h"

#include <algorithm>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

//===----------------------------------------------------------------------===//
// Launches and waits
//===----------------------------------------------------------------------===//

static Error atStart(const Launch &launch, const Error &error) {
  if (!error)
    return error;
  return "at the start of " + describeLaunch(launch) + ": " + *error;
}

std::unique_ptr<Request> NcclBackend::start(Launch given, Error &error) {
  auto request = std::make_unique<NcclRequest>();
  request->state = launch(given, error);
  return request->state ? std::move(request) : nullptr;
}

LaunchStatePtr NcclBackend::launch(const Launch &launch, Error &error) {
  error = hasGivenUp ? Error("'nccl' has given up") : bootstrap->getFailure();
  // Launches that other ranks wait for go first. A launch that NCCL still
  // prepares must not be overtaken by one of another group.
  bool isPutOff = isPointToPoint(launch.site->kind);
  bool joins = isPutOff && !putOff.empty() &&
               putOff.front()->launch.group == launch.group;
  if (!error && !joins)
    error = flush();
  if (!error && !joins)
    error = settle(getDeadline());
  progress.setStarted(launch);
  auto state = std::make_shared<LaunchState>();
  state->launch = launch;
  Channel &channel = channels[launch.group->index];
  if (!error && isPutOff)
    putOff.push_back(state);
  else if (!error)
    error = enqueue(channel, {state});
  if (!error) {
    reportProgress(channel);
    return state;
  }
  error = atStart(launch, error);
  return nullptr;
}

Error NcclBackend::flush() {
  if (putOff.empty())
    return std::nullopt;
  if (Error error = settle(getDeadline()))
    return error;
  std::vector<LaunchStatePtr> states = std::move(putOff);
  putOff.clear();
  return atStart(
      states.front()->launch,
      enqueue(channels[states.front()->launch.group->index], states));
}

Error NcclBackend::enqueue(Channel &channel,
                           const std::vector<LaunchStatePtr> &states) {
  if (Error error =
          checkCuda(cudaEventRecord(ready, computeStream), "cudaEventRecord"))
    return error;
  if (Error error = checkCuda(cudaStreamWaitEvent(channel.stream, ready, 0),
                              "cudaStreamWaitEvent"))
    return error;
  Event begin;
  if (Error error = events.record(channel.stream, begin))
    return error;
  std::vector<const Launch *> launches;
  for (const LaunchStatePtr &state : states) {
    state->begin = begin;
    launches.push_back(&state->launch);
    channel.states.push_back(state);
  }
  unsettled = states;
  NcclStream target{channel.comm, channel.stream, scratch};
  if (Error error = nccl::enqueue(launches, target))
    return giveUp(error);
  bool settled = false;
  return trySettle(settled);
}

Error NcclBackend::trySettle(bool &settled) {
  settled = unsettled.empty();
  if (settled)
    return std::nullopt;
  Channel &channel = channels[unsettled.front()->launch.group->index];
  if (Error error = communicators.isSettled(channel.comm, settled))
    return giveUp(error);
  return settled ? finishEnqueuing() : std::nullopt;
}

Error NcclBackend::settle(Deadline deadline) {
  if (unsettled.empty())
    return std::nullopt;
  Channel &channel = channels[unsettled.front()->launch.group->index];
  if (Error error = communicators.settle(
          channel.comm, watch(deadline, [this] { return describeStuck(); })))
    return giveUp(error);
  return finishEnqueuing();
}

Error NcclBackend::finishEnqueuing() {
  std::vector<LaunchStatePtr> states = std::move(unsettled);
  unsettled.clear();
  Channel &channel = channels[states.front()->launch.group->index];
  Event end;
  if (Error error = events.record(channel.stream, end))
    return error;
  for (const LaunchStatePtr &state : states) {
    state->end = end;
    addInterval(COMMSCHED_RECORD_COLLECTIVE, state->launch.site->index,
                state->begin, end);
  }
  return std::nullopt;
}

/// Reports the progress of the GPU to the recorder, and drops completed
/// launches.
void NcclBackend::reportProgress(Channel &channel) {
  while (!channel.states.empty()) {
    LaunchState &state = *channel.states.front();
    bool passed = false;
    if (!state.begin || queryEvent(state.begin, passed) || !passed)
      return;
    if (!state.isReported)
      recorder.setStarted(state.launch);
    state.isReported = true;
    if (!state.end || queryEvent(state.end, passed) || !passed)
      return;
    recorder.setCompleted(state.launch);
    channel.states.pop_front();
  }
}

bool NcclBackend::test(Request &request, Error &error) {
  const LaunchState &state = *static_cast<NcclRequest &>(request).state;
  bool passed = false;
  if (!(error = bootstrap->getFailure()) && !(error = flush()) &&
      !(error = trySettle(passed)) && state.end)
    error = queryEvent(state.end, passed);
  return !error && state.end && passed;
}

Error NcclBackend::wait(Request &request, Deadline deadline) {
  return awaitLaunch(static_cast<NcclRequest &>(request).state, deadline);
}

Error NcclBackend::barrier(const Launch &given, Deadline deadline) {
  Error error;
  LaunchStatePtr state = launch(given, error);
  return state ? awaitLaunch(state, deadline) : error;
}

Error NcclBackend::awaitLaunch(const LaunchStatePtr &state, Deadline deadline) {
  if (Error error = bootstrap->getFailure())
    return "in the wait for " + describeLaunch(state->launch) + ": " + *error;
  if (Error error = flush())
    return error;
  if (!state->end)
    if (Error error = settle(deadline))
      return error;
  Event begin, end;
  if (Error error = recordStep(computeStream, begin))
    return error;
  if (Error error =
          checkCuda(cudaStreamWaitEvent(computeStream, state->end.get(), 0),
                    "cudaStreamWaitEvent"))
    return error;
  if (Error error = recordStep(computeStream, end))
    return error;
  addInterval(COMMSCHED_RECORD_WAIT, state->launch.site->index, begin, end);
  return std::nullopt;
}

Error NcclBackend::poll() {
  if (Error error = bootstrap->getFailure())
    return error;
  if (Error error = flush())
    return error;
  bool settled = false;
  return trySettle(settled);
}

//===----------------------------------------------------------------------===//
// Compute, copies and buffers
//===----------------------------------------------------------------------===//

Error NcclBackend::compute(const Operator &op, int64_t ns,
                           const void *const *inputs, void *const *outputs) {
  if (Error error = flush())
    return error;
  Event begin, end;
  if (Error error = recordStep(computeStream, begin))
    return error;
  if (ns > 0)
    if (Error error =
            checkCuda(launchSpin(ns, computeStream), "the kernel of compute"))
      return error;
  if (emulatesData)
    if (Error error = emulate(op, inputs, outputs))
      return error;
  if (Error error = recordStep(computeStream, end))
    return error;
  addInterval(COMMSCHED_RECORD_COMPUTE, op.index, begin, end);
  return std::nullopt;
}

/// Computes the outputs on the processor. That is for comparing results, not
/// times: the host waits.
Error NcclBackend::emulate(const Operator &op, const void *const *inputs,
                           void *const *outputs) {
  std::vector<std::vector<char>> copies;
  std::vector<const void *> hostInputs;
  std::vector<void *> hostOutputs;
  auto add = [&](const OperatorBuffer &buffer) {
    copies.emplace_back(buffer.elements * buffer.element.bytes);
    return copies.back().data();
  };
  copies.reserve(op.inputs.size() + op.outputs.size());
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    char *copy = add(op.inputs[i]);
    hostInputs.push_back(copy);
    if (Error error = download(copy, inputs[i], copies.back().size()))
      return error;
  }
  for (const OperatorBuffer &output : op.outputs)
    hostOutputs.push_back(add(output));
  emulateData(op, hostInputs.data(), hostOutputs.data());
  for (size_t i = 0; i < op.outputs.size(); ++i)
    if (Error error = upload(outputs[i], hostOutputs[i],
                             copies[op.inputs.size() + i].size()))
      return error;
  for (const std::vector<char> &copy : copies)
    recorder.addStagedBytes(copy.size());
  return std::nullopt;
}

static std::optional<FloatType> getFloatType(commsched_type type) {
  switch (type) {
  case COMMSCHED_F16:
    return FloatType::F16;
  case COMMSCHED_BF16:
    return FloatType::BF16;
  case COMMSCHED_F32:
    return FloatType::F32;
  case COMMSCHED_F64:
    return FloatType::F64;
  default:
    return std::nullopt;
  }
}

/// Copies rows of `width` bytes.
static Error copyBytes(const StridedCopy &copy, int64_t width,
                       cudaStream_t stream) {
  // Of cudaMemcpy2DAsync.
  constexpr int64_t mostPitch = INT32_MAX;
  auto *target = static_cast<char *>(copy.target);
  auto *source = static_cast<const char *>(copy.source);
  auto move = [&](int64_t row, int64_t bytes) {
    return checkCuda(cudaMemcpyAsync(target + row * copy.targetStride,
                                     source + row * copy.sourceStride, bytes,
                                     cudaMemcpyDeviceToDevice, stream),
                     "cudaMemcpyAsync");
  };
  if (copy.rows == 1)
    return move(0, width);
  auto [least, most] = std::minmax(copy.targetStride, copy.sourceStride);
  if (least == width && most == width)
    return move(0, width * copy.rows);
  if (least >= width && most <= mostPitch)
    return checkCuda(cudaMemcpy2DAsync(target, copy.targetStride, source,
                                       copy.sourceStride, width, copy.rows,
                                       cudaMemcpyDeviceToDevice, stream),
                     "cudaMemcpy2DAsync");
  // Rows that overlap, go backwards or lie far apart.
  for (int64_t row = 0; row < copy.rows; ++row)
    if (Error error = move(row, width))
      return error;
  return std::nullopt;
}

Error NcclBackend::copy(const StridedCopy &copy) {
  if (Error error = flush())
    return error;
  if (copy.rows == 0 || copy.rowElements == 0)
    return std::nullopt;
  if (copy.targetType == copy.sourceType)
    return copyBytes(copy,
                     copy.rowElements *
                         (copy.targetType ? getByteSize(*copy.targetType) : 1),
                     computeStream);
  std::optional<FloatType> target, source;
  if (copy.targetType && copy.sourceType) {
    target = getFloatType(*copy.targetType);
    source = getFloatType(*copy.sourceType);
  }
  auto name = [](std::optional<commsched_type> type) {
    return type ? getName(*type) : "bytes";
  };
  if (!target || !source)
    return std::string("'nccl' cannot convert ") + name(copy.sourceType) +
           " to " + name(copy.targetType);
  return checkCuda(
      launchConvert(*target, *source,
                    {static_cast<char *>(copy.target),
                     static_cast<const char *>(copy.source), copy.targetStride,
                     copy.sourceStride, copy.rows, copy.rowElements},
                    computeStream),
      "the kernel of a conversion");
}

Error NcclBackend::zero(void *target, int64_t bytes) {
  if (Error error = flush())
    return error;
  return checkCuda(cudaMemsetAsync(target, 0, bytes, computeStream),
                   "cudaMemsetAsync");
}

void *NcclBackend::allocate(int64_t bytes, int64_t alignment, Error &error) {
  return memory.allocate(bytes, alignment, error);
}

void NcclBackend::release(void *buffer) {
  // Better lost than taken from work that cannot be stopped.
  bool idle = false;
  if (!hasGivenUp && !waitForIdle(getDeadline()))
    memory.release(buffer);
  else if (!isIdle(idle) && idle)
    memory.release(buffer);
}

Error NcclBackend::upload(void *buffer, const void *host, int64_t bytes) {
  if (Error error = waitForIdle(getDeadline()))
    return error;
  return checkCuda(cudaMemcpy(buffer, host, bytes, cudaMemcpyHostToDevice),
                   "cudaMemcpy");
}

Error NcclBackend::download(void *host, const void *buffer, int64_t bytes) {
  if (Error error = waitForIdle(getDeadline()))
    return error;
  return checkCuda(cudaMemcpy(host, buffer, bytes, cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
}
