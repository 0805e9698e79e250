//===- RuntimeCalls.h - Calls of the runtime --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes calls of the functions of CommSched/Runtime/Runtime.h, which are
// declared in the module as they are needed, and the values that they take.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_RUNTIMECALLS_H
#define COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_RUNTIMECALLS_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {

class RuntimeCallBuilder {
public:
  explicit RuntimeCallBuilder(ModuleOp module);

  void setInsertionPoint(Operation *op);
  void setInsertionPointAfter(Operation *op);

  /// Calls a function with values, and constants of the types i32 and i64. The
  /// result is null if `result` is.
  template <typename... Operands>
  Value call(StringRef callee, Type result, Operands... operands) {
    return createCall(callee, result, {getValue(operands)...});
  }

  Value getValue(Value value) { return value; }
  Value getValue(int32_t value);
  Value getValue(int64_t value);
  Value getNull();
  /// An index as i64, and back.
  Value getInteger(OpFoldResult index);
  Value getIndex(Value integer);

  /// The address of the first element of a memref.
  Value getPointer(Value memref);
  SmallVector<Value> getPointers(ValueRange memrefs);
  /// `pointer` plus `bytes`, an i64.
  Value addBytes(Value pointer, Value bytes);
  Value multiply(Value a, Value b);
  Value add(Value a, Value b);
  /// A memref of static shape and identity layout at `pointer`.
  Value createMemRef(MemRefType type, Value pointer);

  /// The address of an array of so many elements in the entry block, so that a
  /// loop does not take more stack every time.
  Value createArray(Type elementType, int64_t size);
  /// The address of the element `index` of an array.
  Value getSlot(Value array, Type elementType, size_t index);
  void store(Value value, Value array, size_t index);
  Value load(Type type, Value array, size_t index);
  /// The address of an array that holds `pointers`; null if there are none.
  Value getArray(ArrayRef<Value> pointers);

  /// One side of a copy: elements of a commsched_type, or -1 for bytes, and the
  /// bytes from one index of each dimension to the next.
  struct Side {
    Value pointer;
    int32_t type = -1;
    SmallVector<Value> strides = {};
  };
  /// Copies `rowElements` elements for all indices of the dimensions, i64. The
  /// innermost one is the rows of a call, and there are loops over the others.
  void copy(Side target, Side source, ArrayRef<Value> sizes, Value rowElements);
  /// Copies between two memrefs of one shape with strides. False, and nothing
  /// is created, if the runtime cannot address their elements.
  bool copy(Value target, Value source);

  /// Defines a public global that holds `text` and a terminating zero.
  void defineString(StringRef name, StringRef text);

private:
  Value createCall(StringRef callee, Type result, ArrayRef<Value> operands);

  ModuleOp module;
  OpBuilder builder;
  Location loc;
  SymbolTable symbols;
  LLVMTypeConverter typeConverter;

public:
  const Type i32, i64, pointerType;
};

/// The description of a lowered program: the JSON text that
/// `commsched_load_program` reads (CommSched/Runtime/Runtime.h).
class ProgramDescription {
public:
  explicit ProgramDescription(ModuleOp module);

  /// The index of the group `symbol`; an error at `op` if there is none.
  FailureOr<int32_t> getGroup(Operation *op, FlatSymbolRefAttr symbol);
  /// The index of the group of the same ranks with this implementation, which
  /// may be null. Appends it if it is new.
  FailureOr<int32_t> getGroup(Operation *op, FlatSymbolRefAttr symbol,
                              rt::ImplementationAttr implementation);

  /// Appends the collective, and returns its index.
  FailureOr<int32_t> addSite(rt::StartOp op);
  FailureOr<int32_t> addSite(rt::BarrierOp op);
  /// Appends the operator, and returns its index.
  int32_t addOperator(rt::ComputeOp op);
  int32_t addOperator(rt::AccountOp op);
  /// Remembers the first operation that works on buffers on the processor.
  void addHostCode(Operation *op);

  /// One line of JSON.
  std::string getText() const;

private:
  int32_t addOperator(StringRef name, Location loc, ValueRange inputs,
                      ValueRange outputs);
  /// `group` is none for a transfer.
  llvm::json::Object getSite(StringRef name, Location loc, CollectiveKind kind,
                             std::optional<int32_t> group,
                             IntegerAttr runtimeNs);

  llvm::DenseMap<StringAttr, int32_t> groupIndices;
  llvm::DenseMap<std::pair<int32_t, Attribute>, int32_t> implementedGroups;
  llvm::json::Array groups, sites, operators;
  std::string hostCode;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_RUNTIMECALLS_H
