//===- NcclGroup.cpp - One collective in NCCL's terms ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "NcclGroup.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

/// floor(log2(value)) for value >= 1.
static int log2Floor(uint64_t value) {
  int result = 0;
  while (value >>= 1)
    ++result;
  return result;
}

bool NcclGroup::considers(NcclAlgorithm algorithm,
                          NcclProtocol protocol) const {
  if (protocol == NcclProtocol::LL128 &&
      !(target.ll128 != 0 && target.nvlink != 0 &&
        (nodes == 1 || target.ll128Network != 0)))
    return false;
  bool simple = protocol == NcclProtocol::Simple;
  bool nvls = simple && target.nvls != 0 && generation >= 2 && nvlsHeads() >= 2;
  switch (algorithm) {
  case NcclAlgorithm::Ring:
    return reducesEverywhere() || gathersOrScatters() ||
           kind == CollectiveKind::Broadcast;
  case NcclAlgorithm::Tree:
    return reducesEverywhere();
  case NcclAlgorithm::NVLS:
    // Across nodes the network must reduce as well. NCCL then also needs a
    // plugin for gathers and scatters, which is left out here.
    if (nodes > 1)
      return nvls && reducesEverywhere() && target.collnet != 0;
    return nvls && (reducesEverywhere() || gathersOrScatters());
  case NcclAlgorithm::NVLSTree:
    return nvls && reducesEverywhere() && nodes > 1;
  case NcclAlgorithm::PAT:
    return simple && target.pat != 0 && gathersOrScatters() && nodes > 1 &&
           nodes == ranks;
  case NcclAlgorithm::PointToPoint:
  case NcclAlgorithm::Local:
    return false;
  }
  llvm_unreachable("unknown algorithm");
}

double NcclGroup::ringOrTreeBusBandwidth(NcclAlgorithm algorithm,
                                         NcclProtocol protocol) const {
  bool tree = algorithm == NcclAlgorithm::Tree;
  double bus = intraBandwidth();
  if (nodes > 1)
    // With two nodes a tree crosses each NIC once in each direction, so that
    // NCCL lets its channels run at up to twice the NIC's rate.
    bus = tree && nodes == 2 ? std::min(2 * networkBandwidth(), bus)
                             : networkBandwidth();
  if (algorithm == NcclAlgorithm::PAT)
    return 0.75 * bus;
  if (!tree) {
    if (protocol == NcclProtocol::LL)
      return std::min(llMax(), 0.5 * bus);
    if (protocol == NcclProtocol::LL128)
      return std::min(0.92 * bus,
                      channels() *
                          nccl::ringLL128ChannelGBs[generation][nodeClass]);
    return bus;
  }
  bus = std::min(0.92 * bus,
                 channels() * nccl::treeChannelGBs[generation][nodeClass]);
  if (protocol == NcclProtocol::LL)
    return std::min(bus / 3.8, llMax());
  if (protocol == NcclProtocol::LL128)
    return std::min(bus * (nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                    channels() *
                        nccl::treeLL128ChannelGBs[generation][nodeClass]);
  return bus;
}

double NcclGroup::nvlsBusBandwidth(NcclAlgorithm algorithm) const {
  // Every head pulls from all accelerators of the node: the search needs room
  // for one more channel than there are heads.
  double fits = target.nvlinkGBs / (nvlsHeads() + 1);
  llvm::ArrayRef<double> speeds = nccl::hopperSpeeds;
  if (generation >= 3)
    speeds = nccl::blackwellSpeeds;
  double speed = fits;
  for (double candidate : speeds)
    if (candidate <= fits) {
      speed = candidate;
      break;
    }
  double heads = nvlsHeads();
  double inter = speed;
  if (nodes > 1) {
    double nic = target.nicGBs * target.netEfficiency * ranksPerNode / heads;
    speed = std::min(speed, nic);
    inter = nic;
    if (algorithm == NcclAlgorithm::NVLSTree) {
      inter *= nodes == 2 ? 2 : 1;
      inter = std::min(inter, nccl::nvlsTreeChannelGBs[generation][nodeClass]);
    }
  }
  double intra = speed * target.nvlsEfficiency * (heads - 1) / heads;
  // An all_reduce keeps both directions of the link busy.
  intra *= reducesEverywhere() ? 2 : (ranksPerNode - 1) / ranksPerNode;
  return heads * (nodes == 1 ? intra : std::min(intra, inter));
}

double NcclGroup::bandwidth(NcclAlgorithm algorithm,
                            NcclProtocol protocol) const {
  bool nvls =
      algorithm == NcclAlgorithm::NVLS || algorithm == NcclAlgorithm::NVLSTree;
  double bus = nvls ? nvlsBusBandwidth(algorithm)
                    : ringOrTreeBusBandwidth(algorithm, protocol);
  if (algorithm != NcclAlgorithm::Ring && gathersOrScatters())
    return bus;
  if (algorithm == NcclAlgorithm::Tree)
    return 0.5 * bus;
  return bus * ranks / steps();
}

double NcclGroup::interHop(NcclAlgorithm algorithm,
                           NcclProtocol protocol) const {
  // With one rank a node nothing hides the network's latency: NCCL then takes
  // the tree's.
  NcclAlgorithm row = ranks == nodes ? NcclAlgorithm::Tree : algorithm;
  double latency = hop(nccl::Network, row, protocol) + target.netLatencyUs;
  if (protocol == NcclProtocol::Simple)
    latency += target.netLatencyUs;
  return latency;
}

double NcclGroup::ringLatency(NcclProtocol protocol, int64_t bytes) const {
  constexpr NcclAlgorithm ring = NcclAlgorithm::Ring;
  double base =
      nccl::baseLatency[static_cast<int>(ring)][static_cast<int>(protocol)];
  nccl::Link link = nodes == 1 ? intraLink() : nccl::Network;
  if (kind == CollectiveKind::Broadcast)
    return base + hop(link, ring, protocol);
  double intra = hop(intraLink(), ring, protocol);
  double interSteps = 0;
  if (nodes > 1) {
    double overhead = target.amdCpu != 0 ? 2.0 : 1.0;
    if (protocol == NcclProtocol::Simple)
      overhead *= 3;
    intra = std::max(intra, overhead);
    interSteps = (reducesEverywhere() ? 2.0 : 1.0) * (nodes - 1);
  }
  double latency = base + (steps() - interSteps) * intra +
                   interSteps * interHop(ring, protocol);
  bool plateau = protocol == NcclProtocol::Simple && reducesEverywhere() &&
                 nodes > 1 &&
                 static_cast<double>(bytes) >= 64 * channels() * ranks;
  if (plateau)
    latency *= generation == 0 ? 1.9 : 1.4;
  return latency;
}

double NcclGroup::latency(NcclAlgorithm algorithm, NcclProtocol protocol,
                          int64_t bytes) const {
  if (algorithm == NcclAlgorithm::Ring)
    return ringLatency(protocol, bytes);
  double base = nccl::baseLatency[static_cast<int>(algorithm)]
                                 [static_cast<int>(protocol)];
  double intra = hop(intraLink(), algorithm, protocol);
  double inter = interHop(algorithm, protocol);
  int depth = log2Floor(nodes);
  switch (algorithm) {
  case NcclAlgorithm::Tree:
    return base + 2 * ((ranks / nodes - 1) * intra + depth * inter);
  case NcclAlgorithm::NVLS:
    return intra + (nodes > 1 ? inter : 0);
  case NcclAlgorithm::NVLSTree:
    return base + intra + 2 * depth * inter;
  case NcclAlgorithm::PAT:
    return base + depth * (inter / 3.5) + 2.8 * ranks;
  case NcclAlgorithm::Ring:
  case NcclAlgorithm::PointToPoint:
  case NcclAlgorithm::Local:
    break;
  }
  llvm_unreachable("algorithm without a latency");
}

double NcclGroup::time(NcclAlgorithm algorithm, NcclProtocol protocol,
                       int64_t bytes) const {
  double rate = bandwidth(algorithm, protocol);
  if (algorithm == NcclAlgorithm::Tree && bytes >= 64) {
    int bin = log2Floor(static_cast<uint64_t>(bytes) / 64);
    if (bin < nccl::numTreeCorrections)
      rate *= nccl::treeCorrection[static_cast<int>(protocol)][bin];
  }
  return latency(algorithm, protocol, bytes) * latencyCount(algorithm) +
         static_cast<double>(bytes) / (1000 * rate);
}

double NcclGroup::shareableTime(NcclAlgorithm algorithm, NcclProtocol protocol,
                                int64_t bytes) const {
  double us = extraTime(algorithm, protocol, bytes);
  if (algorithm == NcclAlgorithm::PointToPoint)
    return us + pointToPointTime(protocol, bytes);
  // Without what makes the time per byte grow: the tree's correction, and the
  // latency that a ring adds from some size on.
  return us + latency(algorithm, protocol, /*bytes=*/1) +
         static_cast<double>(bytes) / (1000 * bandwidth(algorithm, protocol));
}

double NcclGroup::monotoneTime(NcclAlgorithm algorithm, NcclProtocol protocol,
                               int64_t bytes) const {
  double best = time(algorithm, protocol, bytes);
  if (algorithm != NcclAlgorithm::Tree)
    return best;
  // The tree's correction makes the time drop where a bin starts. Within a bin
  // time rises, so the least over all larger sizes is at the start of a bin.
  for (int bin = 0; bin <= nccl::numTreeCorrections; ++bin) {
    int64_t start = int64_t(64) << bin;
    if (start > bytes)
      best = std::min(best, time(algorithm, protocol, start));
  }
  return best;
}

double NcclGroup::localTime(NcclAlgorithm algorithm, int64_t bytes) const {
  bool copies = kind == CollectiveKind::AllGather ||
                kind == CollectiveKind::AllToAll || reducesEverywhere();
  bool reduces = kind == CollectiveKind::ReduceScatter || reducesEverywhere();
  bool ownsShare = algorithm == NcclAlgorithm::Ring ||
                   algorithm == NcclAlgorithm::PAT ||
                   algorithm == NcclAlgorithm::PointToPoint;
  if (!ownsShare)
    return 0;
  double share = static_cast<double>(bytes) / ranks;
  double result = 0;
  if (copies && target.localCopyGBs > 0)
    result += share / (1000 * target.localCopyGBs);
  if (reduces && target.localReduceGBs > 0)
    result += share / (1000 * target.localReduceGBs);
  return result;
}

double NcclGroup::fillTime(NcclAlgorithm algorithm, NcclProtocol protocol,
                           int64_t bytes) const {
  bool pointToPoint = algorithm == NcclAlgorithm::PointToPoint;
  bool nvls = algorithm == NcclAlgorithm::NVLS;
  double fill = 0;
  if (nodes == 1 && (nvls || pointToPoint))
    fill = target.fillBytes;
  // Where the network's switches reduce, no tree of nodes has to fill.
  if (nodes > 1 && !nvls)
    fill = target.netFillBytes * (pointToPoint ? 1 : log2Floor(nodes));
  double slow = std::min(static_cast<double>(bytes), fill);
  if (pointToPoint)
    return pointToPointTransfer(protocol, slow);
  return slow / (1000 * bandwidth(algorithm, protocol));
}

double NcclGroup::extraTime(NcclAlgorithm algorithm, NcclProtocol protocol,
                            int64_t bytes) const {
  return localTime(algorithm, bytes) + fillTime(algorithm, protocol, bytes);
}

double NcclGroup::pointToPointTransfer(NcclProtocol protocol,
                                       double bytes) const {
  double onNode = nodes == 1 ? bytes : 0;
  double offNode = nodes == 1 ? 0 : bytes;
  if (kind == CollectiveKind::AllToAll) {
    onNode = bytes * (ranksPerNode - 1) / ranks;
    offNode = bytes * (ranks - ranksPerNode) / ranks;
  }
  double intraRate = intraBandwidth();
  double interRate = std::min(target.nicGBs * target.netEfficiency, intraRate);
  if (protocol == NcclProtocol::LL) {
    intraRate = std::min(0.5 * intraRate, llMax());
    interRate = std::min(0.5 * interRate, llMax());
  }
  return std::max(onNode / intraRate, offNode / interRate) / 1000;
}

double NcclGroup::pointToPointTime(NcclProtocol protocol, int64_t bytes) const {
  constexpr NcclAlgorithm ring = NcclAlgorithm::Ring;
  double base =
      nccl::baseLatency[static_cast<int>(ring)][static_cast<int>(protocol)];
  double step =
      nodes == 1 ? hop(intraLink(), ring, protocol) : interHop(ring, protocol);
  double peers = kind == CollectiveKind::AllToAll ? ranks - 1 : 1;
  // Two messages to one peer use one connection, so they never share a batch.
  double batches = tensors * std::ceil(peers / nccl::p2pBatch);
  return base + batches * step +
         pointToPointTransfer(protocol, static_cast<double>(bytes));
}
