//===- CommSchedInterfaces.td - Interfaces of operations ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_INTERFACES_COMMSCHEDINTERFACES_TD
#define COMMSCHED_INTERFACES_COMMSCHEDINTERFACES_TD

include "mlir/IR/OpBase.td"

def CommSched_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::commsched";
  let extraClassOf = [{ return $_op.isCollective(); }];
  let description = [{
    A communication of a process group. Most collectives are asynchronous: the
    operation is a *start*, its result is a *future*, and an operation with
    `WaitOpInterface` makes the transferred values valid. A collective without
    a future is *blocking*: it is start and wait in one.

    A future is consumed by exactly one wait in the start's own block; the
    interface verifies that for every dialect that implements it.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether this operation communicates. An operation with many uses, such
        as a call by name, implements the interface and is a collective only
        with certain attributes: otherwise `isa` is false.
      }], "bool", "isCollective", (ins), "", [{ return true; }]>,
    InterfaceMethod<"The kind of communication.",
      "::mlir::commsched::CollectiveKind", "getCollectiveKind">,
    InterfaceMethod<[{
        Identifies the communicator: collectives with equal keys share one
        in-order stream. Never null.
      }], "::mlir::Attribute", "getGroupKey">,
    InterfaceMethod<[{
        The size and the placement of the group, or failure when they are not
        known (an unresolved symbol). `symbolTables` caches look-ups.
      }], "::mlir::FailureOr<::mlir::commsched::ProcessGroup>",
      "getProcessGroup", (ins "::mlir::SymbolTableCollection &":$symbolTables)>,
    InterfaceMethod<"The collective in flight, or null when it is blocking.",
      "::mlir::Value", "getInFlightFuture">,
    InterfaceMethod<[{
        The values that are sent. They must stay allocated until the wait.
      }], "::mlir::OperandRange", "getSentValues">,
    InterfaceMethod<[{
        The buffers that are written in place instead of being allocated; empty
        when the collective allocates its results.
      }], "::mlir::OperandRange", "getDestinations">,
    InterfaceMethod<"The types that the wait delivers.",
      "::llvm::SmallVector<::mlir::Type>", "getDeliveredTypes">,
    InterfaceMethod<"The reduction, for kinds that reduce.",
      "::std::optional<::mlir::commsched::ReductionKind>", "getReductionKind",
      (ins), "", [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Bytes sent by one rank; none when a size is neither static nor given by
        `commsched.size_hints`.
      }], "::std::optional<int64_t>", "getOperandBytes", (ins), "", [{
        ::llvm::SmallVector<::mlir::Type> types =
            ::mlir::commsched::getSizedTypes($_op.getSentValues());
        return ::mlir::commsched::getStaticBytes(::mlir::TypeRange(types));
      }]>,
    InterfaceMethod<[{
        Bytes delivered to one rank; none when a size is not known, likewise.
      }], "::std::optional<int64_t>", "getResultBytes", (ins), "", [{
        ::llvm::SmallVector<::mlir::Type> types =
            ::mlir::commsched::getSizedDeliveredTypes($_op);
        return ::mlir::commsched::getStaticBytes(::mlir::TypeRange(types));
      }]>,
    InterfaceMethod<[{
        Collectives with equal keys may travel in one bucket; null when this
        one must travel alone.
      }], "::mlir::Attribute", "getBucketKey", (ins), "", [{
        return ::mlir::commsched::detail::getDefaultBucketKey($_op);
      }]>,
    InterfaceMethod<[{
        Whether several operations like this one with equal bucket keys may be
        merged into one launch; if so, the two methods below are implemented.
      }], "bool", "isMergeable", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Creates a start like this one that transfers each of `sent` in one
        launch, delivers `delivered`, one for each, and writes nothing in place.
        It has no discardable attributes. Null if `isMergeable` is false.
      }], "::mlir::Operation *", "createMergedStart",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$location,
           "::mlir::ValueRange":$sent, "::mlir::TypeRange":$delivered), "",
      [{ return nullptr; }]>,
    InterfaceMethod<[{
        Creates the wait for this operation. Its results are the delivered
        values in order; null if `isMergeable` is false.
      }], "::mlir::Operation *", "createWait",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$location), "",
      [{ return nullptr; }]>,
  ];
  let extraSharedClassDeclaration = [{
    /// The wait for this collective; null when the collective is blocking or
    /// nothing waits for it yet.
    ::mlir::Operation *getWait() {
      return ::mlir::commsched::detail::getWait($_op.getInFlightFuture());
    }
  }];
  let verify = [{
    return ::mlir::commsched::detail::verifyCollective($_op);
  }];
}

def CommSched_WaitOpInterface : OpInterface<"WaitOpInterface"> {
  let cppNamespace = "::mlir::commsched";
  let extraClassOf = [{ return $_op.isWait(); }];
  let description = [{
    Consumes the future of one collective and makes its values valid on the
    compute stream.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether this operation waits; `isa` is false otherwise.
      }], "bool", "isWait", (ins), "", [{ return true; }]>,
    InterfaceMethod<"The collective that is waited for.",
      "::mlir::Value", "getAwaitedFuture">,
  ];
  let extraSharedClassDeclaration = [{
    /// The start whose future this waits for; null when the future does not
    /// come from a collective.
    ::mlir::Operation *getStart() {
      return ::mlir::commsched::detail::getStart($_op.getAwaitedFuture());
    }
  }];
  let verify = [{
    return ::mlir::commsched::detail::verifyWait($_op);
  }];
}

def CommSched_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::mlir::commsched";
  let extraClassOf = [{ return $_op.hasCost(); }];
  let description = [{
    The cost of an operation that computes. The cost of an operation without
    this interface follows from the bytes of its operands and results.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether the cost of this operation is known by the methods below; `isa`
        is false otherwise.
      }], "bool", "hasCost", (ins), "", [{ return true; }]>,
    InterfaceMethod<[{
        A time in nanoseconds that is known and needs no model.
      }], "::std::optional<int64_t>", "getKnownRuntimeNs", (ins), "",
      [{ return ::std::nullopt; }]>,
    InterfaceMethod<"Floating-point operations; none when they are not known.",
      "::std::optional<double>", "getFlopCount", (ins), "",
      [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Bytes read from and written to memory; none when they are not known.
      }], "::std::optional<int64_t>", "getMovedBytes", (ins), "", [{
        return ::mlir::commsched::getOperandAndResultBytes($_op);
      }]>,
    InterfaceMethod<[{
        The element type that decides which peak rate applies; null when the
        operation has no shaped operand.
      }], "::mlir::Type", "getComputeType", (ins), "", [{
        return ::mlir::commsched::detail::getDefaultComputeType($_op);
      }]>,
    InterfaceMethod<[{
        Whether this is one of the large computations that hide communication,
        such as a matrix product or attention, which must not move together with
        a collective. By default: whether it does more than 8 floating-point
        operations for each byte moved, as no element-wise operation, reduction
        or normalization does.
      }], "bool", "isExpensive", (ins), "", [{
        return ::mlir::commsched::detail::isExpensiveByDefault($_op);
      }]>,
  ];
}

def CommSched_AliasOpInterface : OpInterface<"AliasOpInterface"> {
  let cppNamespace = "::mlir::commsched";
  let extraClassOf = [{ return $_op.hasAliases(); }];
  let description = [{
    Identifies the results that are views: they use the storage of another value
    and allocate nothing; and those that may be written in place. Operations
    with `ViewLikeOpInterface` or `DestinationStyleOpInterface` need no
    implementation.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether the methods below describe this operation; `isa` is false
        otherwise.
      }], "bool", "hasAliases", (ins), "", [{ return true; }]>,
    InterfaceMethod<[{
        The operand, or other result of this operation, whose storage `result`
        uses; null when `result` has its own storage.
      }], "::mlir::Value", "getAliasedValue",
      (ins "::mlir::OpResult":$result)>,
    InterfaceMethod<[{
        The operand whose storage `result`, which has its own storage by the
        method above, takes over if nothing else needs the operand; null if
        there is none.
      }], "::mlir::OpOperand *", "getOverwrittenOperand",
      (ins "::mlir::OpResult":$result), "", [{ return nullptr; }]>,
  ];
}

def CommSched_OperatorClassOpInterface
    : OpInterface<"OperatorClassOpInterface"> {
  let cppNamespace = "::mlir::commsched";
  let extraClassOf = [{ return $_op.hasOperatorClass(); }];
  let description = [{
    Classifies an operation for recomputation: whether computing it a second
    time is cheap, can be fused with its neighbours, or is not allowed.
    Operations without this interface are classified by their traits and other
    interfaces; see `getOperatorClass` in
    CommSched/Analysis/Problem/OperatorClasses.h.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether this operation has a class of its own; `isa` is false otherwise.
      }], "bool", "hasOperatorClass", (ins), "", [{ return true; }]>,
    InterfaceMethod<"The class of the operation.",
      "::mlir::commsched::OperatorClass", "getOperatorClass">,
  ];
}

def CommSched_KnownEffectsOpInterface : OpInterface<"KnownEffectsOpInterface"> {
  let cppNamespace = "::mlir::commsched";
  let description = [{
    For operations that have known effects only with certain attributes. An
    operation whose effects are unknown is treated as if it accessed all memory
    and communicated with every group.
  }];
  let methods = [
    InterfaceMethod<"Whether all effects of the operation are known.",
      "bool", "hasKnownEffects">,
  ];
}

def CommSched_RegionUseOpInterface : OpInterface<"RegionUseOpInterface"> {
  let cppNamespace = "::mlir::commsched";
  let description = [{
    How often the regions of an operation run. Operations with
    `RegionBranchOpInterface` or `LoopLikeOpInterface` need no implementation.
  }];
  let methods = [
    InterfaceMethod<"How the operation uses its regions.",
      "::mlir::commsched::RegionUse", "getRegionUse">,
    InterfaceMethod<"Iterations of a loop; none when they are not constant.",
      "::std::optional<int64_t>", "getTripCount", (ins), "",
      [{ return ::std::nullopt; }]>,
  ];
}

def CommSched_SplitOpInterface : OpInterface<"SplitOpInterface"> {
  let cppNamespace = "::mlir::commsched";
  let extraClassOf = [{ return $_op.hasSplitRule(); }];
  let description = [{
    An operation that can be computed in chunks: the axes along which it can be
    divided, with their places in operands and results. See
    CommSched/Interfaces/SplitRule.h.

    The chunks of an operation give what the operation gives, bit for bit,
    unless the axis is a sum. So an operation whose results depend on the index
    of an element, that draws random numbers, that has an effect (other than
    that of a collective on its group), or that writes into an operand which is
    not its own destination has no rule.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether this operation has a rule; `isa` is false otherwise.
      }], "bool", "hasSplitRule", (ins), "", [{ return true; }]>,
    InterfaceMethod<[{
        The axes. Only dimensions of static size have axes.
      }], "::mlir::commsched::SplitRule", "getSplitRule">,
    InterfaceMethod<[{
        Creates the operation that computes one of `count` chunks of `axis`, an
        axis of `getSplitRule()` whose size `count` divides. `operands` are
        chunks where the axis has a place, otherwise whole; `results` are the
        types of the results, or what a collective with a future delivers.
        Attributes that depend on sizes are adapted; discardable attributes are
        kept.
      }], "::mlir::Operation *", "createChunk",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::mlir::TypeRange":$results,
           "const ::mlir::commsched::SplitAxis &":$axis, "int64_t":$count), "",
      [{
        return ::mlir::commsched::createWithTypes(builder, $_op, operands,
                                                  results);
      }]>,
  ];
}

#endif // COMMSCHED_INTERFACES_COMMSCHEDINTERFACES_TD
