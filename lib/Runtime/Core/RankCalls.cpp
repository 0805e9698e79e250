//===- RankCalls.cpp - What lowered programs make a rank do -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Describe.h"
#include "Core/LaunchCheck.h"
#include "Core/Rank.h"
#include "Numerics/Conversion.h"
#include "Numerics/Types.h"

using namespace commsched::runtime;

Error Rank::makeLaunch(int32_t index, bool isBarrier, const void *const *inputs,
                       void *const *outputs, Launch &launch) {
  if (programs.empty())
    return std::string("no program has been loaded");
  const Program &program = *programs.back();
  if (index < 0 || index >= static_cast<int32_t>(program.sites.size()))
    return "site " + std::to_string(index) +
           " does not exist: the program has " +
           std::to_string(program.sites.size());
  const Site &site = program.sites[index];
  if (isBarrier != (site.kind == COMMSCHED_BARRIER))
    return describeSite(site) + (isBarrier
                                     ? " is no barrier"
                                     : " is started by commsched_barrier only");
  MadeGroup &made = *groups[site.group];
  if (made.group.rank < 0)
    return describeSite(site) + ": rank " + std::to_string(backend->getRank()) +
           " is in no row of group '" + made.group.name + "'";
  launch.site = &site;
  launch.group = &made.group;
  for (size_t i = 0; i < site.tensors.size(); ++i) {
    launch.inputs.push_back(inputs ? inputs[i] : nullptr);
    launch.outputs.push_back(outputs ? outputs[i] : nullptr);
  }
  if (Error failure = checkLaunch(launch))
    return failure;
  launch.sequence = isPointToPoint(site.kind) ? made.numPointToPoint++
                                              : made.numCollectives++;
  launch.record = flightRecord.add(launch);
  return std::nullopt;
}

Error Rank::start(int32_t site, const void *const *inputs, void *const *outputs,
                  int64_t &request) {
  Launch launch;
  if (Error failure =
          makeLaunch(site, /*isBarrier=*/false, inputs, outputs, launch))
    return failure;
  count("starts", 1);
  Error failure;
  std::unique_ptr<Request> made = backend->start(launch, failure);
  if (!made)
    return failure;
  made->launch = std::move(launch);
  request = requests.add(std::move(made));
  return std::nullopt;
}

Error Rank::test(int64_t number, bool &done) {
  Error failure;
  static const std::vector<Site> none;
  Request *request = requests.find(
      number, programs.empty() ? none : programs.back()->sites, failure);
  if (request)
    done = backend->test(*request, failure);
  return failure;
}

Error Rank::wait(int64_t number) {
  Error failure;
  static const std::vector<Site> none;
  Request *request = requests.find(
      number, programs.empty() ? none : programs.back()->sites, failure);
  if (!request)
    return failure;
  if ((failure = backend->wait(*request, getDeadline())))
    return failure;
  flightRecord.setRetired(request->launch.record);
  requests.remove(number);
  return std::nullopt;
}

Error Rank::barrier(int32_t site) {
  Launch launch;
  if (Error failure =
          makeLaunch(site, /*isBarrier=*/true, nullptr, nullptr, launch))
    return failure;
  count("starts", 1);
  if (Error failure = backend->barrier(launch, getDeadline()))
    return failure;
  flightRecord.setRetired(launch.record);
  return std::nullopt;
}

Error Rank::compute(int32_t index, int64_t ns, const void *const *inputs,
                    void *const *outputs) {
  if (programs.empty())
    return std::string("no program has been loaded");
  const Program &program = *programs.back();
  if (index < 0 || index >= static_cast<int32_t>(program.operators.size()))
    return "operator " + std::to_string(index) +
           " does not exist: the program has " +
           std::to_string(program.operators.size());
  const Operator &op = program.operators[index];
  if (ns < 0)
    return "operator '" + op.name + "' takes " + std::to_string(ns) + " ns";
  if (options.emulate_data) {
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (op.inputs[i].elements > 0 && (!inputs || !inputs[i]))
        return "operator '" + op.name + "': input " + std::to_string(i) +
               " is null";
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (op.outputs[i].elements > 0 && (!outputs || !outputs[i]))
        return "operator '" + op.name + "': output " + std::to_string(i) +
               " is null";
  }
  return backend->compute(op, ns, inputs, outputs);
}

Error Rank::account(int32_t index, int64_t ns) {
  // The operator has no buffers, so that there is nothing to make up.
  return options.modelled_times ? compute(index, ns, nullptr, nullptr)
                                : std::nullopt;
}

Error Rank::copy(const StridedCopy &copy) {
  if (copy.rows < 0 || copy.rowElements < 0)
    return "cannot copy " + std::to_string(copy.rows) + " rows of " +
           std::to_string(copy.rowElements) + " elements";
  int64_t elements = copy.rows * copy.rowElements;
  if (elements > 0 && (!copy.target || !copy.source))
    return std::string("cannot copy: the ") +
           (copy.target ? "source" : "target") + " is null";
  if (copy.targetType && copy.sourceType)
    if (Error failure = checkConversion(*copy.targetType, *copy.sourceType))
      return failure;
  count("copies", 1);
  count("copied_bytes",
        elements * (copy.targetType ? getByteSize(*copy.targetType) : 1));
  return backend->copy(copy);
}

Error Rank::beginStep() {
  if (const Launch *launch = requests.getOldest())
    return "commsched_begin_step before the wait for " +
           describeLaunch(*launch);
  std::vector<std::string> all;
  if (Error failure = backend->exchange("", all, getDeadline()))
    return failure;
  records.begin();
  return backend->beginStep();
}

Error Rank::endStep(int64_t &ns) {
  if (!records.isRunning())
    return std::string("commsched_end_step without commsched_begin_step");
  Error failure = backend->endStep(ns, getDeadline());
  records.end();
  return failure;
}

Error Rank::exchange(const std::string &mine, std::vector<std::string> &all) {
  return backend->exchange(mine, all, getDeadline());
}
