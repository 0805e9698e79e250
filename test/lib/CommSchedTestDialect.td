//===- CommSchedTestDialect.td - Foreign dialect for tests -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dialect of another project. It shares no operation, type or
// attribute with `commsched`: what CommSched does to a program of this dialect,
// it does through the interfaces.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TEST_LIB_COMMSCHEDTESTDIALECT_TD
#define COMMSCHED_TEST_LIB_COMMSCHEDTESTDIALECT_TD

include "CommSched/Interfaces/CommSchedInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Test_Dialect : Dialect {
  let name = "commsched_test";
  let cppNamespace = "::mlir::commsched_test";
  let useDefaultTypePrinterParser = 1;
}

def Test_Handle : TypeDef<Test_Dialect, "Handle"> {
  let mnemonic = "handle";
  let summary = "a communication in flight";
}

class Test_Op<string mnemonic, list<Trait> traits = []>
    : Op<Test_Dialect, mnemonic, traits>;

def Test_Communication : Resource<"::mlir::commsched::CommunicationResource">;

/// The channel is no symbol: nothing may ask for more than an attribute.
class Test_StartOp<string mnemonic, list<string> methods = []>
    : Test_Op<mnemonic, [
        DeclareOpInterfaceMethods<CommSched_CollectiveOpInterface, methods>,
        MemoryEffects<[MemWrite<Test_Communication>]>]> {
  let results = (outs Test_Handle:$handle);
  let assemblyFormat = [{
    $inputs `over` $channel `ranks` `(` $ranks `)` attr-dict `:` type($inputs)
  }];
  let extraClassDefinition = [{
    ::mlir::Attribute $cppClass::getGroupKey() { return getChannelAttr(); }
    ::mlir::FailureOr<::mlir::commsched::ProcessGroup>
    $cppClass::getProcessGroup(::mlir::SymbolTableCollection &) {
      int64_t ranks = getRanks();
      return ::mlir::commsched::ProcessGroup{ranks, ranks};
    }
    ::mlir::Value $cppClass::getInFlightFuture() { return getHandle(); }
    ::mlir::OperandRange $cppClass::getSentValues() { return getInputs(); }
    ::mlir::OperandRange $cppClass::getDestinations() {
      return getInputs().drop_front(getInputs().size());
    }
  }];
}

def Test_ExchangeOp : Test_StartOp<"exchange"> {
  let summary = "starts exchanging tensors over a named channel";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, StrAttr:$channel,
                       I64Attr:$ranks);
}

def Test_TotalOp : Test_StartOp<"total", [
    "getReductionKind", "getBucketKey", "isMergeable", "createMergedStart",
    "createWait"]> {
  let summary = "starts adding values up over a channel";
  let description = [{
    The attributes make it another `kind` of communication, one that `delivers`
    another type, one that is merged with those of its `wagon` only, or with no
    other.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, AnyAttr:$channel,
                       I64Attr:$ranks, OptionalAttr<StrAttr>:$kind,
                       OptionalAttr<TypeAttr>:$delivers,
                       OptionalAttr<StrAttr>:$wagon, UnitAttr:$keyless,
                       UnitAttr:$unmergeable);
}

def Test_FinishOp : Test_Op<"finish", [
    DeclareOpInterfaceMethods<CommSched_WaitOpInterface>,
    MemoryEffects<[MemWrite<Test_Communication>]>]> {
  let summary = "waits for a communication";
  let arguments = (ins Test_Handle:$handle);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$handle attr-dict `:` type($outputs)";
}

def Test_WorkOp : Test_Op<"work", [
    Pure, DeclareOpInterfaceMethods<CommSched_CostOpInterface,
                                    ["getKnownRuntimeNs", "isExpensive"]>]> {
  let summary = "computes for a known time";
  let arguments = (ins Variadic<AnyType>:$inputs, I64Attr:$nanoseconds,
                       UnitAttr:$expensive);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $nanoseconds `(` $inputs `)` attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

def Test_ProbeOp : Test_Op<"probe", [
    MemoryEffects<[MemWrite<Test_Communication>]>]> {
  let summary = "communicates in a way that no interface describes";
  let assemblyFormat = "attr-dict";
}

#endif // COMMSCHED_TEST_LIB_COMMSCHEDTESTDIALECT_TD
