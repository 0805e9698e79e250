//===- Launches.cpp - Starts and waits on streams -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Describe.h"
#include "Nccl/NcclBackend.h"

#include <algorithm>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

static Error atStart(const Launch &launch, const Error &error) {
  if (!error)
    return error;
  return "at the start of " + describeLaunch(launch) + ": " + *error;
}

std::unique_ptr<Request> NcclBackend::start(Launch given, Error &error) {
  auto request = std::make_unique<NcclRequest>();
  request->flight = launch(given, error);
  return request->flight ? std::move(request) : nullptr;
}

FlightPtr NcclBackend::launch(const Launch &launch, Error &error) {
  error = hasGivenUp ? Error("'nccl' has given up") : bootstrap->getFailure();
  // What others wait for goes first; what NCCL still prepares must not be
  // overtaken by another group's.
  bool isPutOff = isPointToPoint(launch.site->kind);
  bool joins = isPutOff && !putOff.empty() &&
               putOff.front()->launch.group == launch.group;
  if (!error && !joins)
    error = flush();
  if (!error && !joins)
    error = settle(getDeadline());
  progress.setStarted(launch);
  auto flight = std::make_shared<Flight>();
  flight->launch = launch;
  Channel &channel = channels[launch.group->index];
  if (!error && isPutOff)
    putOff.push_back(flight);
  else if (!error)
    error = enqueue(channel, {flight});
  if (!error) {
    reportProgress(channel);
    return flight;
  }
  error = atStart(launch, error);
  return nullptr;
}

Error NcclBackend::flush() {
  if (putOff.empty())
    return std::nullopt;
  if (Error error = settle(getDeadline()))
    return error;
  std::vector<FlightPtr> flights = std::move(putOff);
  putOff.clear();
  return atStart(
      flights.front()->launch,
      enqueue(channels[flights.front()->launch.group->index], flights));
}

Error NcclBackend::enqueue(Channel &channel,
                           const std::vector<FlightPtr> &flights) {
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
  for (const FlightPtr &flight : flights) {
    flight->begin = begin;
    launches.push_back(&flight->launch);
    channel.flights.push_back(flight);
  }
  unsettled = flights;
  Target target{channel.comm, channel.stream, scratch};
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
  std::vector<FlightPtr> flights = std::move(unsettled);
  unsettled.clear();
  Channel &channel = channels[flights.front()->launch.group->index];
  Event end;
  if (Error error = events.record(channel.stream, end))
    return error;
  for (const FlightPtr &flight : flights) {
    flight->end = end;
    addInterval(COMMSCHED_RECORD_COLLECTIVE, flight->launch.site->index,
                flight->begin, end);
  }
  return std::nullopt;
}

/// Tells the recorder how far the GPU is, and forgets what is complete.
void NcclBackend::reportProgress(Channel &channel) {
  while (!channel.flights.empty()) {
    Flight &flight = *channel.flights.front();
    bool passed = false;
    if (!flight.begin || queryEvent(flight.begin, passed) || !passed)
      return;
    if (!flight.isReported)
      recorder.setStarted(flight.launch);
    flight.isReported = true;
    if (!flight.end || queryEvent(flight.end, passed) || !passed)
      return;
    recorder.setCompleted(flight.launch);
    channel.flights.pop_front();
  }
}

bool NcclBackend::test(Request &request, Error &error) {
  const Flight &flight = *static_cast<NcclRequest &>(request).flight;
  bool passed = false;
  if (!(error = bootstrap->getFailure()) && !(error = flush()) &&
      !(error = trySettle(passed)) && flight.end)
    error = queryEvent(flight.end, passed);
  return !error && flight.end && passed;
}

Error NcclBackend::wait(Request &request, Deadline deadline) {
  return awaitFlight(static_cast<NcclRequest &>(request).flight, deadline);
}

Error NcclBackend::barrier(const Launch &given, Deadline deadline) {
  Error error;
  FlightPtr flight = launch(given, error);
  return flight ? awaitFlight(flight, deadline) : error;
}

Error NcclBackend::awaitFlight(const FlightPtr &flight, Deadline deadline) {
  if (Error error = bootstrap->getFailure())
    return "in the wait for " + describeLaunch(flight->launch) + ": " + *error;
  if (Error error = flush())
    return error;
  if (!flight->end)
    if (Error error = settle(deadline))
      return error;
  Event begin, end;
  if (Error error = recordStep(computeStream, begin))
    return error;
  if (Error error =
          checkCuda(cudaStreamWaitEvent(computeStream, flight->end.get(), 0),
                    "cudaStreamWaitEvent"))
    return error;
  if (Error error = recordStep(computeStream, end))
    return error;
  addInterval(COMMSCHED_RECORD_WAIT, flight->launch.site->index, begin, end);
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
