//===- MpiBackend.cpp - Ranks as processes of an MPI job ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiBackend.h"

#include "Collectives.h"
#include "Session.h"

#include "Core/Describe.h"
#include "Core/EmulatedData.h"
#include "Numerics/Conversion.h"
#include "Numerics/Types.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

MpiBackend::MpiBackend(const BackendConfig &config, int64_t maxCount)
    : recorder(*config.recorder), deadlineMs(config.options->deadline_ms),
      emulatesData(config.options->emulate_data != 0), board(getBoard()),
      types(maxCount) {}

Error MpiBackend::checkSite(const Site &site) const {
  if (site.reduction)
    for (const Tensor &tensor : site.tensors)
      if (Error error = checkReduction(tensor.element, *site.reduction))
        return error;
  return checkLimits(site);
}

Error MpiBackend::checkHostCode(const std::string &) const { return {}; }

int64_t MpiBackend::getStepNs(Clock::time_point time) const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time - stepBegin)
      .count();
}

/// All MPI requests of the launch have ended.
void MpiBackend::complete(MpiRequest &request) {
  finishCollective(request);
  for (const Staged &staged : request.staged)
    recorder.addStagedBytes(staged.bytes);
  request.staged.clear();
  request.isDone = true;
  recorder.record(COMMSCHED_RECORD_COLLECTIVE, request.launch.site->index,
                  {getStepNs(request.begin), getStepNs(Clock::now())});
  recorder.setCompleted(request.launch);
}

Error MpiBackend::progress() {
  ended.clear();
  Error error = flight.poll(ended);
  if (error)
    return error;
  for (MpiRequest *request : ended)
    complete(*request);
  return {};
}

Error MpiBackend::startRequest(MpiRequest &request) {
  const Launch &launch = request.launch;
  MPI_Comm communicator = launch.group->rank < 0
                              ? MPI_COMM_NULL
                              : communicators[launch.group->index];
  if (communicator == MPI_COMM_NULL)
    return describeLaunch(launch) + ": this rank is not in the group";
  if (Error error = board.start(launch))
    return error;
  request.begin = Clock::now();
  recorder.setStarted(launch);
  if (Error error = startCollective(request, communicator, types))
    return describeLaunch(launch) + ": " + *error;
  if (request.numPending == 0)
    complete(request);
  return {};
}

std::unique_ptr<Request> MpiBackend::start(Launch launch, Error &error) {
  auto request = std::make_unique<MpiRequest>(flight);
  request->launch = std::move(launch);
  error = startRequest(*request);
  if (error)
    return nullptr;
  return request;
}

bool MpiBackend::test(Request &request, Error &error) {
  error = poll();
  return !error && static_cast<MpiRequest &>(request).isDone;
}

Error MpiBackend::wait(Request &request, Deadline deadline) {
  Clock::time_point begin = Clock::now();
  // Who stands still anyway has nothing to make up for.
  if (!static_cast<MpiRequest &>(request).isDone)
    overslept = {};
  if (Error error = await(static_cast<MpiRequest &>(request), deadline))
    return error;
  recorder.record(COMMSCHED_RECORD_WAIT, request.launch.site->index,
                  {getStepNs(begin), getStepNs(Clock::now())});
  return {};
}

Error MpiBackend::barrier(const Launch &launch, Deadline deadline) {
  MpiRequest request(flight);
  request.launch = launch;
  if (Error error = startRequest(request))
    return error;
  return wait(request, deadline);
}

Error MpiBackend::poll() {
  if (Error error = progress())
    return error;
  Ranks failed = findFailed(Clock::now(), /*launch=*/nullptr);
  return failed.empty() ? Error() : describeRanks(failed);
}

Error MpiBackend::compute(const Operator &op, int64_t ns,
                          const void *const *inputs, void *const *outputs) {
  // A sleep takes longer than it is asked to. What this operator oversleeps,
  // the next one has less to wait: the errors of many small ones do not add up.
  Clock::time_point begin = Clock::now() - overslept;
  Clock::time_point end = begin + std::chrono::nanoseconds(ns);
  if (emulatesData)
    emulateData(op, inputs, outputs);
  // Near the end, a sleep would take too long.
  constexpr auto margin = std::chrono::microseconds(60);
  Clock::time_point now;
  for (;;) {
    if (Error error = poll())
      return "in operator '" + op.name +
             (op.location.empty() ? "'" : "' (" + op.location + ")") + ": " +
             *error;
    now = Clock::now();
    if (now >= end)
      break;
    if (end - now > margin)
      sleepSlice();
    else
      sched_yield();
  }
  overslept = now - end;
  recorder.record(COMMSCHED_RECORD_COMPUTE, op.index,
                  {getStepNs(begin), getStepNs(end)});
  return {};
}

Error MpiBackend::copy(const StridedCopy &copy) { return copyRows(copy); }

Error MpiBackend::zero(void *target, int64_t bytes) {
  std::memset(target, 0, bytes);
  return {};
}

void *MpiBackend::allocate(int64_t bytes, int64_t alignment, Error &error) {
  void *buffer = nullptr;
  if (posix_memalign(&buffer, std::max<int64_t>(alignment, 64), bytes) == 0)
    return buffer;
  error = "no memory for a buffer of " + std::to_string(bytes) + " bytes";
  return nullptr;
}

void MpiBackend::release(void *buffer) { std::free(buffer); }

Error MpiBackend::upload(void *buffer, const void *host, int64_t bytes) {
  std::memcpy(buffer, host, bytes);
  return {};
}

Error MpiBackend::download(void *host, const void *buffer, int64_t bytes) {
  std::memcpy(host, buffer, bytes);
  return {};
}

Error MpiBackend::beginStep() {
  stepBegin = Clock::now();
  overslept = {};
  return {};
}

Error MpiBackend::endStep(int64_t &stepNs, Deadline deadline) {
  if (Error error = synchronize(deadline))
    return error;
  stepNs = getStepNs(Clock::now());
  return {};
}
