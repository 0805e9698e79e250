//===- Contention.cpp - What runs at once slows itself down ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Contention.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

OptionalError schedule::check(const Contention &contention,
                              const Problem &problem) {
  StreamId numStreams = problem.numStreams();
  for (auto [first, second] : contention.exclusive) {
    for (StreamId stream : {first, second})
      if (stream < 0 || stream >= numStreams)
        return "exclusive stream " + std::to_string(stream) +
               " is not one of the " + std::to_string(numStreams) +
               " of the problem";
    if (first == second)
      return "stream " + std::to_string(first) + " is exclusive with itself";
  }
  const std::vector<int32_t> &links = contention.links;
  if (!links.empty() && links.size() != static_cast<size_t>(numStreams))
    return "there are links for " + std::to_string(links.size()) +
           " streams, but the problem has " + std::to_string(numStreams);
  for (size_t stream = 0; stream < links.size(); ++stream)
    if (links[stream] < -1)
      return "stream " + std::to_string(stream) + " is on link " +
             std::to_string(links[stream]);
  int64_t ppm = contention.computeSlowdownPpm;
  if (ppm < 0 || ppm > Contention::maxComputeSlowdownPpm)
    return "computation slows down by " + std::to_string(ppm) +
           " millionths, not by 0 to " +
           std::to_string(Contention::maxComputeSlowdownPpm);
  return std::nullopt;
}
