//===- RowCopies.cpp - Tensors as parts for the ranks ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowCopies.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace mlir;
using namespace mlir::commsched;

static int64_t getProduct(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

bool mlir::commsched::needsPacking(ArrayRef<int64_t> shape, int64_t dim) {
  return getProduct(shape.take_front(dim)) > 1;
}

SmallVector<RowCopy>
mlir::commsched::getPackingCopies(ArrayRef<int64_t> shape, int64_t dim,
                                  ArrayRef<int64_t> partSizes,
                                  int64_t elementBytes) {
  int64_t outer = getProduct(shape.take_front(dim));
  int64_t inner = getProduct(shape.drop_front(dim + 1)) * elementBytes;
  auto getCopy = [&](int64_t begin, int64_t size) {
    RowCopy copy;
    copy.rows = outer;
    copy.rowElements = size * inner;
    copy.source = {begin * inner, shape[dim] * inner, size * inner};
    copy.target = {begin * inner * outer, size * inner, size * inner * outer};
    return copy;
  };
  if (llvm::all_equal(partSizes)) {
    RowCopy copy = getCopy(0, partSizes.front());
    copy.repeat = partSizes.size();
    return {copy};
  }
  SmallVector<RowCopy> copies;
  int64_t begin = 0;
  for (int64_t size : partSizes) {
    copies.push_back(getCopy(begin, size));
    begin += size;
  }
  return copies;
}

SmallVector<RowCopy>
mlir::commsched::getUnpackingCopies(ArrayRef<int64_t> shape, int64_t dim,
                                    ArrayRef<int64_t> partSizes,
                                    int64_t elementBytes) {
  SmallVector<RowCopy> copies =
      getPackingCopies(shape, dim, partSizes, elementBytes);
  for (RowCopy &copy : copies)
    std::swap(copy.source, copy.target);
  return copies;
}

Value mlir::commsched::createCopies(OpBuilder &builder, Location loc,
                                    Value source, Value target,
                                    ArrayRef<RowCopy> copies, bool overwrites,
                                    Value offset) {
  auto getLayout = [&](const RowLayout &layout) {
    return builder.getDenseI64ArrayAttr(
        {layout.offset, layout.rowStride, layout.repeatStride});
  };
  auto getTypeAttr = [](Type type) {
    return type ? TypeAttr::get(type) : TypeAttr();
  };
  for (const RowCopy &copy : copies) {
    auto op = rt::CopyOp::create(
        builder, loc, target.getType(), source, target, offset,
        getLayout(copy.source), getLayout(copy.target),
        builder.getI64IntegerAttr(copy.repeat),
        builder.getI64IntegerAttr(copy.rows),
        builder.getI64IntegerAttr(copy.rowElements),
        getTypeAttr(copy.sourceType), getTypeAttr(copy.targetType),
        // The first of several leaves the rest to the others.
        overwrites && copies.size() == 1 ? builder.getUnitAttr() : UnitAttr());
    target = op.getResult();
  }
  return target;
}
