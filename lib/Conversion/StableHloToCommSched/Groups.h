//===- Groups.h - Process groups of StableHLO's collectives -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The process groups that collectives name by `replica_groups`, and their
// declarations. A StableHLO program runs on R replicas of P partitions. The
// device of replica r and partition p is rank r * P + p of `commsched`. Which
// devices the numbers of `replica_groups` are, depends on the collective's
// attributes: see `DeviceIds`.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_STABLEHLOTOCOMMSCHED_GROUPS_H
#define COMMSCHED_LIB_CONVERSION_STABLEHLOTOCOMMSCHED_GROUPS_H

#include "../StableHlo/StableHlo.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>

namespace mlir::commsched::stablehlo {

/// What a number in `replica_groups` or `source_target_pairs` identifies.
enum class DeviceIds {
  /// A replica, and the groups exist in each partition.
  Replicas,
  /// A partition, and the groups exist in each replica.
  Partitions,
  /// A replica, and a group has all partitions of its replicas.
  WholeReplicas,
  /// A device, replica by replica.
  Flattened,
};

/// The literature's term, such as "cross-replica".
StringRef stringify(DeviceIds ids);

/// A process group that collectives name.
struct DeviceGroup {
  /// Devices in one group, at least 1.
  int64_t size = 0;
  /// What the ids that it is named by are.
  DeviceIds ids = DeviceIds::Flattened;
  /// One row of ranks for each group. That of all devices gets them when it is
  /// declared.
  DenseIntElementsAttr ranks;
  /// Why `commsched.group` cannot express it; empty if it can. Size and ranks
  /// are then not known.
  std::string unsupported;
  /// The first id that the groups do not list. Without the module's number of
  /// devices, the ids are those below the number of listed ones.
  std::optional<int64_t> missing;
  /// The contents of the mark `stablehlo.group`.
  NamedAttrList mark;
  /// The first collective that names it.
  Operation *first = nullptr;
  /// The declaration, once there is one.
  GroupOp declaration;
};

/// Finds and declares the groups of one module.
class DeviceGroups {
public:
  /// `ranksPerNode` ranks with consecutive numbers share a node.
  DeviceGroups(ModuleOp module, int64_t ranksPerNode)
      : module(module), ranksPerNode(ranksPerNode) {}

  /// Reads the numbers of replicas and partitions. Errors at the module: they
  /// are not positive, or too large.
  LogicalResult initialize();

  /// The group of `replicaGroups`, which `op` names. Errors at `op`, once for
  /// each group: it is no matrix of i64, or lists an id that does not exist, or
  /// one twice.
  FailureOr<DeviceGroup *>
  lookup(Operation *op, DenseIntElementsAttr replicaGroups, DeviceIds ids);

  /// Error at `op`, which names `group`: it does not list all ids.
  LogicalResult verifyComplete(Operation *op, const DeviceGroup &group) const;

  /// The group of all devices, for a collective that names ids up to `largest`.
  /// Where the module does not say how many devices there are, it grows with
  /// each call. Error at `op`: `largest` is not an id of a device.
  FailureOr<DeviceGroup *> lookupAll(Operation *op, DeviceIds ids,
                                     int64_t largest);

  /// The symbol of `group`, declared at the front of the module, behind the
  /// groups that were declared before, when first asked for.
  FlatSymbolRefAttr getSymbol(DeviceGroup &group, SymbolTable &symbols);

private:
  /// The number of ids of this kind; none if the module does not say.
  std::optional<int64_t> getNumIds(DeviceIds ids) const;
  LogicalResult verifyIds(Operation *op, DenseIntElementsAttr groups,
                          DeviceGroup &group);
  void setRows(ArrayRef<int64_t> listed, int64_t numColumns,
               DeviceGroup &group);
  int64_t countOnOneNode(const DeviceGroup &group) const;

  ModuleOp module;
  int64_t ranksPerNode;
  int64_t numReplicas = 1;
  int64_t numPartitions = 1;
  bool isNumDevicesKnown = false;
  /// By `replica_groups` (null for all devices) and kind of ids; null after an
  /// error.
  llvm::DenseMap<std::pair<Attribute, unsigned>, std::unique_ptr<DeviceGroup>>
      groups;
  int64_t numDeclared = 0;
  Operation *lastDeclared = nullptr;
};

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_STABLEHLOTOCOMMSCHED_GROUPS_H
