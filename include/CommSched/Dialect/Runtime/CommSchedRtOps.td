//===- CommSchedRtOps.td - Requests of the runtime ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_RUNTIME_COMMSCHEDRTOPS_TD
#define COMMSCHED_DIALECT_RUNTIME_COMMSCHEDRTOPS_TD

include "CommSched/Interfaces/CommSchedEnums.td"
include "CommSched/Support/CollectiveKind.td"
include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def CommSchedRt_Dialect : Dialect {
  let name = "commsched_rt";
  let cppNamespace = "::mlir::commsched::rt";
  let summary = "operations of the runtime, on tensors and on buffers";
  let description = [{
    The level between `commsched` and calls of the runtime. Its operations take
    tensors, and memrefs after bufferization. Data is contiguous, and the parts
    of the ranks are stored one after the other.

    A collective in flight reads and writes memory asynchronously. Two rules
    make this visible to bufferization and deallocation. First, the tensors that
    a start sends are also operands of its wait, which reads them; so no other
    operation may write them in place before the wait. Second, the buffers that
    a start fills are results of the start that only its wait uses, in place,
    and returns as its own results; so no operation reads them before the wait.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def CommSchedRt_CollectiveKindAttr
    : EnumAttr<CommSchedRt_Dialect, CommSched_CollectiveKind, "kind"> {
  let cppNamespace = "::mlir::commsched::rt";
}

def CommSchedRt_ImplementationAttr
    : AttrDef<CommSchedRt_Dialect, "Implementation"> {
  let mnemonic = "implementation";
  let summary = "how a collective is carried out";
  let description = [{
    The name that the target gives to an implementation, and what the runtime
    needs of it: the method, `nccl`, `copy-engine` or `symmetric`; for `nccl`
    the most channels (0: as NCCL decides); and the name of the stream, which is
    that of the implementation if it is not given. Collectives of one group with
    different implementations have different communicators; those with one
    stream are carried out one after the other. The stream of collectives
    without an implementation is `nccl`.

    Example: `#commsched_rt.implementation<"nccl-4", "nccl", channels = 4,
    stream = "nccl">`.
  }];
  let parameters = (ins
    StringRefParameter<>:$name,
    StringRefParameter<>:$method,
    DefaultValuedParameter<"int64_t", "0">:$channels,
    OptionalParameter<"StringAttr">:$stream
  );
  let assemblyFormat = [{
    `<` $name `,` $method (`,` struct($channels, $stream)^)? `>`
  }];
  let genVerifyDecl = 1;
}

def CommSchedRt_Request : TypeDef<CommSchedRt_Dialect, "Request"> {
  let mnemonic = "request";
  let summary = "a collective that has been started";
}

def CommSchedRt_Held : TypeDef<CommSchedRt_Dialect, "Held"> {
  let mnemonic = "held";
  let summary = "a collective in flight between functions or iterations";
}

def CommSchedRt_Splits : TypeDef<CommSchedRt_Dialect, "Splits"> {
  let mnemonic = "splits";
  let summary = "rows for each rank of a group, on the host";
}

def CommSchedRt_Buffer : AnyTypeOf<[AnyRankedTensor, AnyMemRef]>;

class CommSchedRt_Op<string mnemonic, list<Trait> traits = []>
    : Op<CommSchedRt_Dialect, mnemonic, traits>;

/// An operation with tensors, which are buffers later on.
class CommSchedRt_BufferizableOp<string mnemonic, list<Trait> traits = [],
                                 list<string> methods = []>
    : CommSchedRt_Op<mnemonic, traits # [
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<BufferizableOpInterface, methods # [
            "bufferizesToMemoryRead", "bufferizesToMemoryWrite",
            "getAliasingValues", "bufferize"]>]>;

/// Only reads its tensors. The writes of the start have been seen there.
class CommSchedRt_ReadingOp<string mnemonic, list<Trait> traits = [],
                            list<string> methods = []>
    : CommSchedRt_BufferizableOp<mnemonic, traits, methods> {
  let extraClassDefinition = [{
    bool $cppClass::bufferizesToMemoryRead(
        ::mlir::OpOperand &, const ::mlir::bufferization::AnalysisState &) {
      return true;
    }
    bool $cppClass::bufferizesToMemoryWrite(
        ::mlir::OpOperand &, const ::mlir::bufferization::AnalysisState &) {
      return false;
    }
  }];
}

/// Writes its destinations, whose buffers the results are in.
class CommSchedRt_DestinationOp<string mnemonic, list<Trait> traits = []>
    : CommSchedRt_BufferizableOp<mnemonic,
                                 traits # [DestinationStyleOpInterface]> {
  let extraClassDefinition = [{
    bool $cppClass::bufferizesToMemoryWrite(
        ::mlir::OpOperand &operand,
        const ::mlir::bufferization::AnalysisState &) {
      return isDpsInit(&operand);
    }
    ::mlir::bufferization::AliasingValueList $cppClass::getAliasingValues(
        ::mlir::OpOperand &operand,
        const ::mlir::bufferization::AnalysisState &) {
      if (!isDpsInit(&operand))
        return {};
      return {{getTiedOpResult(&operand),
               ::mlir::bufferization::BufferRelation::Equivalent}};
    }
  }];
}

def CommSchedRt_StartOp : CommSchedRt_BufferizableOp<"start",
    [AttrSizedOperandSegments]> {
  let summary = "starts a collective";
  let description = [{
    Sends `ins` and fills `outs`, one of each for every tensor of the launch
    (none if the kind sends or delivers nothing). With `in_place` there are no
    `ins`: the data to send is in `outs`, for an all_gather in this rank's part
    of it. `sent` and `received` are numbers of elements, one for each tensor.

    `kind` is printed as a string; a keyword is accepted as well.
    `input_splits` and `output_splits` of an uneven `all_to_all` hold, for each
    tensor, the number of elements for each rank of the group. `peer` is the
    root of a broadcast, the target of a send, or the source of a receive.

    Of an `all_to_all`, the numbers of rows for each rank may be values: those
    that are sent, with their sum, after `send_rows`, and those that are
    received after `receive_rows`. `row` has the elements of a row of each
    tensor; `sent`, or `received`, is 0, and there are no `input_splits`, or
    `output_splits`.

    An `offload` and a `reload` have no group: they copy between a buffer of the
    device and one in the memory space `#commsched.host`.

    On tensors, the results after the request are the buffers in flight, which
    are operands of the wait.

    Constraints:
    * (C1) `kind` is not `barrier`.
    * (C2) `sent` and `received` have one entry for each tensor, none negative.
    * (C3) there are as many `ins` as tensors, or none; the same for `outs`;
      with `in_place` there are `outs` and no `ins`.
    * (C4) the buffers in flight have the types of the tensors among `outs`, and
      none of `outs` is a tensor while another is a memref.
    * (C5) the request has one use, a wait or a hold in the same block.
    * (C6) with values, the kind is `all_to_all`, `row` has one entry for each
      tensor, none negative, and a side with values has no list.
    * (C7) the values come from `read_splits` of the same group and side.
    * (C8) there is a group, except for an `offload` or a `reload`, which also
      have no implementation.
  }];
  let arguments = (ins
    CommSchedRt_CollectiveKindAttr:$kind,
    OptionalAttr<FlatSymbolRefAttr>:$group,
    StrAttr:$name,
    DenseI64ArrayAttr:$sent,
    DenseI64ArrayAttr:$received,
    Variadic<CommSchedRt_Buffer>:$inputs,
    Variadic<CommSchedRt_Buffer>:$outputs,
    UnitAttr:$in_place,
    OptionalAttr<CommSched_ReductionKind>:$reduction,
    OptionalAttr<I64Attr>:$peer,
    OptionalAttr<I64Attr>:$tag,
    OptionalAttr<I64ElementsAttr>:$pairs,
    OptionalAttr<ArrayAttr>:$input_splits,
    OptionalAttr<ArrayAttr>:$output_splits,
    OptionalAttr<I64Attr>:$runtime_ns,
    Optional<CommSchedRt_Splits>:$input_values,
    Optional<Index>:$input_rows,
    Optional<CommSchedRt_Splits>:$output_values,
    Optional<Index>:$output_rows,
    OptionalAttr<DenseI64ArrayAttr>:$row,
    OptionalAttr<CommSchedRt_ImplementationAttr>:$implementation
  );
  let results = (outs CommSchedRt_Request:$request,
                      Variadic<AnyRankedTensor>:$in_flight);
  let assemblyFormat = [{
    custom<CollectiveKind>($kind) $name (`on` $group^)? (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)?
    (`send_rows` `(` $input_values^ `,` $input_rows `)`)?
    (`receive_rows` `(` $output_values^ `,` $output_rows `)`)? attr-dict
    `:` type($request) (`,` type($in_flight)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether numbers of rows are values.
    bool hasSplitValues() { return getInputValues() || getOutputValues(); }
  }];
}

def CommSchedRt_WaitOp : CommSchedRt_ReadingOp<"wait",
    [AttrSizedOperandSegments], ["mustBufferizeInPlace"]> {
  let summary = "ends a collective";
  let description = [{
    After the wait, `ins` may be overwritten and `outs` may be read; on tensors,
    the results take the place of `outs`.

    Constraints:
    * (C1) the request comes from a start.
    * (C2) the results have the types of the tensors among `outs`.
    * (C3) `ins` are those of the start. `outs` are the buffers in flight, or
      the `outs` of the start if these are memrefs.
  }];
  let arguments = (ins
    CommSchedRt_Request:$request,
    Variadic<CommSchedRt_Buffer>:$inputs,
    Variadic<CommSchedRt_Buffer>:$outputs
  );
  let results = (outs Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = [{
    $request (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)? attr-dict
    (`->` type($values)^)?
  }];
  let hasVerifier = 1;
}

def CommSchedRt_HoldOp : CommSchedRt_ReadingOp<"hold",
    [AttrSizedOperandSegments], ["mustBufferizeInPlace"]> {
  let summary = "keeps a collective in flight beyond its block";
  let description = [{
    Stands for the wait in the block of a start whose wait is in another
    function or iteration. On memrefs, the runtime owns the buffers from here
    on: `outs` are those of the start, and `ins` the allocations that hold what
    is sent, without those that live longer anyway. Both come from
    `commsched_rt.allocate`, once `test-commsched-pack-request-buffers` has run.

    Constraints:
    * (C1) the request comes from a start of the same block.
    * (C2) on tensors, `ins` are those of the start, and `outs` the buffers in
      flight.

    Example:

    ```mlir
    %held = commsched_rt.hold %request ins(%x : tensor<4xf32>)
        outs(%in_flight : tensor<16xf32>)
    ```
  }];
  let arguments = (ins
    CommSchedRt_Request:$request,
    Variadic<CommSchedRt_Buffer>:$inputs,
    Variadic<CommSchedRt_Buffer>:$outputs
  );
  let results = (outs CommSchedRt_Held:$held);
  let assemblyFormat = [{
    $request (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def CommSchedRt_ResumeOp : CommSchedRt_Op<"resume", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<BufferizableOpInterface,
        ["bufferizesToAllocation", "getBufferType", "bufferize"]>]> {
  let summary = "ends a collective that was held";
  let description = [{
    Waits for the collective, and gives the buffers that it has filled. They
    are new allocations of this operation.

    Example:

    ```mlir
    %gathered = commsched_rt.resume %held : tensor<16xf32>
    ```
  }];
  let arguments = (ins CommSchedRt_Held:$held);
  let results = (outs Variadic<CommSchedRt_Buffer>:$values);
  let assemblyFormat = "$held attr-dict (`:` type($values)^)?";
}

def CommSchedRt_AllocateOp : CommSchedRt_Op<"allocate", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "allocates a buffer that a hold takes over";
  let description = [{
    Unlike `memref.alloc`, nothing in the function frees the buffer: it belongs
    to the runtime from the `commsched_rt.hold` that has it as an operand.

    Example:

    ```mlir
    %buffer = commsched_rt.allocate : memref<16xf32>
    ```
  }];
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
}

def CommSchedRt_ReadSplitsOp : CommSchedRt_ReadingOp<"read_splits"> {
  let summary = "reads the splits of an all_to_all";
  let description = [{
    Waits until `input`, a row of 64-bit integers, has been computed, copies it
    to the host, and adds it up. The numbers are the rows that the start that
    uses `splits` sends to each rank, or receives if `output` is given.

    Constraints:
    * (C1) `splits` has one use, a start in the same block.

    Example:

    ```mlir
    %splits, %rows = commsched_rt.read_splits output
        ins(%sizes : tensor<4xi64>)
    ```
  }];
  let arguments = (ins CommSchedRt_Buffer:$input, UnitAttr:$output);
  let results = (outs CommSchedRt_Splits:$splits, Index:$rows);
  let assemblyFormat = [{
    (`output` $output^)? `ins` `(` $input `:` type($input) `)` attr-dict
  }];
  let hasVerifier = 1;
}

def CommSchedRt_BarrierOp : CommSchedRt_Op<"barrier", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "waits until every rank of the group arrives";
  let arguments = (ins StrAttr:$name, FlatSymbolRefAttr:$group,
                       OptionalAttr<I64Attr>:$runtime_ns,
                       OptionalAttr<CommSchedRt_ImplementationAttr>:$implementation);
  let assemblyFormat = "$name `on` $group attr-dict";
}

def CommSchedRt_RankOp : CommSchedRt_Op<"rank", [Pure]> {
  let summary = "this rank's place in its group";
  let description = [{
    The index of the rank that runs the program among the members of its group
    of the declaration `group`.

    Example:

    ```mlir
    %me = commsched_rt.rank @dp : index
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group);
  let results = (outs Index:$result);
  let assemblyFormat = "$group attr-dict `:` type($result)";
}

def CommSchedRt_CopyOp : CommSchedRt_DestinationOp<"copy"> {
  let summary = "copies rows, and converts their elements";
  let description = [{
    Copies `repeat` times `rows` rows of `row_elements` elements. Offsets and
    strides are bytes; the first two entries of `source` and `target` are offset
    and row stride, the third is the stride of the repetitions. `offset` is
    added to the target's offset.

    Elements are converted from `source_type` to `target_type`; without these
    types, elements are bytes. The rest of the target keeps its content;
    `overwrites` states that the copy fills all of the target.

    Constraints:
    * (C1) `source` and `target` have three entries, none negative.
    * (C2) `repeat`, `rows` and `row_elements` are not negative.
    * (C3) both types are given, or neither.
  }];
  let arguments = (ins
    CommSchedRt_Buffer:$input,
    CommSchedRt_Buffer:$output,
    Optional<Index>:$offset,
    DenseI64ArrayAttr:$source,
    DenseI64ArrayAttr:$target,
    I64Attr:$repeat,
    I64Attr:$rows,
    I64Attr:$row_elements,
    OptionalAttr<TypeAttr>:$source_type,
    OptionalAttr<TypeAttr>:$target_type,
    UnitAttr:$overwrites
  );
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)`
    (`offset` `(` $offset^ `)`)? attr-dict (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputMutable();
    }
  }];
}

def CommSchedRt_ZeroOp : CommSchedRt_DestinationOp<"zero"> {
  let summary = "fills a buffer with zeros";
  let arguments = (ins CommSchedRt_Buffer:$output);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `outs` `(` $output `:` type($output) `)` attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputMutable();
    }
  }];
}

def CommSchedRt_ComputeOp : CommSchedRt_DestinationOp<"compute",
    [AttrSizedOperandSegments]> {
  let summary = "takes the time of an operator";
  let description = [{
    Emulates an opaque operator: occupies the compute stream for `runtime_ns`
    nanoseconds and, if the runtime is configured to do so, fills `outs` with
    values that depend on the operator's name and on `ins`.
  }];
  let arguments = (ins
    StrAttr:$name,
    I64Attr:$runtime_ns,
    Variadic<CommSchedRt_Buffer>:$inputs,
    Variadic<CommSchedRt_Buffer>:$outputs
  );
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $name $runtime_ns (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)? attr-dict
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
  }];
}

def CommSchedRt_AccountOp : CommSchedRt_Op<"account", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "states the predicted time of an operation of the program";
  let description = [{
    Precedes an operation that the program executes itself. A backend that
    models time advances the compute stream by `runtime_ns` nanoseconds; on
    other backends, the operation takes its actual time.

    Example:

    ```mlir
    commsched_rt.account "linalg.matmul" 4100
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$runtime_ns);
  let assemblyFormat = "$name $runtime_ns attr-dict";
}

#endif // COMMSCHED_DIALECT_RUNTIME_COMMSCHEDRTOPS_TD
