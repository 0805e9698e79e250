//===- NcclModel.h - NCCL's tuning model ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analytic time of a collective by NCCL's own tuning model: every
// algorithm and protocol that the library would consider gets a latency and a
// bandwidth from the target's links, and the smallest time wins. The formulas
// and constants follow src/graph/tuning.cc and src/enqueue.cc of NCCL 2.28.9
// (https://github.com/NVIDIA/nccl); docs/guide/cost-model.md writes them out.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_NCCLMODEL_H
#define COMMSCHED_COSTMODEL_NCCLMODEL_H

#include "CommSched/CostModel/Collective.h"
#include "CommSched/CostModel/Target.h"

#include <cstdint>
#include <optional>

namespace mlir::commsched::cost {

enum class NcclAlgorithm : uint8_t {
  Tree,
  Ring,
  NVLS,
  NVLSTree,
  PAT,
  /// Grouped sends and receives, which NCCL's tuner does not price.
  PointToPoint,
  /// Nothing leaves the rank.
  Local
};

enum class NcclProtocol : uint8_t { LL, LL128, Simple };

llvm::StringRef stringifyNcclAlgorithm(NcclAlgorithm algorithm);
llvm::StringRef stringifyNcclProtocol(NcclProtocol protocol);

struct NcclEstimate {
  int64_t timeNs = 0;
  NcclAlgorithm algorithm = NcclAlgorithm::Local;
  NcclProtocol protocol = NcclProtocol::Simple;
};

class NcclModel {
public:
  explicit NcclModel(const Target &target) : target(target) {}

  /// The time of one launch and the algorithm and protocol that give it; ties
  /// go to the earlier enumerator. Never decreases when only `bytes` or only
  /// `tensors` grows. A group of one, and a collective of no bytes (but a
  /// barrier), cost nothing. Transfers to and from the host cost the latency of
  /// each tensor and their bytes over the host's bandwidth, whatever the group.
  /// A result that does not fit saturates at INT64_MAX.
  NcclEstimate estimate(const CollectiveQuery &query) const;

  /// NCCL's own figure in microseconds for one algorithm and protocol: without
  /// the launch term and the local copies, and as rough over bytes as NCCL has
  /// it. Nothing where NCCL would not consider the pair, and for kinds that
  /// its tuner does not price.
  std::optional<double> candidateUs(const CollectiveQuery &query,
                                    NcclAlgorithm algorithm,
                                    NcclProtocol protocol) const;

  /// A time in nanoseconds that launches of at most `query.bytes` cannot beat:
  /// one of n bytes, whatever its tensors, takes n / query.bytes of it or
  /// longer, and so do several launches together. Only rounding to nanoseconds
  /// gives back up to half of one, and only where latencies are below 1 ns.
  /// Close to the time of one launch of these bytes in one tensor.
  double getShareableNs(const CollectiveQuery &query) const;

  const Target &getTarget() const { return target; }

private:
  Target target;
};

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_NCCLMODEL_H
