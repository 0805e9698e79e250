//===- JobAddress.cpp - Where the ranks of a job meet ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap/JobAddress.h"

#include <charconv>
#include <cstring>

using namespace commsched::runtime;

namespace {

/// Reads variables as integers and keeps the first error.
class IntegerReader {
public:
  explicit IntegerReader(const GetEnvironment &get) : get(get) {}

  /// None where `name` is not set.
  std::optional<int32_t> read(const char *name, int32_t most) {
    const char *text = get(name);
    if (!text || !*text)
      return std::nullopt;
    int32_t value = 0;
    const char *end = text + std::strlen(text);
    auto [stop, code] = std::from_chars(text, end, value);
    if (code == std::errc() && stop == end && value >= 1 && value <= most)
      return value;
    if (!error)
      error = "the environment variable " + std::string(name) + " is '" + text +
              "', not an integer from 1 to " + std::to_string(most);
    return std::nullopt;
  }

  Error error;

private:
  const GetEnvironment &get;
};

constexpr const char *jobNames[] = {"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE",
                                    "OMPI_MCA_orte_ess_jobid"};

} // namespace

Error commsched::runtime::readJobAddress(const GetEnvironment &getEnvironment,
                                         JobAddress &result) {
  IntegerReader reader(getEnvironment);
  std::optional<int32_t> port = reader.read("COMMSCHED_PORT", 65535);
  std::optional<int32_t> masterPort = reader.read("MASTER_PORT", 65534);
  std::optional<int32_t> size = reader.read("OMPI_COMM_WORLD_SIZE", INT32_MAX);
  std::optional<int32_t> localSize =
      reader.read("OMPI_COMM_WORLD_LOCAL_SIZE", INT32_MAX);
  if (reader.error)
    return reader.error;

  const char *address = getEnvironment("MASTER_ADDR");
  if (address && *address)
    result.address = address;
  else if (size && localSize && *size != *localSize)
    return "only " + std::to_string(*localSize) + " of " +
           std::to_string(*size) +
           " ranks are on this machine: set MASTER_ADDR to the address of "
           "rank 0's";
  if (port)
    result.port = *port;
  else if (masterPort)
    result.port = *masterPort + 1;

  for (const char *name : jobNames)
    if (const char *job = getEnvironment(name); job && result.job.empty())
      result.job = job;
  return std::nullopt;
}
