//===- RuntimeCalls.h - Calls of the runtime --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes calls of the functions of CommSched/Runtime/Runtime.h, which are
// declared in the module as they are needed.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_RUNTIMECALLS_H
#define COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_RUNTIMECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::commsched {

/// The arguments of commsched_copy, repeated. Layouts are offset, row stride
/// and repeat stride in bytes; types are commsched_type, or -1 for bytes.
struct CopyCall {
  Value target, source;
  /// Added to the target's offset, in bytes; may be null.
  Value offset;
  int32_t targetType = -1;
  int32_t sourceType = -1;
  ArrayRef<int64_t> targetLayout = {};
  ArrayRef<int64_t> sourceLayout = {};
  int64_t repeat = 1;
  int64_t rows = 1;
  int64_t rowElements = 0;
};

class RuntimeCallBuilder {
public:
  explicit RuntimeCallBuilder(ModuleOp module);

  void setInsertionPoint(Operation *op);
  void setInsertionPointAfter(Operation *op);

  /// The address of the first element of a memref.
  Value getPointer(Value memref);
  Value getNull();
  /// The address of this rank's part in the group, `partBytes` bytes a rank.
  Value getPart(Value pointer, int32_t group, int64_t partBytes);
  /// The address of an array that holds `pointers`.
  Value getArray(ArrayRef<Value> pointers);
  /// This rank's index in the group, of type index.
  Value getRank(int32_t group);

  /// The rows of one side of a launch, in words of the runtime: i64, pointer.
  struct Rows {
    Value rows;
    Value splits;
  };
  /// Returns the request.
  Value callStart(int32_t site, Value inputs, Value outputs);
  /// With rows that are values; null where they are none.
  Value callStart(int32_t site, Value inputs, Value outputs, Rows input,
                  Rows output);
  /// Reads the splits of a side of `site` into an array; its pointer and the
  /// rows, of type index.
  Rows callReadSplits(int32_t site, bool isOutput, Value pointer,
                      int32_t numSplits);
  /// Memory for a memref of static shape and identity layout, of the device or
  /// of the host as its type says.
  Value callAllocate(MemRefType type, int64_t alignment);
  /// Returns the number of the request that is held.
  Value callHold(Value request, ArrayRef<Value> sent, ArrayRef<Value> received);
  /// Ends the request that is held, and returns its buffers.
  SmallVector<Value> callResume(Value held, TypeRange types);
  /// An index as i64.
  Value getInteger(Value index);
  void callWait(Value request);
  void callBarrier(int32_t site);
  void callCompute(int32_t index, int64_t ns, Value inputs, Value outputs);
  void callAccount(int32_t index, int64_t ns);
  void callCopy(const CopyCall &copy);
  /// Copies between two memrefs of one shape with strides. False, and nothing
  /// is created, if the runtime cannot address their elements.
  bool callCopy(Value target, Value source);
  void callZero(Value pointer, int64_t bytes);
  void callPoll();

  /// Defines a public global that holds `text` and a terminating zero.
  void defineString(StringRef name, StringRef text);

private:
  Value getConstant(Type type, int64_t value);
  Value getI32(int32_t value);
  Value getI64(int64_t value);
  /// Sizes and strides of a memref as i64, strides in bytes.
  struct Layout {
    Value pointer;
    SmallVector<Value> sizes, strides;
  };
  Layout getLayout(Value memref, int64_t elementBytes);
  /// Copies the rows of all indices of the outermost `outer` dimensions, from
  /// `dim` on.
  void callRowCopies(const Layout &target, const Layout &source, unsigned dim,
                     unsigned outer, Value rows, Value rowBytes);

  /// A memref of static shape and identity layout at `pointer`.
  Value createMemRef(MemRefType type, Value pointer);
  /// The element `index` of an array.
  Value getSlot(Value array, Type elementType, size_t index);
  /// An array of so many elements in the entry block, so that a loop does not
  /// take more stack every time.
  Value createArray(Type elementType, int64_t size);
  /// `pointer` plus `bytes`, an i64.
  Value addBytes(Value pointer, Value bytes);
  func::CallOp call(StringRef callee, TypeRange results, ValueRange operands);

  ModuleOp module;
  OpBuilder builder;
  Location loc;
  SymbolTable symbols;
  Type i32, i64, pointerType;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_RUNTIMECALLS_H
