//===- Conversion.h - Parts of the conversion -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process groups that collectives name by `replica_groups`, and their
// declarations. A StableHLO program runs on R replicas of P partitions. The
// device of replica r and partition p is rank r * P + p of `commsched`. Which
// devices the numbers of `replica_groups` are, depends on the collective's
// attributes: see `DeviceIds`.
//
// The steps of the conversion. All collectives of the module are read before
// the first one is replaced, so that a program with an error does not change.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_STABLEHLOTOCOMMSCHED_CONVERSION_H
#define COMMSCHED_LIB_CONVERSION_STABLEHLOTOCOMMSCHED_CONVERSION_H

#include "../StableHlo/StableHlo.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
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

/// What the collectives of a module, as far as they were read, need: the
/// numbers of replicas, partitions and devices are at least these. 0 is none.
struct DeviceEvidence {
  int64_t numReplicas = 0;
  int64_t numPartitions = 0;
  int64_t numDevices = 0;
  /// What the types of cross-replica-and-partition collectives say.
  int64_t partitionsOfReplica = 0;
  /// Whether there are ids of replicas, and ids of partitions or devices.
  bool usesReplicas = false;
  bool usesPartitions = false;
};

/// Finds and declares the groups of one module.
class DeviceGroups {
public:
  /// `ranksPerNode` ranks with consecutive numbers share a node.
  DeviceGroups(ModuleOp module, int64_t ranksPerNode)
      : module(module), ranksPerNode(ranksPerNode) {}

  /// Reads the numbers of replicas and partitions. If `numDevices` is not 0, it
  /// is their product. Errors at the module: they are not positive, or too
  /// large, or disagree.
  LogicalResult initialize(int64_t numDevices);

  /// Concludes the numbers that the module does not say. To be called before
  /// the first look-up.
  void infer(const DeviceEvidence &evidence);

  /// How many ids of this kind there are, for a collective with empty groups
  /// whose types are those of `factor` devices; 0 if they do not say. None if
  /// nothing is known.
  std::optional<int64_t> countIds(DeviceIds ids, int64_t factor) const;

  /// A clause that names the attribute that the module lacks, if ids of this
  /// kind depend on it; empty otherwise.
  std::string describeMissing(DeviceIds ids) const;

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
  /// One kind for all that are the same devices.
  DeviceIds unify(DeviceIds ids) const;
  LogicalResult verifyIds(Operation *op, DenseIntElementsAttr groups,
                          DeviceGroup &group);
  void setRows(ArrayRef<int64_t> listed, int64_t numColumns,
               DeviceGroup &group);
  int64_t countOnOneNode(const DeviceGroup &group) const;

  ModuleOp module;
  int64_t ranksPerNode;
  /// What is in the module's attributes.
  bool hasNumReplicas = false;
  bool hasNumPartitions = false;
  /// The option.
  int64_t numDevices = 0;
  /// What is known: from the attributes, the option, or XLA's default.
  std::optional<int64_t> knownReplicas;
  std::optional<int64_t> knownPartitions;
  std::optional<int64_t> knownDevices;
  /// What is assumed.
  int64_t numReplicas = 1;
  int64_t numPartitions = 1;
  /// Whether anything supports the assumption.
  bool hasEvidence = false;
  /// Whether one of the numbers is 1, but not which: replicas, partitions and
  /// devices are the same.
  bool isFlat = false;
  /// By `replica_groups` (null for all devices) and kind of ids; null after an
  /// error.
  llvm::DenseMap<std::pair<Attribute, unsigned>, std::unique_ptr<DeviceGroup>>
      groups;
  int64_t numDeclared = 0;
  Operation *lastDeclared = nullptr;
};

//===----------------------------------------------------------------------===//
// The conversion
//===----------------------------------------------------------------------===//

/// A collective of StableHLO, and what was read of it.
struct Collective {
  explicit Collective(Operation *op, Operation *asyncStart = nullptr,
                      Operation *asyncDone = nullptr)
      : op(op), asyncStart(asyncStart), asyncDone(asyncDone) {}

  /// The collective itself.
  Operation *op;
  /// The pair around it; null if it is blocking.
  Operation *asyncStart;
  Operation *asyncDone;

  /// The operation that replaces it is one of `commsched` of this kind.
  CollectiveKind kind = CollectiveKind::AllGather;
  /// What the numbers in its groups or pairs are.
  DeviceIds ids = DeviceIds::Replicas;
  DeviceGroup *group = nullptr;
  /// Of all_gather, reduce_scatter and, for the split, all_to_all.
  int64_t dim = 0;
  /// Of all_to_all.
  int64_t concatDim = 0;
  Reducer reducer = {ReductionKind::Sum};
  /// Whether the operands are converted to the element types of the results.
  bool isPromoted = false;
  /// Of collective_permute.
  DenseIntElementsAttr pairs;
  /// An all_to_all whose parts are known at run time.
  bool isRagged = false;

  /// The operation that sends.
  Operation *getStart() const { return asyncStart ? asyncStart : op; }
};

/// An operation that communicates, or might, and blocks in its place.
struct Kept {
  Operation *op;
  std::string reason;
};

/// What the steps share.
struct Context {
  Context(ModuleOp module, int64_t ranksPerNode, bool isStrict);

  ModuleOp module;
  DeviceGroups groups;
  /// Whether what has no form in `commsched` is an error.
  bool isStrict;
  /// What has none.
  SmallVector<Kept> kept;
  /// Handles that were read before.
  llvm::DenseMap<Attribute, std::optional<ChannelHandle>> channelHandles;
};

/// How a collective was read.
enum class Reading {
  /// It has a form in `commsched`.
  Complete,
  /// It has none, and blocks in its place.
  Kept,
  /// An error was emitted.
  Failed,
};

/// Notes that `op` stays in its place, where it blocks. An error if the context
/// is strict.
Reading keep(Operation *op, const Twine &reason, Context &context);

/// Emits the remark `CollectiveKept`, with reason and price, for each operation
/// that stays. Failure, with an error, if the module's target is malformed.
LogicalResult remarkOnKept(Context &context);

/// The kind of the collective `op`; none if it is not a collective.
std::optional<CollectiveKind> getCollectiveKind(Operation *op);

// ReadCollectives.cpp

/// Reads what does not depend on other collectives: kind, dimensions and the
/// meaning of ids. Extends `evidence` by it.
Reading readAlone(Collective &collective, DeviceEvidence &evidence,
                  Context &context);

/// Reads the rest: groups, types and regions of `collective.op`.
Reading readCollective(Collective &collective, Context &context);

// ReadGroups.cpp

/// Reads the channel of `collective.op`, whose kind is known, and what its ids
/// are.
Reading readIds(Collective &collective, Context &context);

/// Extends `evidence` by the ids of `collective`, which `readIds` read. Its
/// types are those of `factor` devices; 0 if they do not say.
void addEvidence(const Collective &collective, int64_t factor,
                 DeviceEvidence &evidence, Context &context);

/// Reads groups and pairs into `group` and `pairs`.
Reading readGroup(Collective &collective, int64_t factor, Context &context);

// MeshAxes.cpp

/// Whether `groups` names axes of a mesh.
bool isMeshAxes(Attribute groups);

/// The matrix of devices that `groups`, axes of a mesh, stands for. Null, and
/// the reason, if it is not understood.
DenseIntElementsAttr expandMeshAxes(Attribute groups, ModuleOp module,
                                    std::string &reason);

// Collect.cpp

/// Finds the collectives of the module that have a form in `commsched`, in the
/// order of the text.
FailureOr<SmallVector<Collective>> collectCollectives(Context &context);

// StableHloToCommSched.cpp

/// Moves the body of each `sdy.manual_computation` that is the closest one
/// around one of `collectives`, or around a call of a function that runs one,
/// into a private function.
void outlineManualComputations(ArrayRef<Collective> collectives,
                               SymbolTable &symbols);

// ReplaceCollectives.cpp

/// Replaces each collective by a start and a wait.
void replaceCollectives(MutableArrayRef<Collective> collectives,
                        Context &context, SymbolTable &symbols);

// Annotate.cpp

/// Adds `commsched.pure` to calls whose callees only compute.
void annotatePureCalls(ModuleOp module, SymbolTable &symbols);

/// Adds `commsched.freeable` to arguments that the caller donates, and to those
/// of an outlined function that get one of these which nothing else uses.
void annotateFreeableArguments(ModuleOp module, SymbolTable &symbols);

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_STABLEHLOTOCOMMSCHED_CONVERSION_H
