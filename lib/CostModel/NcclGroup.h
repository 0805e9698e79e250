//===- NcclGroup.h - One collective in NCCL's terms -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The latency and bandwidth that NCCL's tuner gives each algorithm and protocol
// for one collective on one group. `NcclModel` picks among them.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_COSTMODEL_NCCLGROUP_H
#define COMMSCHED_LIB_COSTMODEL_NCCLGROUP_H

#include "CommSched/CostModel/NcclModel.h"

#include <algorithm>
#include <cmath>

namespace mlir::commsched::cost::nccl {

// The constants of NCCL 2.28.9's src/graph/tuning.cc and src/include/device.h,
// and the channel speeds that its src/graph/search.cc tries. Times in us,
// bandwidths in GB/s.

/// Volta, Ampere, Hopper, Blackwell.
inline constexpr int numGenerations = 4;
/// One node, two nodes, more.
inline constexpr int numNodeClasses = 3;
/// Tree, Ring, NVLS, NVLSTree, PAT, in the order of `NcclAlgorithm`.
inline constexpr int numAlgorithms = 5;
/// LL, LL128, Simple.
inline constexpr int numProtocols = 3;
/// NVLink, PCI, network.
enum Link { NVLink, PCI, Network, numLinks };

inline constexpr double baseLatency[numAlgorithms][numProtocols] = {
    {6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0}, {8.0, 8.0, 8.0}};

inline constexpr double hopLatency[numLinks][numAlgorithms][numProtocols] = {
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}},
    {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4}},
    {{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};

/// Ceiling of protocol LL. Inside a node the row is the generation; across
/// nodes it is the CPU vendor, 0 Intel or other, 1 AMD.
inline constexpr double llMaxGBs[numGenerations][numNodeClasses] = {
    {39.0, 39.0, 20.4},
    {87.7, 22.5, 19.0},
    {141.0, 45.0, 35.0},
    {282.0, 90.0, 70.0}};

inline constexpr double ringLL128ChannelGBs[numGenerations][numNodeClasses] = {
    {20.0, 20.0, 20.0},
    {20.0, 20.0, 20.0},
    {36.7, 36.7, 36.7},
    {73.4, 34.6, 73.4}};

inline constexpr double treeLL128ChannelGBs[numGenerations][numNodeClasses] = {
    {20.0, 20.0, 20.0},
    {20.0, 20.0, 20.0},
    {36.7, 36.7, 29.0},
    {55.6, 31.67, 20.0}};

inline constexpr double treeChannelGBs[numGenerations][numNodeClasses] = {
    {26.5, 18.5, 10.0},
    {24.0, 23.6, 17.8},
    {38.7, 41.4, 36.0},
    {70.0, 42.8, 24.0}};

inline constexpr double nvlsTreeChannelGBs[numGenerations][numNodeClasses] = {
    {26.5, 18.5, 10.0},
    {24.0, 23.6, 17.8},
    {0.0, 57.7, 45.5},
    {0.0, 96.0, 43.8}};

/// Fraction of the modelled bandwidth that a tree all_reduce reaches, by
/// log2(bytes / 64): 64 B to 256 MB, and all of it beyond.
inline constexpr int numTreeCorrections = 23;
inline constexpr double treeCorrection[numProtocols][numTreeCorrections] = {
    {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7,  .7,  .7,  .6, .5,
     .4,  .4,  .5,  .6,  .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7,  .6, .6,
     .6,  .6,  .6,  .6,  .8,  .9, .9, .9, .9, 1.0, 1.0},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

/// Per-channel speeds that the graph search tries inside a node, fastest
/// first.
inline constexpr double hopperSpeeds[] = {60, 50, 40, 30, 24, 20,
                                          15, 12, 11, 6,  3};
inline constexpr double blackwellSpeeds[] = {90, 80, 70, 60, 50, 45,
                                             40, 30, 24, 20, 19, 18};

/// An NVLS channel has one accelerator at its head, at most this many a node.
inline constexpr int maxNvlsHeads = 32;
/// Peers that one point-to-point kernel serves at once.
inline constexpr int p2pBatch = 8;
/// Channels of a communicator at most.
inline constexpr double maxChannels = 64;
/// Collectives that a channel of any algorithm but the ring takes at once: as
/// many work descriptors of 96 bytes as fit in 1024 (src/include/device.h).
inline constexpr int collectiveBatch = 10;

} // namespace mlir::commsched::cost::nccl

namespace mlir::commsched::cost {

/// One group of one collective, in the model's terms.
class NcclGroup {
public:
  NcclGroup(const Target &target, CollectiveKind kind, int32_t ranks,
            int32_t nodes, int32_t tensors)
      : target(target), kind(kind), ranks(ranks), nodes(nodes),
        tensors(std::max(tensors, 1)),
        ranksPerNode(static_cast<double>(ranks) / nodes),
        nodeClass(std::min(nodes, 3) - 1) {
    double capability = target.computeCapability;
    generation = capability >= 100  ? 3
                 : capability >= 90 ? 2
                 : capability >= 80 ? 1
                                    : 0;
  }

  /// Whether NCCL's tuner would consider the pair.
  bool considers(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  /// Bandwidth over the full buffer, before the tree correction.
  double bandwidth(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  /// NCCL's time in us of all tensors, of `bytes` together.
  double time(NcclAlgorithm algorithm, NcclProtocol protocol,
              int64_t bytes) const;
  /// The least of `time` over `bytes` and everything larger.
  double monotoneTime(NcclAlgorithm algorithm, NcclProtocol protocol,
                      int64_t bytes) const;
  /// At most the time in us of a launch of one tensor of `bytes`. Per byte it
  /// never grows, so that smaller messages take their share of it or longer.
  double shareableTime(NcclAlgorithm algorithm, NcclProtocol protocol,
                       int64_t bytes) const;
  /// Time in us beyond NCCL's model: the rank's work on its own share of the
  /// buffer, and filling the pipeline. For point to point `protocol` is LL or
  /// Simple.
  double extraTime(NcclAlgorithm algorithm, NcclProtocol protocol,
                   int64_t bytes) const;
  /// Time in us as grouped sends and receives.
  double pointToPointTime(NcclProtocol protocol, int64_t bytes) const;

private:
  double latency(NcclAlgorithm algorithm, NcclProtocol protocol,
                 int64_t bytes) const;
  double ringLatency(NcclProtocol protocol, int64_t bytes) const;
  double ringOrTreeBusBandwidth(NcclAlgorithm algorithm,
                                NcclProtocol protocol) const;
  double nvlsBusBandwidth(NcclAlgorithm algorithm) const;
  double localTime(NcclAlgorithm algorithm, int64_t bytes) const;
  double fillTime(NcclAlgorithm algorithm, NcclProtocol protocol,
                  int64_t bytes) const;
  double pointToPointTransfer(NcclProtocol protocol, double bytes) const;
  double hop(nccl::Link link, NcclAlgorithm algorithm,
             NcclProtocol protocol) const {
    return nccl::hopLatency[link][static_cast<int>(algorithm)]
                           [static_cast<int>(protocol)];
  }
  nccl::Link intraLink() const {
    return target.nvlink != 0 ? nccl::NVLink : nccl::PCI;
  }
  double interHop(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  double llMax() const {
    int row = nodes == 1 ? generation : target.amdCpu != 0 ? 1 : 0;
    return nccl::llMaxGBs[row][nodeClass];
  }
  double intraBandwidth() const {
    return target.intraChannels * target.intraChannelGBs;
  }
  double networkBandwidth() const {
    return std::min(target.nicGBs * target.netEfficiency * ranksPerNode,
                    intraBandwidth());
  }
  /// Channels of ring and tree.
  double channels() const {
    if (nodes == 1)
      return target.intraChannels;
    return std::max(2.0, std::floor(target.netChannelsPerRank * ranksPerNode));
  }
  /// Channels that the tensors of one launch are dealt out to: the library
  /// makes two of each that its graph search finds (src/graph/connect.cc,
  /// ncclTopoPostset). Those across nodes are counted so already.
  double launchChannels() const {
    return nodes == 1 ? std::min(2 * channels(), nccl::maxChannels)
                      : channels();
  }
  /// How often a launch of several tensors pays the latency: a channel runs
  /// what it was dealt one after the other (src/graph/tuning.cc,
  /// ncclTopoGetAlgoTime).
  double latencyCount(NcclAlgorithm algorithm) const {
    double turns = std::ceil(tensors / launchChannels());
    return algorithm == NcclAlgorithm::Ring
               ? turns
               : std::ceil(turns / nccl::collectiveBatch);
  }
  double nvlsHeads() const {
    return std::min<double>(std::floor(ranksPerNode), nccl::maxNvlsHeads);
  }
  bool gathersOrScatters() const {
    return kind == CollectiveKind::AllGather ||
           kind == CollectiveKind::ReduceScatter;
  }
  bool reducesEverywhere() const { return kind == CollectiveKind::AllReduce; }
  double steps() const {
    if (reducesEverywhere())
      return 2.0 * (ranks - 1);
    return gathersOrScatters() ? ranks - 1 : ranks;
  }

  const Target &target;
  CollectiveKind kind;
  int32_t ranks;
  int32_t nodes;
  int32_t tensors;
  double ranksPerNode;
  int nodeClass;
  int generation;
};

} // namespace mlir::commsched::cost

#endif // COMMSCHED_LIB_COSTMODEL_NCCLGROUP_H
