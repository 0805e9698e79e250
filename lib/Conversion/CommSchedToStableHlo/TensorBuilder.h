//===- TensorBuilder.h - StableHLO's operations on tensors ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Creates StableHLO's operations on tensors of static shape by their names.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_TENSORBUILDER_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_TENSORBUILDER_H

#include "../StableHlo/StableHlo.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::commsched::stablehlo {

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

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_TENSORBUILDER_H
