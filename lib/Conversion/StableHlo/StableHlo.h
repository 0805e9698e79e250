//===- StableHlo.h - StableHLO by name --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the conversions from and to StableHLO share: the names of operations
// and attributes, reading and writing them without StableHLO's C++ classes, and
// the marks that a conversion into `commsched` leaves for the way back.
//
// An operation of StableHLO is known by its name. Whether its dialect is
// registered, known by name only, or not registered, its inherent attributes
// are read as one dictionary, and attributes of the dialect as their text.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_STABLEHLO_STABLEHLO_H
#define COMMSCHED_LIB_CONVERSION_STABLEHLO_STABLEHLO_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <optional>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::commsched::stablehlo {

//===----------------------------------------------------------------------===//
// Names of StableHLO and of the dialects around it
//===----------------------------------------------------------------------===//

inline constexpr StringLiteral allGatherName = "stablehlo.all_gather";
inline constexpr StringLiteral allReduceName = "stablehlo.all_reduce";
inline constexpr StringLiteral allToAllName = "stablehlo.all_to_all";
inline constexpr StringLiteral collectiveBroadcastName =
    "stablehlo.collective_broadcast";
inline constexpr StringLiteral collectivePermuteName =
    "stablehlo.collective_permute";
inline constexpr StringLiteral reduceScatterName = "stablehlo.reduce_scatter";
inline constexpr StringLiteral asyncStartName = "stablehlo.async_start";
inline constexpr StringLiteral asyncDoneName = "stablehlo.async_done";
inline constexpr StringLiteral convertName = "stablehlo.convert";
inline constexpr StringLiteral customCallName = "stablehlo.custom_call";
inline constexpr StringLiteral returnName = "stablehlo.return";
inline constexpr StringLiteral manualComputationName = "sdy.manual_computation";
inline constexpr StringLiteral manualReturnName = "sdy.return";
inline constexpr StringLiteral shardingConstraintName =
    "sdy.sharding_constraint";

/// Attributes of collectives.
inline constexpr StringLiteral replicaGroupsName = "replica_groups";
inline constexpr StringLiteral sourceTargetPairsName = "source_target_pairs";
inline constexpr StringLiteral channelHandleName = "channel_handle";
inline constexpr StringLiteral useGlobalDeviceIdsName = "use_global_device_ids";
inline constexpr StringLiteral allGatherDimName = "all_gather_dim";
inline constexpr StringLiteral scatterDimensionName = "scatter_dimension";
inline constexpr StringLiteral splitDimensionName = "split_dimension";
inline constexpr StringLiteral concatDimensionName = "concat_dimension";
inline constexpr StringLiteral splitCountName = "split_count";

/// Attributes of custom calls.
inline constexpr StringLiteral callTargetName = "call_target_name";
inline constexpr StringLiteral hasSideEffectName = "has_side_effect";
inline constexpr StringLiteral backendConfigName = "backend_config";
/// Inside the `backend_config` of a ragged all-to-all, instead of a handle.
inline constexpr StringLiteral channelIdName = "channel_id";
/// The target of a custom call that is a ragged all-to-all.
inline constexpr StringLiteral raggedAllToAllTarget = "ragged_all_to_all";

/// On any operation: hints for XLA, a dictionary of strings.
inline constexpr StringLiteral frontendAttributesName =
    "mhlo.frontend_attributes";

/// Attributes of the module: i32, both 1 if absent.
inline constexpr StringLiteral numReplicasName = "mhlo.num_replicas";
inline constexpr StringLiteral numPartitionsName = "mhlo.num_partitions";

/// Attributes of arguments whose storage the caller gives away.
inline constexpr StringLiteral bufferDonorName = "jax.buffer_donor";
inline constexpr StringLiteral aliasingOutputName = "tf.aliasing_output";

/// The attribute of a module read from HLO that says the same of the arguments
/// of `main`: an array of dictionaries with an `alias`, in which
/// `parameter_number` is the argument, and `parameter_index` is empty unless
/// the argument is a tuple.
inline constexpr StringLiteral inputOutputAliasName = "mhlo.input_output_alias";
inline constexpr StringLiteral entryFunctionName = "main";

//===----------------------------------------------------------------------===//
// Marks that the conversion into `commsched` leaves for the way back
//===----------------------------------------------------------------------===//

/// On a `commsched.group` made from StableHLO, a dictionary: `replica_groups`,
/// `channel_handle` and `use_global_device_ids` verbatim from the first
/// collective of the group, as far as it has them. The group of permutes has
/// the unit `permute` in place of `replica_groups`; that of ragged all-to-alls
/// has the i64 `channel_id` in place of `channel_handle`.
inline constexpr StringLiteral groupMark = "stablehlo.group";
inline constexpr StringLiteral permuteKey = "permute";

/// On a start made from StableHLO: the dictionary of all inherent attributes of
/// the collective, verbatim.
inline constexpr StringLiteral propertiesMark = "stablehlo.properties";

/// On a start made from an `async_start`: the dictionary of `properties` (the
/// inherent attributes) and `attributes` (the discardable ones) of the
/// `async_start` itself. Each is absent if there are none.
inline constexpr StringLiteral asyncMark = "stablehlo.async";
inline constexpr StringLiteral asyncPropertiesKey = "properties";
inline constexpr StringLiteral asyncAttributesKey = "attributes";

/// On a wait made from an `async_done` that has inherent attributes: their
/// dictionary.
inline constexpr StringLiteral waitPropertiesMark = propertiesMark;

/// On a start made from a collective whose reducer constrains the sharding of
/// what it returns, as JAX writes it where only some axes are manual: the
/// dictionary of the inherent attributes of the `sdy.sharding_constraint`.
inline constexpr StringLiteral reducerShardingMark =
    "stablehlo.reducer_sharding";

/// On a start made from a collective whose reducer computes what one operation
/// of StableHLO does, but is written in another way: the text of an operation
/// that has its region.
inline constexpr StringLiteral reducerMark = "stablehlo.reducer";

/// On a `stablehlo.convert` to the element type of a reducer, added before a
/// start made from a collective that promotes its operands: a unit.
inline constexpr StringLiteral promotionMark = "stablehlo.promotion";

/// On a start whose `commsched.name` was added: a unit.
inline constexpr StringLiteral namedMark = "stablehlo.named";

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The inherent attributes of `op` as a dictionary, empty if there are none.
DictionaryAttr getInherentAttributes(Operation *op);

/// The attribute `name` of `op`, inherent or not (older printers wrote inherent
/// attributes among the discardable ones); null if there is none.
Attribute getAttribute(Operation *op, StringRef name);

/// A `#stablehlo.channel_handle<handle = H, type = T>`. Collectives are between
/// devices: type 1, or 0 where nothing was said.
struct ChannelHandle {
  int64_t handle = 0;
  int64_t type = 0;
};

/// Reads the text of `attr`; none if it is no channel handle.
std::optional<ChannelHandle> readChannelHandle(Attribute attr);

/// Members of larger groups are not listed.
inline constexpr int64_t maxNumDevices = int64_t(1) << 24;

/// Reads `mhlo.num_replicas` or `mhlo.num_partitions`, the attribute `name` of
/// the module, into `number`, and sets `isKnown`, if there is one. Failure,
/// with an error, if it is no number from 1 to 2147483647.
LogicalResult readCount(ModuleOp module, StringRef name, int64_t &number,
                        bool &isKnown);

/// What the region of a reducing collective computes.
struct Reducer {
  ReductionKind reduction;
  /// The inherent attributes of a `sdy.sharding_constraint` on the result; null
  /// if there is none.
  DictionaryAttr sharding = {};
  /// The text of an operation with the region, if it is not one operation of
  /// the arguments in order; null otherwise.
  StringAttr text = {};
};

/// Whether each value of the element type `from` is one of `to`, as StableHLO
/// promotes.
bool isPromotable(Type from, Type to);

/// Reads `body`: one operation `add`, `maximum`, `minimum`, `multiply`, `and`,
/// `or` or `xor` of the two scalar arguments of type `element`, which is
/// returned. The arguments may be swapped, or converted to a type in which the
/// rounded result is the same. None otherwise.
std::optional<Reducer> readReducer(Region &body, Type element);

/// The text of the type of a future that delivers `types`.
std::string getFutureText(TypeRange types);

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

/// The location of `op` together with those of everything in its regions, if
/// these differ, for a start that replaces it.
Location packLocations(Operation *op);

/// The location of the replaced operation itself. In a fused location, those of
/// all its parts.
Location unpackLocation(Location location);

/// Gives `op`, and what is in its regions, the locations that `packed` has. If
/// that was made from an operation with other regions, only those of the
/// replaced operation itself.
void restoreLocations(Operation *op, Location packed);

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Creates the operation `name` with the inherent attributes `properties`,
/// whether or not its dialect is registered. Null, with an error at `location`,
/// if a registered operation rejects them.
Operation *createByName(OpBuilder &builder, Location location, StringRef name,
                        ValueRange operands, TypeRange results,
                        DictionaryAttr properties, unsigned numRegions = 0);

/// Fills the empty region `body` with `reducer`, one of those that
/// `readReducer` returns, for elements of type `element`.
void buildReducer(OpBuilder &builder, Location location, Region &body,
                  const Reducer &reducer, Type element);

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_STABLEHLO_STABLEHLO_H
