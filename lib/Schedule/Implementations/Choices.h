//===- Choices.h - Functions of choices -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What choices of implementations mean for a problem, and simple choices.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_CHOICES_H
#define COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_CHOICES_H

#include "CommSched/Schedule/Implementations/Implementations.h"

#include <map>

namespace mlir::commsched::schedule {

/// The number of streams of all implementations.
StreamId countStreams(const Problem &problem,
                      const Implementations &implementations);

/// Returns the costs and streams of a valid choice. O(nodes).
std::vector<CollectiveCost>
getCollectiveCosts(const Implementations &implementations,
                   const ImplementationChoice &choice);

/// The number of operations with another implementation than their first.
int32_t countChanged(const ImplementationChoice &choice);

/// By how many millionths of its time a collective of the stream lengthens the
/// computation beside it.
int64_t getTaxPpm(const Contention &contention, StreamId stream);

/// Takes for each operation, of which so many millionths are exposed, the
/// implementation with the lowest price: what is exposed costs its time, the
/// rest the time by which it lengthens computation. Of equal prices the first.
/// O(nodes + implementations).
ImplementationChoice choosePrices(const Implementations &implementations,
                                  const Contention &contention,
                                  const std::vector<int64_t> &exposedPpm);

/// By the first stream of an operation and another one: the operations with an
/// implementation there, and its index. O((nodes + implementations) log
/// streams).
using StreamGroups = std::map<std::pair<StreamId, StreamId>,
                              std::vector<std::pair<NodeId, int32_t>>>;
StreamGroups groupByStreams(const Implementations &implementations);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_CHOICES_H
