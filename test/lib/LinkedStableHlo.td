//===- LinkedStableHlo.td - StableHLO as a linked dialect --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some operations of StableHLO with the names and attributes that they have
// there, as a compiler sees them that links the dialect: registered, with
// properties in C++ structs and with attributes and types of its own.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TEST_LIB_LINKEDSTABLEHLO_TD
#define COMMSCHED_TEST_LIB_LINKEDSTABLEHLO_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"

def Linked_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::mlir::linked_stablehlo";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def Linked_ChannelHandle : AttrDef<Linked_Dialect, "ChannelHandle"> {
  let mnemonic = "channel_handle";
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Linked_Future : TypeDef<Linked_Dialect, "Future"> {
  let mnemonic = "future";
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
}

class Linked_Op<string mnemonic, list<Trait> traits = []>
    : Op<Linked_Dialect, mnemonic, traits>;

def Linked_AddOp : Linked_Op<"add"> {
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs);
  let results = (outs AnyTensor:$result);
}

def Linked_ReturnOp : Linked_Op<"return", [Terminator]> {
  let arguments = (ins Variadic<AnyType>:$values);
}

def Linked_AllGatherOp : Linked_Op<"all_gather"> {
  let arguments = (ins Variadic<AnyTensor>:$inputs, I64Attr:$all_gather_dim,
      I64ElementsAttr:$replica_groups,
      OptionalAttr<Linked_ChannelHandle>:$channel_handle,
      UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<AnyTensor>:$outputs);
}

def Linked_AllReduceOp : Linked_Op<"all_reduce"> {
  let arguments = (ins Variadic<AnyTensor>:$inputs,
      I64ElementsAttr:$replica_groups,
      OptionalAttr<Linked_ChannelHandle>:$channel_handle,
      UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<AnyTensor>:$outputs);
  let regions = (region SizedRegion<1>:$computation);
}

def Linked_CollectivePermuteOp : Linked_Op<"collective_permute"> {
  let arguments = (ins Variadic<AnyTensor>:$inputs,
      I64ElementsAttr:$source_target_pairs,
      OptionalAttr<Linked_ChannelHandle>:$channel_handle);
  let results = (outs Variadic<AnyTensor>:$outputs);
}

def Linked_AsyncStartOp : Linked_Op<"async_start"> {
  let arguments = (ins Variadic<AnyTensor>:$inputs);
  let results = (outs Linked_Future:$future);
  let regions = (region SizedRegion<1>:$body);
}

def Linked_AsyncDoneOp : Linked_Op<"async_done"> {
  let arguments = (ins Linked_Future:$future);
  let results = (outs Variadic<AnyTensor>:$outputs);
}

#endif // COMMSCHED_TEST_LIB_LINKEDSTABLEHLO_TD
