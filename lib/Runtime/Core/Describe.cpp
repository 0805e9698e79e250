//===- Describe.cpp - Launches in words -------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Describe.h"

#include "Numerics/Types.h"

using namespace commsched::runtime;

static std::string quoteSite(const Site &site) {
  return std::string(getName(site.kind)) + " '" + site.name + "'";
}

std::string commsched::runtime::describeSite(const Site &site) {
  std::string text = quoteSite(site);
  if (!site.location.empty())
    text += " (" + site.location + ")";
  return text;
}

std::string commsched::runtime::describeLaunch(const Launch &launch) {
  return describeSite(*launch.site) + " on group '" + launch.group->name +
         "', launch " + std::to_string(launch.sequence);
}

std::string commsched::runtime::describeLast(const Launch &launch) {
  return "launch " + std::to_string(launch.sequence) + " on group '" +
         launch.group->name + "', " + quoteSite(*launch.site);
}

std::string commsched::runtime::describeTimeout(
    const Launch &launch, int64_t deadlineMs,
    const std::vector<std::pair<int32_t, std::string>> &missing) {
  std::string text = "timed out after " + std::to_string(deadlineMs) +
                     " ms in the wait for " + describeLaunch(launch);
  const char *separator = ": ";
  for (const auto &[rank, what] : missing) {
    text += separator + ("rank " + std::to_string(rank)) + " " + what;
    separator = "; ";
  }
  return text;
}
