//===- CollectiveOps.cpp - Verifiers of the collectives -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StartOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <utility>

using namespace mlir;
using namespace mlir::commsched;

static InFlightDiagnostic emitGroupMismatch(Operation *op, GroupOp group) {
  return emitOpErrorWithNote(op, group.getLoc(),
                             "group @" + group.getSymName() + " of size " +
                                 Twine(group.getSize()) + " is declared here");
}

/// Checks that what is delivered has the shape of what is sent, but for the
/// dimension that is divided among the ranks and the one that is put together
/// from them (C5). Dynamic dimensions are left to the runtime.
static LogicalResult verifyShapes(CollectiveOpInterface start, GroupOp group) {
  commsched::detail::RankDimensions dims =
      commsched::detail::getRankDimensions(start);
  int64_t size = group.getSize();
  auto emitMismatch = [&](size_t index, int64_t dim, int64_t from) {
    return emitGroupMismatch(start, group)
           << "dimension " << dim << " of operand " << index << " has size "
           << from << ", ";
  };
  SmallVector<Type> delivered = start.getDeliveredTypes();
  for (auto [index, sent, received] :
       llvm::enumerate(start.getSentValues().getTypes(), delivered)) {
    auto input = cast<ShapedType>(sent), output = cast<ShapedType>(received);
    for (int64_t dim = 0, rank = input.getRank(); dim < rank; ++dim) {
      int64_t from = input.getDimSize(dim), to = output.getDimSize(dim);
      // Where splitting and concatenating cancel, only the operand matters.
      if (ShapedType::isDynamic(from) ||
          (ShapedType::isDynamic(to) && dims.ofOperand != dims.ofResult))
        continue;
      int64_t scaled = from;
      if (dim == dims.ofOperand) {
        if (from % size != 0)
          return emitMismatch(index, dim, from)
                 << "which the group's size " << size
                 << " does not divide (C5)";
        scaled /= size;
      }
      if (ShapedType::isDynamic(to))
        continue;
      if (dim == dims.ofResult && llvm::MulOverflow(scaled, size, scaled))
        return emitGroupMismatch(start, group)
               << "dimension " << dim << " of operand " << index << " of size "
               << from << " overflows when gathered (C5)";
      if (scaled != to)
        return emitMismatch(index, dim, from)
               << "so " << scaled << " must be delivered, not " << to
               << " (C5)";
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// AllGatherOp
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  ArrayRef<Type> delivered = getFutureTypes();
  if (failed(detail::verifySameElementTypeAndRank(*this, inputs, delivered,
                                                  "C3")) ||
      failed(detail::verifyDimension(*this, "dim", getDim(), inputs, "C4")))
    return failure();
  return detail::verifyInto(*this, getInto(), delivered, "C6");
}

LogicalResult AllGatherOp::verifyGroup(GroupOp group) {
  return verifyShapes(*this, group);
}

//===----------------------------------------------------------------------===//
// ReduceScatterOp
//===----------------------------------------------------------------------===//

LogicalResult ReduceScatterOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  ArrayRef<Type> delivered = getFutureTypes();
  if (failed(detail::verifySameElementTypeAndRank(*this, inputs, delivered,
                                                  "C3")) ||
      failed(detail::verifyDimension(*this, "dim", getDim(), inputs, "C4")) ||
      failed(detail::verifyInto(*this, getInto(), delivered, "C6")))
    return failure();
  return detail::verifyReduction(*this, getReduction(), inputs, "C7");
}

LogicalResult ReduceScatterOp::verifyGroup(GroupOp group) {
  return verifyShapes(*this, group);
}

//===----------------------------------------------------------------------===//
// AllReduceOp
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  ArrayRef<Type> delivered = getFutureTypes();
  if (failed(detail::verifySameTypes(*this, inputs, delivered, "C3")) ||
      failed(detail::verifyInto(*this, getInto(), delivered, "C4")))
    return failure();
  return detail::verifyReduction(*this, getReduction(), inputs, "C5");
}

LogicalResult AllReduceOp::verifyGroup(GroupOp) { return success(); }

//===----------------------------------------------------------------------===//
// AllToAllOp
//===----------------------------------------------------------------------===//

LogicalResult AllToAllOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  ArrayRef<Type> delivered = getFutureTypes();
  if (failed(detail::verifySameElementTypeAndRank(*this, inputs, delivered,
                                                  "C3")) ||
      failed(detail::verifyDimension(*this, "split_dim", getSplitDim(), inputs,
                                     "C4")) ||
      failed(detail::verifyDimension(*this, "concat_dim", getConcatDim(),
                                     inputs, "C4")))
    return failure();
  if (hasSplits() && getSplitDim() != getConcatDim())
    return emitOpError("has splits, so split_dim(")
           << static_cast<int64_t>(getSplitDim()) << ") and concat_dim("
           << static_cast<int64_t>(getConcatDim()) << ") must be equal (C6)";
  if (hasSplitValues() && getSplitDim() != 0)
    return emitOpError("has splits that are values, so split_dim(")
           << static_cast<int64_t>(getSplitDim()) << ") must be 0 (C8)";
  return detail::verifyInto(*this, getInto(), delivered, "C7");
}

/// Checks the splits of one side that are a value, next to its `splits`.
static LogicalResult verifySplitValue(AllToAllOp op, GroupOp group,
                                      StringRef name, Value sizes,
                                      std::optional<ArrayRef<int64_t>> splits) {
  if (splits)
    return op.emitOpError("'") << name << "' is both a list and a value (C8)";
  auto type = cast<RankedTensorType>(sizes.getType());
  int64_t ranks = group.getSize();
  if (type.getElementType().isInteger(64) && type.getShape() == ArrayRef(ranks))
    return success();
  return emitGroupMismatch(op, group)
         << "'" << name << "' is a " << type << ", but a group of " << ranks
         << " ranks has splits of type "
         << RankedTensorType::get(ranks, IntegerType::get(op.getContext(), 64))
         << " (C8)";
}

/// Checks one side of an uneven exchange: `rows` are cut by `splits`, by the
/// value `sizes`, or evenly.
static LogicalResult verifySplits(AllToAllOp op, GroupOp group, StringRef name,
                                  std::optional<ArrayRef<int64_t>> splits,
                                  Value sizes, StringRef side, int64_t rows) {
  if (sizes)
    return verifySplitValue(op, group, name, sizes, splits);
  int64_t size = group.getSize();
  if (!splits) {
    if (ShapedType::isDynamic(rows) || rows % size == 0)
      return success();
    return emitGroupMismatch(op, group)
           << "has no '" << name << "', and the group's size " << size
           << " does not divide the " << side << " size " << rows << " (C6)";
  }
  if (static_cast<int64_t>(splits->size()) != size)
    return emitGroupMismatch(op, group)
           << "'" << name << "' has " << splits->size()
           << " entries for a group of " << size << " ranks (C6)";
  int64_t sum = 0;
  for (int64_t split : *splits) {
    if (split < 0)
      return op.emitOpError("'")
             << name << "' has the negative entry " << split << " (C6)";
    if (llvm::AddOverflow(sum, split, sum))
      return op.emitOpError("'") << name << "' overflows when added up (C6)";
  }
  if (!ShapedType::isDynamic(rows) && sum != rows)
    return op.emitOpError("'") << name << "' adds up to " << sum << ", but the "
                               << side << " size is " << rows << " (C6)";
  return success();
}

static LogicalResult verifyUnevenShapes(AllToAllOp op, GroupOp group) {
  int64_t splitDim = op.getSplitDim();
  for (auto [index, pair] : llvm::enumerate(
           llvm::zip(op.getInputs().getTypes(), op.getFutureTypes()))) {
    auto input = cast<ShapedType>(std::get<0>(pair));
    auto output = cast<ShapedType>(std::get<1>(pair));
    if (failed(verifySplits(op, group, "input_splits", op.getInputSplits(),
                            op.getInputSizes(), "operand's",
                            input.getDimSize(splitDim))) ||
        failed(verifySplits(op, group, "output_splits", op.getOutputSplits(),
                            op.getOutputSizes(), "delivered",
                            output.getDimSize(splitDim))))
      return failure();
    for (int64_t dim = 0, rank = input.getRank(); dim < rank; ++dim) {
      int64_t from = input.getDimSize(dim), to = output.getDimSize(dim);
      if (dim == splitDim || from == to || ShapedType::isDynamic(from) ||
          ShapedType::isDynamic(to))
        continue;
      return op.emitOpError("dimension ")
             << dim << " of operand " << index << " has size " << from
             << ", but " << to << " is delivered (C6)";
    }
  }
  return success();
}

LogicalResult AllToAllOp::verifyGroup(GroupOp group) {
  return hasSplits() ? verifyUnevenShapes(*this, group)
                     : verifyShapes(*this, group);
}

//===----------------------------------------------------------------------===//
// RaggedAllToAllOp
//===----------------------------------------------------------------------===//

/// Checks the rows that are sent against the buffer that rows are written to.
static LogicalResult verifyRows(RaggedAllToAllOp op) {
  RankedTensorType input = op.getInput().getType();
  RankedTensorType into = op.getInto().getType();
  auto emitMismatch = [&]() {
    return emitOpErrorWithNote(op, op.getInto().getLoc(),
                               "the buffer is defined here")
           << "the operand is a " << input << ", but 'into' is a " << into;
  };
  if (input.getElementType() != into.getElementType())
    return emitMismatch() << ": the element types must be equal (C3)";
  if (input.getRank() != into.getRank())
    return emitMismatch() << ": the ranks must be equal (C3)";
  if (input.getRank() == 0)
    return op.emitOpError("the operand is a ")
           << input << ", which has no rows (C3)";
  if (failed(verifyCompatibleShape(input.getShape().drop_front(),
                                   into.getShape().drop_front())))
    return emitMismatch() << ": only dimension 0 may differ (C3)";
  return success();
}

/// The lists of `op` with the names that the constraints give them.
static std::array<std::pair<StringRef, RankedTensorType>, 4>
getLists(RaggedAllToAllOp op) {
  return {{{"input_offsets", op.getInputOffsets().getType()},
           {"send_sizes", op.getSendSizes().getType()},
           {"output_offsets", op.getOutputOffsets().getType()},
           {"recv_sizes", op.getRecvSizes().getType()}}};
}

LogicalResult RaggedAllToAllOp::verify() {
  if (getFutureTypes() != ArrayRef<Type>(getInto().getType()))
    return emitOpErrorWithNote(*this, getInto().getLoc(),
                               "the buffer is defined here")
           << "writes into a " << getInto().getType()
           << ", but its future is a " << getFuture().getType() << " (C2)";
  if (failed(verifyRows(*this)))
    return failure();
  for (auto [name, type] : getLists(*this))
    if (type.getRank() != 1 || !isa<IntegerType>(type.getElementType()))
      return emitOpError("'")
             << name << "' is a " << type
             << ", not a tensor of one dimension and integers (C4)";
  return success();
}

LogicalResult RaggedAllToAllOp::verifyGroup(GroupOp group) {
  int64_t ranks = group.getSize();
  // The first list of static size.
  StringRef firstName;
  int64_t firstSize = ShapedType::kDynamic;
  for (auto [name, type] : getLists(*this)) {
    int64_t size = type.getDimSize(0);
    if (ShapedType::isDynamic(size))
      continue;
    if (size % ranks != 0)
      return emitGroupMismatch(*this, group)
             << "'" << name << "' has " << size
             << " entries, which the group's size " << ranks
             << " does not divide (C5)";
    if (ShapedType::isDynamic(firstSize)) {
      firstName = name;
      firstSize = size;
    }
    if (size != firstSize)
      return emitOpError("'") << name << "' has " << size << " entries, but '"
                              << firstName << "' has " << firstSize << " (C5)";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  ArrayRef<Type> delivered = getFutureTypes();
  if (failed(detail::verifySameTypes(*this, inputs, delivered, "C3")))
    return failure();
  return detail::verifyInto(*this, getInto(), delivered, "C5");
}

LogicalResult BroadcastOp::verifyGroup(GroupOp group) {
  return detail::verifyRank(*this, "root", getRoot(), group, "C4");
}

//===----------------------------------------------------------------------===//
// PermuteOp
//===----------------------------------------------------------------------===//

LogicalResult PermuteOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  ArrayRef<Type> delivered = getFutureTypes();
  if (failed(detail::verifySameTypes(*this, inputs, delivered, "C3")))
    return failure();
  ShapedType pairs = getPairs().getShapedType();
  if (pairs.getRank() != 2 || pairs.getDimSize(1) != 2)
    return emitOpError("'pairs' must have the shape Nx2, not ")
           << pairs << " (C4)";
  llvm::SmallSet<int64_t, 16> sources, targets;
  for (auto [index, value] : llvm::enumerate(getPairs().getValues<int64_t>())) {
    bool isTarget = index % 2 == 1;
    if (!(isTarget ? targets : sources).insert(value).second)
      return emitOpError("'pairs' repeats the ")
             << (isTarget ? "target " : "source ") << value << " (C6)";
  }
  return detail::verifyInto(*this, getInto(), delivered, "C7");
}

LogicalResult PermuteOp::verifyGroup(GroupOp group) {
  for (auto [index, rank] : llvm::enumerate(getPairs().getValues<int64_t>()))
    if (failed(detail::verifyRank(
            *this, index % 2 ? "pairs' target " : "pairs' source ", rank, group,
            "C5")))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// SendOp and RecvOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyTag(Operation *op, std::optional<int64_t> tag) {
  if (!tag || *tag >= 0)
    return success();
  return op->emitOpError("tag(") << *tag << ") is negative (C4)";
}

LogicalResult SendOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs at least one operand (C2)");
  if (!getFutureTypes().empty())
    return emitOpError("delivers nothing, but its future holds ")
           << getFutureTypes().size() << " type(s) (C2)";
  return verifyTag(*this, getTag());
}

LogicalResult SendOp::verifyGroup(GroupOp group) {
  return detail::verifyRank(*this, "to", getTo(), group, "C3");
}

LogicalResult RecvOp::verify() {
  if (getFutureTypes().empty())
    return emitOpError("must deliver at least one value (C2)");
  if (failed(verifyTag(*this, getTag())))
    return failure();
  return detail::verifyInto(*this, getInto(), getFutureTypes(), "C5");
}

LogicalResult RecvOp::verifyGroup(GroupOp group) {
  return detail::verifyRank(*this, "from", getFrom(), group, "C3");
}
