//===- SharedLinks.cpp - Collectives that share links ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedLinks.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// SharedLink
//===----------------------------------------------------------------------===//

void SharedLink::setClock(int64_t nowNs) {
  if (!inFlight.empty())
    clock += static_cast<WideTime>(nowNs - clockSetNs) * partsPerNs /
             inFlight.size();
  clockSetNs = nowNs;
}

void SharedLink::begin(NodeId collective, int64_t costNs, int64_t nowNs) {
  setClock(nowNs);
  inFlight.push(
      {clock + static_cast<WideTime>(costNs) * partsPerNs, collective});
}

NodeId SharedLink::end(int64_t nowNs) {
  setClock(nowNs);
  NodeId collective = inFlight.top().collective;
  inFlight.pop();
  return collective;
}

int64_t SharedLink::nextEndNs() const {
  if (inFlight.empty())
    return neverNs;
  // Others of the same instant may have let the clock pass.
  WideTime end = std::max(inFlight.top().end, clock);
  WideTime parts = (end - clock) * inFlight.size();
  return clockSetNs +
         static_cast<int64_t>((parts + partsPerNs - 1) / partsPerNs);
}

//===----------------------------------------------------------------------===//
// SharedLinks
//===----------------------------------------------------------------------===//

SharedLinks::SharedLinks(StreamId numStreams,
                         const std::vector<int32_t> &linkOf) {
  std::vector<int32_t> shared = linkOf;
  std::sort(shared.begin(), shared.end());
  shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
  size_t numLinks = shared.size();
  for (StreamId stream = 0; stream < numStreams; ++stream) {
    int32_t link = linkOf.empty() ? -1 : linkOf[stream];
    size_t index =
        link == -1 ? numLinks++
                   : static_cast<size_t>(
                         std::lower_bound(shared.begin(), shared.end(), link) -
                         shared.begin());
    linkIndices.push_back(static_cast<int32_t>(index));
  }
  links.resize(numLinks);
}

void SharedLinks::begin(StreamId stream, NodeId collective, int64_t costNs,
                        int64_t nowNs) {
  int32_t link = linkIndices[stream];
  links[link].begin(collective, costNs, nowNs);
  events.push({links[link].nextEndNs(), link});
  ++numInFlight;
}

int64_t SharedLinks::nextEndNs() {
  while (!events.empty()) {
    Event event = events.top();
    if (links[event.link].nextEndNs() == event.timeNs)
      return event.timeNs;
    events.pop();
  }
  return neverNs;
}

NodeId SharedLinks::end(int64_t &nowNs) {
  nowNs = nextEndNs();
  int32_t link = events.top().link;
  events.pop();
  NodeId collective = links[link].end(nowNs);
  if (int64_t next = links[link].nextEndNs(); next != neverNs)
    events.push({next, link});
  --numInFlight;
  return collective;
}
