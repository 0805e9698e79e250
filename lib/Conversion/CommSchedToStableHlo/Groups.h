//===- Groups.h - Groups as StableHLO's attributes --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What StableHLO's collectives say about their groups: replica groups, pairs of
// devices, channels.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_GROUPS_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_GROUPS_H

#include "../StableHlo/StableHlo.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include <set>

namespace mlir::commsched::stablehlo {

/// The groups of a module, and the channels of its collectives.
class Groups {
public:
  /// Reads `module`. Failure, with an error, if what it says about its devices
  /// is malformed.
  LogicalResult initialize(ModuleOp module);

  /// Notes the channels that `op`, an operation of StableHLO or a start made
  /// from one, uses. To be called for all operations before the first of
  /// `getAttributes`.
  void noteChannels(Operation *op);

  /// The inherent attributes of a new collective that stands for `start` and
  /// was not made from one of StableHLO: `replica_groups` or
  /// `source_target_pairs`, `channel_handle`, `use_global_device_ids`. Failure,
  /// with an error, if StableHLO cannot say them.
  FailureOr<NamedAttrList> getAttributes(Operation *start);

  /// The declaration of the group that `op` names; null, with an error, if
  /// there is none.
  GroupOp lookup(Operation *op, FlatSymbolRefAttr name);

  ArrayRef<GroupOp> getGroups() const { return groups; }

  /// Whether XLA's partitioner may work on the module. If the module does not
  /// say how many partitions it has, channels are between partitions. To be
  /// called when all channels are noted.
  bool mayBePartitioned() const {
    return numPartitions > 1 || (!saysDevices && !channels.empty());
  }

private:
  using Rows = SmallVector<SmallVector<int64_t>>;

  FailureOr<Rows> getRows(Operation *start, GroupOp group) const;
  LogicalResult addMembers(Operation *start, GroupOp group,
                           NamedAttrList &attributes) const;
  LogicalResult addChannel(Operation *start, GroupOp group,
                           NamedAttrList &attributes);
  void noteChannels(DictionaryAttr attributes);
  int64_t getNumDevices() const { return numReplicas * numPartitions; }

  SmallVector<GroupOp> groups;
  DenseMap<StringAttr, GroupOp> byName;
  std::set<int64_t> channels;
  /// Attributes seen, most of which are the same.
  DenseSet<Attribute> seen;
  /// 1 if the module does not say.
  int64_t numReplicas = 1, numPartitions = 1;
  bool saysDevices = false;
};

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_GROUPS_H
