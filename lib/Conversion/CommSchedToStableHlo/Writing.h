//===- Writing.h - What starts are in StableHLO -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What StableHLO's collectives say about their groups: replica groups, pairs of
// devices, channels.
//
// Creates StableHLO's operations on tensors of static shape by their names.
//
// Names and attributes of the collectives of StableHLO that starts become, and
// the reasons for which some become none.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_WRITING_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_WRITING_H

#include "../StableHlo/StableHlo.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
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

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Creates operations at the insertion point of `builder`. All operands are
/// ranked tensors of static shape. An operation that would do nothing is not
/// created.
class TensorBuilder {
public:
  TensorBuilder(OpBuilder &builder, Location location)
      : builder(builder), location(unpackLocation(location)) {}

  /// The operation `name` with one result, without attributes.
  Value apply(StringRef name, ValueRange operands, Type result) {
    return create(name, operands, result, {});
  }
  Value reshape(Value tensor, ArrayRef<int64_t> shape);
  /// All elements along one dimension.
  Value flatten(Value tensor);
  Value convert(Value tensor, Type element);
  Value bitcastConvert(Value tensor, RankedTensorType type);
  Value slice(Value tensor, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
              ArrayRef<int64_t> strides);
  /// `size` elements from `offset` along the last dimension.
  Value sliceLast(Value tensor, int64_t offset, int64_t size);
  Value concatenate(ValueRange tensors, int64_t dim);
  Value transpose(Value tensor, ArrayRef<int64_t> permutation);
  /// Appends `count` zeros along dimension 0.
  Value padWithZeros(Value tensor, int64_t count);
  Value constant(DenseElementsAttr value);

  /// Splits `tensor` along `dim` into `count` parts of equal size, one row of
  /// elements for each: the result has two dimensions.
  Value splitIntoRows(Value tensor, int64_t dim, int64_t count);
  /// The inverse: joins rows, each of them a part of a tensor of that shape,
  /// along `dim`.
  Value joinRows(Value rows, int64_t dim, ArrayRef<int64_t> shape);

  /// The bytes of the elements, along the last dimension, as i8. Elements of
  /// fewer than 8 bits take a byte each.
  Value toBytes(Value tensor);
  /// The inverse. The last dimension holds the bytes of whole elements.
  Value fromBytes(Value bytes, Type element);

private:
  Value create(StringRef name, ValueRange operands, Type result,
               ArrayRef<NamedAttribute> attributes);
  NamedAttribute get(StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  }

  OpBuilder &builder;
  Location location;
};

/// The bytes that an element of `element` takes among bytes.
int64_t getElementBytes(Type element);

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Replaces the uses of the slice that `op` packs. The buffer becomes unused
/// when the collectives that write it in place are lowered; `op` is to be
/// erased then. Failure, with an error, if anything else uses the buffer or a
/// shape is dynamic.
LogicalResult lowerCopyIn(AllGatherCopyInOp op);

/// Replaces and erases `op`. Failure, with an error, if a shape is dynamic.
LogicalResult lowerCopyOut(SplitWithSizesCopyOp op, Groups &groups);
LogicalResult lowerChunkCat(ChunkCatOp op, Groups &groups);

/// The operations of arith, linalg and tensor around the values that buckets
/// transfer: what merging creates. Empty tensors are among them.
class BucketOps {
public:
  /// Collects what computes `value`, which is sent.
  void collectSources(Value value);
  /// Collects what is made of `value`, which was delivered.
  void collectUsers(Value value);

  /// Replaces them by operations of StableHLO. Failure, with an error, if an
  /// undefined value is used.
  LogicalResult lower();

private:
  SmallVector<Operation *> ops;
  DenseSet<Operation *> known;
};

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// A start and its wait.
struct Launch {
  CollectiveOpInterface start;
  Operation *wait = nullptr;
  /// Whether it becomes a blocking operation at the place of the start.
  bool isBlocking = false;
};

/// Writes launches as collectives of StableHLO.
class LaunchLowering {
public:
  /// `mayBeVariadic`: whether new collectives may have several operands.
  LaunchLowering(MLIRContext *context, Groups &groups, bool mayBeVariadic)
      : context(context), groups(groups), mayBeVariadic(mayBeVariadic) {}

  /// Replaces and erases the start and the wait. Failure, with an error, if
  /// StableHLO has no form for them; the program is then incomplete.
  LogicalResult lower(const Launch &launch);

private:
  class Writer;

  /// `!stablehlo.future<types>`; null, with an error, if it cannot be parsed.
  Type getFutureType(Operation *start, TypeRange types);

  MLIRContext *context;
  Groups &groups;
  bool mayBeVariadic;
  DenseMap<Type, Type> futureTypes;
};

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The name of StableHLO's collective of the kind of `start`; empty if there
/// is none.
StringRef getCollectiveName(Operation *start);

/// Why StableHLO has no form for `op`, an operation of this project; none if it
/// has.
std::optional<std::string> getUnsupportedReason(Operation *op);

/// The discardable attributes of `op` but for those of CommSched and the marks
/// of the conversion from StableHLO.
SmallVector<NamedAttribute> getForeignAttributes(Operation *op);

/// Whether `name` is an attribute of CommSched or a mark of the conversion from
/// StableHLO.
bool isOwnAttribute(StringRef name);

/// Whether `name` is an attribute that says along which dimension a collective
/// of StableHLO moves data.
bool isDimension(StringRef name);

/// Sets these attributes to what `start` says. If `isFlat`, all dimensions are
/// 0.
void setDimensions(Operation *start, NamedAttrList &attributes,
                   int64_t groupSize, bool isFlat);

/// Succeeds if `original`, the attributes that `start` was made from, has the
/// dimensions of `start`. Both are the same unless one was changed.
LogicalResult verifyDimensions(Operation *start, DictionaryAttr original,
                               int64_t groupSize);

//===----------------------------------------------------------------------===//
// Manual computations
//===----------------------------------------------------------------------===//

/// Moves the bodies of functions that the conversion from StableHLO outlined to
/// the place of their calls, and erases the functions. Failure, with an error,
/// if such a function is called more than once or is not a single block.
LogicalResult inlineManualComputations(ModuleOp module);

//===----------------------------------------------------------------------===//
// Scheduling groups
//===----------------------------------------------------------------------===//

/// Gives asynchronous pairs and what stands between start and done the
/// frontend attribute `_scheduling_group_id`, numbered from 1 in the order of
/// the module. A group is a stretch of a block that ends with a done, without
/// the starts of which the done comes later.
///
/// XLA rejects a group if a path of data leaves it and comes back
/// (xla/service/legalize_scheduling_annotations.cc). No path does: a stretch
/// is contiguous, and a start that belongs to a later group is used by its done
/// only. A block in which an operation has the attribute already is left alone,
/// and so is a private function: XLA inlines it at each call, and copies of a
/// group would be one.
void annotateSchedulingGroups(ModuleOp module);

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_WRITING_H
