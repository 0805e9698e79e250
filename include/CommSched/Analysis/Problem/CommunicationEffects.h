//===- CommunicationEffects.h - Effects on communication --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classifies operations by their communication: those that do not communicate,
// collectives and waits that the interfaces describe, and all others, which no
// communication may cross.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_COMMUNICATIONEFFECTS_H
#define COMMSCHED_ANALYSIS_PROBLEM_COMMUNICATIONEFFECTS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"

namespace mlir::commsched {

enum class CommunicationEffect {
  /// Does not communicate.
  None,
  /// A start: asynchronous, described by `CollectiveOpInterface`.
  Start,
  /// A wait, described by `WaitOpInterface`.
  Wait,
  /// A blocking collective, described by `CollectiveOpInterface`.
  Blocking,
  /// Communicates, or may, in a way that no interface describes: an effect on
  /// the communication resource without an interface, unknown effects, an
  /// effect on a resource of another dialect, or collectives in a region.
  Unknown,
};

/// The effects that `op` itself states; none if it does not state any.
SmallVector<MemoryEffects::EffectInstance> getStatedEffects(Operation *op);

/// Whether `op` itself, apart from its regions, may access any memory, as it
/// has no interface or trait that describes its effects.
bool hasUnknownMemoryEffects(Operation *op);

/// The communication effect of `op`, regions included. Linear in the operations
/// nested in `op`.
CommunicationEffect getCommunicationEffect(Operation *op);

/// The first collective in the regions of `op`, or `op` itself if it is one;
/// null if there is none. Linear in the operations nested in `op`.
Operation *findCollective(Operation *op);

/// The keys of the streams (getStreamKey()) of all collectives that `op` runs:
/// those in its regions and in the callees of its calls, as far as these say
/// what they do. Linear in the operations nested in `op`.
SmallVector<Attribute> findStreamsInside(Operation *op);

/// Whether `collective`, a CollectiveOpInterface, is a send or a receive: its
/// counterpart is another operation, which runs once.
bool isPointToPoint(Operation *collective);

/// Whether gloo carries out `collective`.
bool isCarriedByGloo(CollectiveOpInterface collective);

/// The bytes that the backend of the group allocates for `collective` until it
/// is waited for, beside what that sends and delivers. PyTorch's gloo copies
/// what it gathers and scatters, and packs the tensors of one all-reduce; what
/// others take is not known, and 0. 0 for sizes that are not known, too.
int64_t getTransportBytes(CollectiveOpInterface collective);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_COMMUNICATIONEFFECTS_H
