//===- NcclGroup.h - one collective in NCCL's terms -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The latency and bandwidth that NCCL's tuner gives each algorithm and protocol
// for one collective on one group. `NcclModel` picks among them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_COSTMODEL_NCCLGROUP_H
#define COMMSCHED_LIB_COSTMODEL_NCCLGROUP_H

#include "NcclTables.h"

#include <algorithm>
#include <cmath>

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
