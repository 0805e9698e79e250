//===- NcclStreams.cpp - Work that the backend enqueues -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events and memory of CUDA, and the methods of NcclBackend that enqueue work
// on streams: launches and waits, compute, copies and buffers, and the times of
// steps.
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

#include "Core/Program.h"
#include "Nccl/Kernels.h"
#include "Numerics/ElementTypes.h"

#include <algorithm>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

//===----------------------------------------------------------------------===//
// Events and memory
//===----------------------------------------------------------------------===//

Status EventPool::record(cudaStream_t stream, Event &event) {
  cudaEvent_t raw = nullptr;
  if (!idle.empty()) {
    raw = idle.back();
    idle.pop_back();
  } else if (Status status =
                 CALL_CUDA(cudaEventCreateWithFlags, &raw, cudaEventDefault);
             !status) {
    return status;
  }
  event = Event(raw, [this](cudaEvent_t given) { idle.push_back(given); });
  return CALL_CUDA(cudaEventRecord, raw, stream);
}

static constexpr int64_t pageBytes = int64_t(2) << 20;
/// The alignment of cudaMalloc and cudaHostAlloc.
static constexpr int64_t leastAlignment = 256;

static int64_t addSlack(int64_t bytes, int64_t alignment) {
  return bytes + (alignment > leastAlignment ? alignment : 0);
}

void *Memory::add(Block block, int64_t alignment, const Status &status) {
  if (!status) {
    // The next call shall not see this error.
    cudaGetLastError();
    return nullptr;
  }
  auto address = reinterpret_cast<uintptr_t>(block.begin);
  address = (address + alignment - 1) / alignment * alignment;
  void *buffer = reinterpret_cast<void *>(address);
  blocks[buffer] = block;
  return buffer;
}

void *Memory::allocateHost(int64_t bytes, int64_t alignment, Status &status) {
  Block block{nullptr, [](void *begin) { cudaFreeHost(begin); }};
  status = CALL_CUDA(cudaHostAlloc, &block.begin, addSlack(bytes, alignment),
                     cudaHostAllocDefault);
  return add(block, alignment, status);
}

void *Memory::allocate(int64_t bytes, int64_t alignment, Status &status) {
  if (triesNccl && bytes >= pageBytes && alignment <= pageBytes) {
    if (void *buffer = allocateWindow(bytes, status))
      return buffer;
    triesNccl = false;
  }
  Block block{nullptr, [](void *begin) { cudaFree(begin); }};
  status = CALL_CUDA(cudaMalloc, &block.begin, addSlack(bytes, alignment));
  return add(block, alignment, status);
}

void *Memory::allocateWindow(int64_t bytes, Status &status) {
  Block block{nullptr, [](void *begin) { ncclMemFree(begin); }};
  status = CALL_NCCL(nullptr, ncclMemAlloc, &block.begin, bytes);
  return add(block, /*alignment=*/1, status);
}

void Memory::release(void *buffer) {
  auto found = blocks.find(buffer);
  if (found == blocks.end())
    return;
  Block block = found->second;
  blocks.erase(found);
  block.free(block.begin);
}

//===----------------------------------------------------------------------===//
// Launches and waits
//===----------------------------------------------------------------------===//

static Status atStart(const Launch &launch, const Status &status) {
  return status ? status
                : within("at the start of " + describeLaunch(launch), status);
}

std::unique_ptr<Request> NcclBackend::start(Launch launch, Status &status) {
  auto request = std::make_unique<NcclRequest>();
  LaunchStatePtr &state = request->state = std::make_shared<LaunchState>();
  state->launch = launch;
  status = hasGivenUp ? Status("'nccl' has given up") : bootstrap->getFailure();
  if (status)
    status = enqueueEarlier(launch);
  progress.setStarted(launch);
  Channel &channel = getChannel(*launch.group);
  if (status) {
    if (isTransfer(launch.site->kind))
      status = enqueueTransfer(channel, state);
    else if (isPointToPoint(launch.site->kind))
      putOff.push_back(state);
    else
      status = enqueue(channel, {state});
  }
  status = atStart(launch, status);
  if (!status)
    return nullptr;
  reportProgress(channel);
  return request;
}

/// Launches that other ranks wait for go first. A launch that NCCL still
/// prepares must not be overtaken by one of another group. A transfer needs no
/// other rank: it neither waits for what NCCL prepares, nor ends a group of
/// sends and receives.
Status NcclBackend::enqueueEarlier(const Launch &launch) {
  bool joins = isPointToPoint(launch.site->kind) && !putOff.empty() &&
               putOff.front()->launch.group == launch.group;
  if (joins || isTransfer(launch.site->kind))
    return Status();
  COMMSCHED_TRY(flush());
  LaunchStatePtr earlier = unsettled.empty() ? nullptr : unsettled.front();
  Status status = settle(getDeadline());
  return earlier ? atStart(earlier->launch, status) : status;
}

Status NcclBackend::flush() {
  if (putOff.empty())
    return Status();
  COMMSCHED_TRY(settle(getDeadline()));
  std::vector<LaunchStatePtr> states = std::move(putOff);
  putOff.clear();
  return atStart(states.front()->launch,
                 enqueue(getChannel(*states.front()->launch.group), states));
}

Status NcclBackend::enqueueTransfer(Channel &channel,
                                    const LaunchStatePtr &state) {
  const Launch &launch = state->launch;
  bool isOffload = launch.site->kind == COMMSCHED_OFFLOAD;
  if (!channel.stream)
    COMMSCHED_TRY(createStream(channel.stream));
  COMMSCHED_TRY(beginOn(channel, state->begin));
  channel.states.push_back(state);
  for (size_t i = 0; i < launch.getTensors().size(); ++i) {
    const Tensor &tensor = launch.getTensors()[i];
    int64_t bytes = tensor.getInputBytes();
    if (bytes == 0)
      continue;
    COMMSCHED_TRY(
        CALL_CUDA(cudaMemcpyAsync, launch.outputs[i], launch.inputs[i], bytes,
                  isOffload ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
                  channel.stream));
  }
  COMMSCHED_TRY(events.record(channel.stream, state->end));
  addInterval(COMMSCHED_RECORD_COLLECTIVE, launch.site->index, state->begin,
              state->end);
  return Status();
}

Status NcclBackend::beginOn(Channel &channel, Event &begin) {
  COMMSCHED_TRY(CALL_CUDA(cudaEventRecord, ready, computeStream));
  COMMSCHED_TRY(CALL_CUDA(cudaStreamWaitEvent, channel.stream, ready, 0));
  return events.record(channel.stream, begin);
}

Status NcclBackend::enqueue(Channel &channel,
                            const std::vector<LaunchStatePtr> &states) {
  Event begin;
  COMMSCHED_TRY(beginOn(channel, begin));
  std::vector<const Launch *> launches;
  for (const LaunchStatePtr &state : states) {
    state->begin = begin;
    launches.push_back(&state->launch);
    channel.states.push_back(state);
  }
  unsettled = states;
  // Sends and receives, of which there may be several, have no window.
  Launch inWindow;
  if (channel.window.buffer) {
    const Launch &launch = states.front()->launch;
    inWindow = moveIntoWindow(launch, channel.window.buffer);
    launches = {&inWindow};
    COMMSCHED_TRY(copyWindow(channel, launch, /*isInput=*/true));
  }
  COMMSCHED_TRY(orGiveUp(enqueueCalls(launches, channel)));
  return trySettle();
}

Status NcclBackend::trySettle() {
  if (unsettled.empty())
    return Status();
  bool settled = false;
  Channel &channel = getChannel(*unsettled.front()->launch.group);
  COMMSCHED_TRY(orGiveUp(isSettled(channel.comm, settled)));
  return settled ? finishEnqueuing() : Status();
}

Status NcclBackend::settle(Deadline deadline) {
  if (unsettled.empty())
    return Status();
  Channel &channel = getChannel(*unsettled.front()->launch.group);
  COMMSCHED_TRY(orGiveUp(settle(channel.comm, watch(deadline))));
  return finishEnqueuing();
}

Status NcclBackend::finishEnqueuing() {
  std::vector<LaunchStatePtr> states = std::move(unsettled);
  unsettled.clear();
  Channel &channel = getChannel(*states.front()->launch.group);
  if (channel.window.buffer)
    COMMSCHED_TRY(
        copyWindow(channel, states.front()->launch, /*isInput=*/false));
  Event end;
  COMMSCHED_TRY(events.record(channel.stream, end));
  for (const LaunchStatePtr &state : states) {
    state->end = end;
    addInterval(COMMSCHED_RECORD_COLLECTIVE, state->launch.site->index,
                state->begin, end);
  }
  return Status();
}

/// Reports the progress of the GPU to the recorder, and drops completed
/// launches.
void NcclBackend::reportProgress(Channel &channel) {
  while (!channel.states.empty()) {
    LaunchState &state = *channel.states.front();
    bool passed = false;
    if (!state.begin || !queryEvent(state.begin, passed) || !passed)
      return;
    if (!state.isReported)
      recorder.setStarted(state.launch);
    state.isReported = true;
    if (!state.end || !queryEvent(state.end, passed) || !passed)
      return;
    recorder.setCompleted(state.launch);
    channel.states.pop_front();
  }
}

bool NcclBackend::test(Request &request, Status &status) {
  const LaunchState &state = *static_cast<NcclRequest &>(request).state;
  bool passed = false;
  status = bootstrap->getFailure();
  if (status)
    status = flush();
  if (status)
    status = trySettle();
  if (status && state.end)
    status = queryEvent(state.end, passed);
  return status && state.end && passed;
}

Status NcclBackend::wait(Request &request, Deadline deadline) {
  const LaunchStatePtr &state = static_cast<NcclRequest &>(request).state;
  if (Status status = bootstrap->getFailure(); !status)
    return within("in the wait for " + describeLaunch(state->launch), status);
  COMMSCHED_TRY(flush());
  if (!state->end)
    COMMSCHED_TRY(settle(deadline));
  Event begin, end;
  COMMSCHED_TRY(recordStep(computeStream, begin));
  COMMSCHED_TRY(
      CALL_CUDA(cudaStreamWaitEvent, computeStream, state->end.get(), 0));
  COMMSCHED_TRY(recordStep(computeStream, end));
  addInterval(COMMSCHED_RECORD_WAIT, state->launch.site->index, begin, end);
  return Status();
}

Status NcclBackend::poll() {
  COMMSCHED_TRY(bootstrap->getFailure());
  COMMSCHED_TRY(flush());
  return trySettle();
}

//===----------------------------------------------------------------------===//
// Compute, copies and buffers
//===----------------------------------------------------------------------===//

Status NcclBackend::compute(const Operator &op, int64_t ns,
                            const void *const *inputs, void *const *outputs) {
  COMMSCHED_TRY(flush());
  Event begin, end;
  COMMSCHED_TRY(recordStep(computeStream, begin));
  if (ns > 0)
    COMMSCHED_TRY(
        checkCuda(launchSpin(ns, computeStream), "the kernel of compute"));
  if (emulatesData)
    COMMSCHED_TRY(emulate(op, inputs, outputs));
  COMMSCHED_TRY(recordStep(computeStream, end));
  addInterval(COMMSCHED_RECORD_COMPUTE, op.index, begin, end);
  return Status();
}

/// Computes the outputs on the processor. That is for comparing results, not
/// times: the host waits.
Status NcclBackend::emulate(const Operator &op, const void *const *inputs,
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
    COMMSCHED_TRY(download(copy, inputs[i], copies.back().size()));
  }
  for (const OperatorBuffer &output : op.outputs)
    hostOutputs.push_back(add(output));
  emulateData(op, hostInputs.data(), hostOutputs.data());
  for (size_t i = 0; i < op.outputs.size(); ++i)
    COMMSCHED_TRY(upload(outputs[i], hostOutputs[i],
                         copies[op.inputs.size() + i].size()));
  for (const std::vector<char> &copy : copies)
    recorder.addStagedBytes(copy.size());
  return Status();
}

/// Copies rows of `width` bytes, on the GPU or in pinned memory.
static Status copyBytes(const StridedCopy &copy, int64_t width,
                        cudaStream_t stream) {
  // Of cudaMemcpy2DAsync.
  constexpr int64_t mostPitch = INT32_MAX;
  auto *target = static_cast<char *>(copy.target);
  auto *source = static_cast<const char *>(copy.source);
  auto move = [&](int64_t row, int64_t bytes) {
    return CALL_CUDA(cudaMemcpyAsync, target + row * copy.targetStride,
                     source + row * copy.sourceStride, bytes, cudaMemcpyDefault,
                     stream);
  };
  if (copy.rows == 1)
    return move(0, width);
  auto [least, most] = std::minmax(copy.targetStride, copy.sourceStride);
  if (least == width && most == width)
    return move(0, width * copy.rows);
  if (least >= width && most <= mostPitch)
    return CALL_CUDA(cudaMemcpy2DAsync, target, copy.targetStride, source,
                     copy.sourceStride, width, copy.rows, cudaMemcpyDefault,
                     stream);
  // Rows that overlap, go backwards or lie far apart.
  for (int64_t row = 0; row < copy.rows; ++row)
    COMMSCHED_TRY(move(row, width));
  return Status();
}

Status NcclBackend::copy(const StridedCopy &copy) {
  COMMSCHED_TRY(flush());
  if (copy.rows == 0 || copy.rowElements == 0)
    return Status();
  if (copy.targetType == copy.sourceType)
    return copyBytes(copy,
                     copy.rowElements *
                         (copy.targetType ? getByteSize(*copy.targetType) : 1),
                     computeStream);
  cudaError_t code = launchConvert(copy, computeStream);
  auto name = [](std::optional<commsched_type> type) {
    return type ? getName(*type) : "bytes";
  };
  if (code == cudaErrorNotSupported)
    return concat("'nccl' cannot convert ", name(copy.sourceType), " to ",
                  name(copy.targetType));
  return checkCuda(code, "the kernel of a conversion");
}

Status NcclBackend::zero(void *target, int64_t bytes) {
  COMMSCHED_TRY(flush());
  return CALL_CUDA(cudaMemsetAsync, target, 0, bytes, computeStream);
}

void NcclBackend::release(void *buffer) {
  bool idle = false;
  // Better lost than taken from work that cannot be stopped.
  if ((!hasGivenUp && waitForIdle(getDeadline())) || (isIdle(idle) && idle))
    memory.release(buffer);
}

Status NcclBackend::upload(void *buffer, const void *host, int64_t bytes) {
  COMMSCHED_TRY(waitForIdle(getDeadline()));
  // cudaMemcpy may return while the bytes are still on their way, on the
  // default stream, which the backend's streams do not wait for. The buffer may
  // be pinned memory.
  COMMSCHED_TRY(CALL_CUDA(cudaMemcpyAsync, buffer, host, bytes,
                          cudaMemcpyDefault, computeStream));
  return waitForIdle(getDeadline());
}

Status NcclBackend::download(void *host, const void *buffer, int64_t bytes) {
  COMMSCHED_TRY(waitForIdle(getDeadline()));
  return CALL_CUDA(cudaMemcpy, host, buffer, bytes, cudaMemcpyDefault);
}

//===----------------------------------------------------------------------===//
// Times of steps
//===----------------------------------------------------------------------===//

/// Records an event on the stream, but only within a step.
Status NcclBackend::recordStep(cudaStream_t stream, Event &event) {
  return stepBegin ? events.record(stream, event) : Status();
}

void NcclBackend::addInterval(commsched_record_kind kind, int32_t index,
                              Event begin, Event end) {
  if (stepBegin)
    intervals.push_back({kind, index, std::move(begin), std::move(end)});
}

Status NcclBackend::beginStep() {
  intervals.clear();
  stepBegin.reset();
  Deadline deadline = getDeadline();
  COMMSCHED_TRY(waitForIdle(deadline));
  // The hosts have met, but not to the microsecond. This barrier also makes the
  // GPUs' clocks start together.
  COMMSCHED_TRY(orGiveUp(enqueueBarrier(world, computeStream)));
  COMMSCHED_TRY(orGiveUp(settle(world, watch(deadline))));
  return events.record(computeStream, stepBegin);
}

Status NcclBackend::endStep(int64_t &stepNs, Deadline deadline) {
  COMMSCHED_TRY(flush());
  COMMSCHED_TRY(settle(deadline));
  // The step ends when all streams have come to their ends.
  for (Channel &channel : channels) {
    if (!channel.stream)
      continue;
    Event last;
    COMMSCHED_TRY(events.record(channel.stream, last));
    COMMSCHED_TRY(CALL_CUDA(cudaStreamWaitEvent, computeStream, last.get(), 0));
  }
  Event stepEnd;
  COMMSCHED_TRY(events.record(computeStream, stepEnd));
  COMMSCHED_TRY(waitForIdle(deadline));

  Event begin = std::move(stepBegin);
  stepBegin.reset();
  std::vector<TimedInterval> list = std::move(intervals);
  intervals.clear();
  for (const TimedInterval &timed : list) {
    Interval interval;
    COMMSCHED_TRY(getElapsed(begin, timed.begin, interval.beginNs));
    COMMSCHED_TRY(getElapsed(begin, timed.end, interval.endNs));
    recorder.record(timed.kind, timed.index, interval);
  }
  return getElapsed(begin, stepEnd, stepNs);
}
