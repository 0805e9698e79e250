//===- Peers.h - Cost formulas of other projects ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The collective cost formulas that other projects schedule with, written from
// their descriptions, so that all are measured against the same tables. All
// take the full buffer's bytes as CommSched counts them and convert.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_COST_MODEL_PEERS_H
#define COMMSCHED_BENCHMARKS_COST_MODEL_PEERS_H

#include "CommSched/CostModel/Collective.h"

#include <optional>

namespace peers {

enum class Gpu { Ampere, Hopper, Blackwell };

/// PyTorch's newest formula in us: torch/_inductor/comm_analysis.py of 2026,
/// NCCL's tree and ring with three protocols, no launch term. Its default
/// bandwidths for the generation: NVLink 240, 370, 720 and network 25, 50, 50
/// GB/s; channels 8, 16, 32. Its bytes are input plus output, halved for an
/// all_reduce. Nothing for kinds that it does not know.
std::optional<double>
pytorchNewestUs(const mlir::commsched::cost::CollectiveQuery &query, Gpu gpu);

/// PyTorch's older formula in us: the same file, 2023 to 2025, ring with
/// protocol LL only; 300 GB/s inside a node and 25 GB/s between nodes. Its
/// bytes are the inputs'.
std::optional<double>
pytorchOlderUs(const mlir::commsched::cost::CollectiveQuery &query);

/// XLA's speed-of-light formula in us:
/// xla/service/gpu/model/sol_latency_estimator.cc and sol_gpu_cost_model.cc
/// with the constants for H100 or B200 (an A100 gets those of an unknown
/// device). Meant for several nodes: inside one, XLA looks up a table, which is
/// table A here.
std::optional<double>
xlaSpeedOfLightUs(const mlir::commsched::cost::CollectiveQuery &query, Gpu gpu);

} // namespace peers

#endif // COMMSCHED_BENCHMARKS_COST_MODEL_PEERS_H
