//===- Peers.cpp - Cost formulas of other projects ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Peers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

using mlir::commsched::CollectiveKind;
using mlir::commsched::cost::CollectiveQuery;

namespace peers {

namespace {

/// Rows: Ampere, Hopper, Blackwell. Columns: one, two, more nodes.
constexpr double llMax[3][3] = {
    {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}};
/// PyTorch's rows for an Intel host (its index 0) across nodes.
constexpr double llMaxNetwork[3] = {39.0, 39.0, 20.4};
constexpr double ringLL128[3] = {20.0, 36.7, 40.0};
constexpr double treeLL128[3][3] = {
    {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}};
constexpr double treeSimple[3][3] = {
    {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}};
constexpr double baseLatency[2][3] = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};
constexpr double nvlinkHop[2][3] = {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}};
constexpr double networkHop[2][3] = {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}};
constexpr double treeCorrection[3][24] = {
    {1,  1,  1,  1,  .9, .8, .7, .7, .7, .7, .6, .5,
     .4, .4, .5, .6, .7, .8, .9, 1,  1,  1,  1,  1},
    {1,  1,  1,  1,  1,  .9, .8, .8, .8, .7, .6, .6,
     .6, .6, .6, .6, .8, .9, .9, .9, .9, 1,  1,  1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

enum { Tree, Ring };
enum { LL, LL128, Simple };

int log2Floor(uint64_t value) {
  int result = 0;
  while (value >>= 1)
    ++result;
  return result;
}

/// Input bytes plus output bytes, from the full buffer.
double inputPlusOutput(const CollectiveQuery &query) {
  double full = static_cast<double>(query.bytes);
  if (query.kind == CollectiveKind::AllGather ||
      query.kind == CollectiveKind::ReduceScatter)
    return full + full / query.ranks;
  return 2 * full;
}

bool known(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ||
         kind == CollectiveKind::AllGather ||
         kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllToAll;
}

struct PyTorchGroup {
  int gpu;
  bool allReduce;
  double ranks;
  int nodes;
  double steps;
  double bandwidth; // GB/s of a node's link class.
  double channels;
  int nodeClass;

  double busBandwidth(int algorithm, int protocol) const;
  double latencyUs(int algorithm, int protocol) const;
};

double PyTorchGroup::busBandwidth(int algorithm, int protocol) const {
  double ceiling = nodes == 1 ? llMax[gpu][0] : llMaxNetwork[nodeClass];
  if (algorithm == Ring) {
    if (protocol == LL)
      return std::min(ceiling, bandwidth * 0.5);
    if (protocol == LL128)
      return std::min(bandwidth * 120 / 128, channels * ringLL128[gpu]);
    return bandwidth;
  }
  if (protocol == LL)
    return std::min(bandwidth / 3.8, ceiling);
  if (protocol == LL128)
    return std::min(bandwidth * (nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                    channels * treeLL128[gpu][nodeClass]);
  return std::min(bandwidth * 0.92, channels * treeSimple[gpu][nodeClass]);
}

double PyTorchGroup::latencyUs(int algorithm, int protocol) const {
  double overhead = nodes == 1 ? 0 : protocol == Simple ? 3 : 1;
  double intra = std::max(nvlinkHop[algorithm][protocol], overhead);
  double inter = networkHop[algorithm][protocol];
  double base = baseLatency[algorithm][protocol];
  if (algorithm == Tree)
    return base + 2 * ((ranks / nodes - 1) * intra + log2Floor(nodes) * inter);
  double interSteps = nodes == 1 ? 0 : (allReduce ? 2 : 1) * (nodes - 1);
  return base + (steps - interSteps) * intra + interSteps * inter;
}

} // namespace

std::optional<double> pytorchNewestUs(const CollectiveQuery &query, Gpu gpu) {
  if (!known(query.kind))
    return std::nullopt;
  constexpr double intra[3] = {240, 370, 720};
  constexpr double inter[3] = {25, 50, 50};
  constexpr double channels[3] = {8, 16, 32};
  PyTorchGroup group;
  group.gpu = static_cast<int>(gpu);
  group.allReduce = query.kind == CollectiveKind::AllReduce;
  group.ranks = query.ranks;
  group.nodes = query.nodes();
  group.channels = channels[group.gpu];
  group.nodeClass = std::min(group.nodes, 3) - 1;
  bool twice = group.allReduce || query.kind == CollectiveKind::AllToAll;
  group.steps = (twice ? 2.0 : 1.0) * (query.ranks - 1);
  double bytes = inputPlusOutput(query) * (group.allReduce ? 0.5 : 1.0);
  group.bandwidth = intra[group.gpu];
  if (group.nodes > 1) {
    group.bandwidth = inter[group.gpu] *
                      (0.77 + 0.23 * std::min(1.0, (group.nodes - 1) / 7.0));
    if (group.nodes > 2)
      group.bandwidth *= std::pow(std::max(bytes, 50e6) / 50e6, 0.17);
  }

  std::optional<double> best;
  for (int algorithm : {Tree, Ring})
    for (int protocol : {LL, LL128, Simple}) {
      if ((algorithm == Tree && !group.allReduce) ||
          (protocol == LL128 && group.nodes > 1))
        continue;
      double rate = group.busBandwidth(algorithm, protocol);
      rate *= algorithm == Tree ? 0.5 : group.ranks / group.steps;
      int bin = bytes < 64 ? -1 : log2Floor(static_cast<uint64_t>(bytes) >> 6);
      if (algorithm == Tree && bin >= 0 && bin < 24)
        rate *= treeCorrection[protocol][bin];
      double us = group.latencyUs(algorithm, protocol) + bytes / (1000 * rate);
      if (!best || us < *best)
        best = us;
    }
  return best;
}

std::optional<double> pytorchOlderUs(const CollectiveQuery &query) {
  if (!known(query.kind) || query.kind == CollectiveKind::AllToAll)
    return std::nullopt;
  int nodes = (query.ranks + 7) / 8;
  bool allReduce = query.kind == CollectiveKind::AllReduce;
  // Its rows for Hopper repeat Ampere's, and later ones fall back to them.
  double ceiling =
      nodes == 1 ? llMax[0][0] : llMaxNetwork[std::min(nodes, 3) - 1];
  double link = nodes == 1 ? 300 : 25;
  double busBandwidth = std::min(
      ceiling, 2 * link * (nodes > 1 || allReduce ? 1.0 / 4 : 1.0 / 3));
  double steps = (allReduce ? 2.0 : 1.0) * (query.ranks - 1);
  double interSteps = nodes == 1 ? 0 : allReduce ? 2.0 * nodes : nodes - 1;
  double latency =
      6.6 + (steps - interSteps) * (nodes > 1 ? 1.0 : 0.6) + interSteps * 2.7;
  double bytes = static_cast<double>(query.bytes);
  if (query.kind == CollectiveKind::AllGather)
    bytes /= query.ranks;
  double gib = bytes / (1024.0 * 1024 * 1024);
  return latency + 1e6 * gib / (busBandwidth * query.ranks / steps);
}

std::optional<double> xlaSpeedOfLightUs(const CollectiveQuery &query, Gpu gpu) {
  if (!known(query.kind))
    return std::nullopt;
  // Launch, chunk preparation and round trip in us, NIC in GB/s; all but the
  // sizes scaled by the formula's efficiency of 0.45.
  constexpr double efficiency = 0.45;
  constexpr double nic[3] = {111.12, 55.56, 111.12};
  constexpr double prepare[3] = {13.34, 13.34, 4.45};
  constexpr double roundTrip[3] = {68.89, 68.89, 46.67};
  constexpr double gpusPerNode = 8;
  constexpr double chunk = 4.0 * 1024 * 1024;
  int row = static_cast<int>(gpu);
  auto hop = [&](double bytes) {
    return bytes / (nic[row] * efficiency * 1000) * 1.025 +
           std::ceil(bytes / chunk) * prepare[row] * efficiency +
           roundTrip[row] * efficiency;
  };
  double launch = 100 * efficiency;
  double bytes = static_cast<double>(query.bytes);
  if (query.kind == CollectiveKind::AllToAll) {
    double offNode = std::max(0.0, query.ranks - gpusPerNode);
    return launch + offNode * hop(bytes / (query.ranks - 1));
  }
  double rounds = query.kind == CollectiveKind::AllReduce ? 2 : 1;
  return launch +
         hop(bytes / query.ranks) * (query.ranks - 1) / gpusPerNode * rounds;
}

} // namespace peers
