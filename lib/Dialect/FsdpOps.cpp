//===- FsdpOps.cpp - Copies and storage of FSDP ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "StartOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;

/// The number of elements of all `types` together; none when one is dynamic or
/// the sum does not fit in 64 bits.
static std::optional<int64_t> countElements(TypeRange types) {
  int64_t total = 0;
  for (Type type : types) {
    int64_t count = 1;
    auto shaped = cast<ShapedType>(type);
    if (!shaped.hasStaticShape())
      return std::nullopt;
    for (int64_t dim : shaped.getShape())
      if (llvm::MulOverflow(count, dim, count))
        return std::nullopt;
    if (llvm::AddOverflow(total, count, total))
      return std::nullopt;
  }
  return total;
}

static LogicalResult verifyOneDimension(Operation *op, StringRef what,
                                        ShapedType type, StringRef constraint) {
  if (type.getRank() == 1)
    return success();
  return op->emitOpError() << what << " must have one dimension, but is a "
                           << type << " (" << constraint << ")";
}

//===----------------------------------------------------------------------===//
// AllGatherCopyInOp
//===----------------------------------------------------------------------===//

/// Whether the elements of a tensor of `type` take a known number of bytes.
static bool hasBytes(Type type) {
  return TensorType::isValidElementType(type) &&
         getStaticBytes(RankedTensorType::get({}, type));
}

/// C6 and C7 of a copy-in that packs bytes.
static LogicalResult verifyPacked(AllGatherCopyInOp op, ArrayAttr packed) {
  TypeRange inputs = op.getInputs().getTypes();
  if (packed.size() != inputs.size())
    return op.emitOpError("has ")
           << inputs.size() << " operand(s), but 'packed' has " << packed.size()
           << " element type(s) (C6)";
  SmallVector<Type> converted;
  for (auto [attr, input] : llvm::zip_equal(packed, inputs)) {
    Type element = cast<TypeAttr>(attr).getValue();
    if (!hasBytes(element))
      return op.emitOpError("'packed' has ")
             << element << ", whose size in bytes is not known (C6)";
    converted.push_back(RankedTensorType::get(
        cast<RankedTensorType>(input).getShape(), element));
  }
  RankedTensorType slice = op.getSlice().getType();
  if (!slice.getElementType().isSignlessInteger(8))
    return op.emitOpError("packs bytes, so the slice must have element type "
                          "i8, not ")
           << slice.getElementType() << " (C7)";
  std::optional<int64_t> bytes = getStaticBytes(converted);
  if (bytes && slice.hasStaticShape() && slice.getDimSize(0) != *bytes)
    return op.emitOpError("operands have ")
           << *bytes << " bytes together, but the slice has "
           << slice.getDimSize(0) << " (C7)";
  return success();
}

LogicalResult AllGatherCopyInOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs at least one operand (C2)");
  RankedTensorType slice = getSlice().getType(), buffer = getBuffer().getType();
  if (failed(verifyOneDimension(*this, "the slice", slice, "C3")) ||
      failed(verifyOneDimension(*this, "the buffer", buffer, "C3")))
    return failure();
  if (slice.getElementType() != buffer.getElementType())
    return emitOpError("slice has element type ")
           << slice.getElementType() << ", but the buffer "
           << buffer.getElementType() << " (C3)";
  if (std::optional<ArrayAttr> packed = getPacked())
    return verifyPacked(*this, *packed);
  std::optional<int64_t> count = countElements(getInputs().getTypes());
  if (count && slice.hasStaticShape() && slice.getDimSize(0) != *count)
    return emitOpError("operands have ")
           << *count << " elements together, but the slice has "
           << slice.getDimSize(0) << " (C4)";
  return success();
}

LogicalResult AllGatherCopyInOp::verifyGroup(GroupOp group) {
  RankedTensorType slice = getSlice().getType(), buffer = getBuffer().getType();
  int64_t size = group.getSize(), expected;
  if (!slice.hasStaticShape() || !buffer.hasStaticShape())
    return success();
  if (!llvm::MulOverflow(slice.getDimSize(0), size, expected) &&
      buffer.getDimSize(0) == expected)
    return success();
  return emitOpErrorWithNote(*this, group.getLoc(),
                             "the group is declared here")
         << "slice has " << slice.getDimSize(0)
         << " elements, so the buffer must have " << size
         << " times as many, not " << buffer.getDimSize(0) << " (C5)";
}

Value AllGatherCopyInOp::getAliasedValue(OpResult result) {
  return result == getSlice() ? getBuffer() : Value();
}

std::optional<int64_t> AllGatherCopyInOp::getMovedBytes() {
  // The rest of the buffer is allocated but not touched.
  std::optional<int64_t> in = getStaticBytes(getInputs().getTypes());
  std::optional<int64_t> out = getStaticBytes(getSlice().getType());
  if (!in || !out)
    return std::nullopt;
  return llvm::SaturatingAdd<uint64_t>(*in, *out);
}

//===----------------------------------------------------------------------===//
// SplitWithSizesCopyOp
//===----------------------------------------------------------------------===//

LogicalResult SplitWithSizesCopyOp::verify() {
  if (getOutputs().empty())
    return emitOpError("needs at least one result (C2)");
  RankedTensorType input = getInput().getType();
  bool holdsBytes = false;
  for (auto [index, type] : llvm::enumerate(getOutputs().getTypes())) {
    Type element = cast<ShapedType>(type).getElementType();
    if (element == input.getElementType())
      continue;
    holdsBytes = true;
    if (!input.getElementType().isSignlessInteger(8))
      return emitOpError("result ")
             << index << " has element type " << element << ", but the operand "
             << input.getElementType() << " (C3)";
    if (!hasBytes(element))
      return emitOpError("result ")
             << index << " has element type " << element
             << ", whose size in bytes is not known (C3)";
  }
  TypeRange outputs = getOutputs().getTypes();
  std::optional<int64_t> packed = countElements(getInput().getType());
  std::optional<int64_t> unpacked =
      holdsBytes ? getStaticBytes(outputs) : countElements(outputs);
  StringRef unit = holdsBytes ? " bytes" : " elements";
  if (packed && unpacked && *packed != *unpacked)
    return emitOpError("operand has ")
           << *packed << unit << ", but the results together " << *unpacked
           << " (C4)";
  return success();
}

LogicalResult SplitWithSizesCopyOp::verifyGroup(GroupOp group) {
  int64_t size = group.getSize();
  for (auto [index, type] : llvm::enumerate(getOutputs().getTypes())) {
    auto shaped = cast<ShapedType>(type);
    if (shaped.getRank() > 0 &&
        (shaped.isDynamicDim(0) || shaped.getDimSize(0) % size == 0))
      continue;
    return emitOpErrorWithNote(*this, group.getLoc(),
                               "the group is declared here")
           << "result " << index << " is a " << type
           << ", whose dimension 0 the group's size " << size
           << " does not divide (C5)";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ChunkCatOp
//===----------------------------------------------------------------------===//

/// Whether `to` is `from` or a wider element type of the same kind.
static bool isSameOrWider(Type from, Type to) {
  if (from == to)
    return true;
  if (auto fromComplex = dyn_cast<ComplexType>(from)) {
    auto toComplex = dyn_cast<ComplexType>(to);
    return toComplex && isSameOrWider(fromComplex.getElementType(),
                                      toComplex.getElementType());
  }
  bool sameKind = (isa<FloatType>(from) && isa<FloatType>(to)) ||
                  (isa<IntegerType>(from) && isa<IntegerType>(to));
  return sameKind && from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
}

LogicalResult ChunkCatOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs at least one operand (C2)");
  RankedTensorType output = getOutput().getType();
  for (auto [index, type] : llvm::enumerate(getInputs().getTypes())) {
    auto input = cast<RankedTensorType>(type);
    if (input.getRank() == 0)
      return emitOpError("operand ")
             << index << " is a " << type << ", which has no dimension 0 (C2)";
    if (!isSameOrWider(input.getElementType(), output.getElementType()))
      return emitOpError("operand ")
             << index << " has element type " << input.getElementType()
             << ", which cannot be widened to " << output.getElementType()
             << " (C3)";
  }
  return verifyOneDimension(*this, "the result", output, "C4");
}

LogicalResult ChunkCatOp::verifyGroup(GroupOp group) {
  int64_t size = group.getSize();
  SmallVector<Type> padded;
  for (Type type : getInputs().getTypes()) {
    auto shaped = cast<RankedTensorType>(type);
    if (!shaped.hasStaticShape())
      return success();
    SmallVector<int64_t> shape(shaped.getShape());
    int64_t remainder = shape[0] % size;
    if (remainder && llvm::AddOverflow(shape[0], size - remainder, shape[0]))
      return emitOpError("operands overflow when padded (C5)");
    padded.push_back(RankedTensorType::get(shape, shaped.getElementType()));
  }
  RankedTensorType output = getOutput().getType();
  std::optional<int64_t> expected = countElements(padded);
  if (!output.hasStaticShape() ||
      (expected && *expected == output.getDimSize(0)))
    return success();
  if (!expected)
    return emitOpError("operands overflow when padded (C5)");
  return emitOpErrorWithNote(*this, group.getLoc(),
                             "the group is declared here")
         << "operands, padded to chunks for " << size << " ranks, have "
         << *expected << " elements together, but the result has "
         << output.getDimSize(0) << " (C5)";
}

std::optional<int64_t> ChunkCatOp::getMovedBytes() {
  std::optional<int64_t> in = getStaticBytes(getInputs().getTypes());
  std::optional<int64_t> out = getStaticBytes(getOutput().getType());
  if (!in || !out)
    return std::nullopt;
  // Each kernel but the last writes what is packed, which the next one reads.
  auto copies = static_cast<uint64_t>(2 * getNumKernels(*this) - 1);
  return llvm::SaturatingMultiplyAdd<uint64_t>(*in, copies, *out);
}

//===----------------------------------------------------------------------===//
// ResizeStorageOp and FsdpCopyOp
//===----------------------------------------------------------------------===//

LogicalResult ResizeStorageOp::verify() {
  int64_t bytes = getBytes();
  std::optional<int64_t> full = getStaticBytes(getStorage().getType());
  if (bytes == 0 || (!full && bytes > 0) || (full && bytes == *full))
    return success();
  return emitOpErrorWithNote(*this, getStorage().getLoc(),
                             "the storage is defined here")
         << "bytes(" << bytes << ") must be 0 or "
         << (full ? "the storage's " + Twine(*full) : "more") << " (C1)";
}

// The allocator hands out memory without touching it.
std::optional<int64_t> ResizeStorageOp::getKnownRuntimeNs() { return 0; }

LogicalResult FsdpCopyOp::verify() {
  auto source = cast<ShapedType>(getSource().getType());
  auto storage = cast<ShapedType>(getStorage().getType());
  bool sameShape = storage.hasRank() && source.getShape() == storage.getShape();
  if (sameShape && source.getElementType() == storage.getElementType())
    return success();
  return emitOpErrorWithNote(*this, getStorage().getLoc(),
                             "the storage is defined here")
         << "copies a " << source << " into a " << storage << " (C1)";
}
