//===- ComputeOps.cpp - Opaque operators ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/NamedOperators.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallSet.h"
#include <cmath>

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Classes of named operators
//===----------------------------------------------------------------------===//

void NamedOperators::add(StringRef name, OperatorClass kind) {
  classes.insert_or_assign(name, kind);
}

std::optional<OperatorClass> NamedOperators::lookup(StringRef callee) const {
  auto [space, rest] = callee.split('.');
  StringRef name =
      callee.take_front(space.size() + 1 + rest.split('.').first.size());
  auto it = classes.find(name);
  return it == classes.end() ? std::nullopt : std::optional(it->second);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Value mlir::commsched::flatten(OpBuilder &builder, Location location,
                               Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return reshapeFlat(
      builder, location, tensor,
      RankedTensorType::get(type.getNumElements(), type.getElementType()));
}

Value mlir::commsched::reshapeFlat(OpBuilder &builder, Location location,
                                   Value tensor, RankedTensorType type) {
  int64_t from = cast<RankedTensorType>(tensor.getType()).getRank();
  int64_t to = type.getRank();
  if (from == to)
    return tensor;
  SmallVector<ReassociationIndices> groups;
  if (from != 0 && to != 0)
    groups.push_back(llvm::to_vector<2>(llvm::seq(std::max(from, to))));
  if (from > to)
    return tensor::CollapseShapeOp::create(builder, location, type, tensor,
                                           groups);
  return tensor::ExpandShapeOp::create(builder, location, type, tensor, groups);
}

//===----------------------------------------------------------------------===//
// ComputeOp
//===----------------------------------------------------------------------===//

LogicalResult ComputeOp::verify() {
  int64_t operands = getInputs().size();
  if (getCallee().empty())
    return emitOpError("needs the name of an operator (C1)");
  if (std::optional<APFloat> flops = getFlops())
    if (!flops->isFinite() || flops->isNegative())
      return emitOpError("'flops' must be finite and not negative, but is ")
             << flops->convertToDouble() << " (C2)";
  if (std::optional<int64_t> bytes = getBytes(); bytes && *bytes < 0)
    return emitOpError("'bytes' must not be negative, but is ")
           << *bytes << " (C3)";
  if (std::optional<int64_t> alias = getAlias())
    if (*alias < 0 || *alias >= operands)
      return emitOpError("'alias' is ")
             << *alias << ", but there are " << operands << " operand(s) (C4)";
  if (std::optional<ArrayRef<int64_t>> mutates = getMutates()) {
    llvm::SmallSet<int64_t, 4> seen;
    for (int64_t index : *mutates) {
      if (index < 0 || index >= operands)
        return emitOpError("'mutates' has ")
               << index << ", but there are " << operands << " operand(s) (C5)";
      if (!seen.insert(index).second)
        return emitOpError("'mutates' has ") << index << " twice (C5)";
    }
  }
  if (std::optional<StringRef> split = getSplit())
    if (Result<SplitRule> rule = parseSplitRule(*split, getInputs().getTypes(),
                                                getOutputs().getTypes());
        !rule)
      return emitOpError("'split' ") << rule.error() << " (C6)";
  return success();
}

Value ComputeOp::getAliasedValue(OpResult result) {
  std::optional<int64_t> alias = getAlias();
  return alias ? getInputs()[*alias] : Value();
}

std::optional<double> ComputeOp::getFlopCount() {
  if (std::optional<APFloat> flops = getFlops())
    return flops->convertToDouble();
  return std::nullopt;
}

std::optional<int64_t> ComputeOp::getMovedBytes() {
  if (std::optional<int64_t> bytes = getBytes())
    return bytes;
  // A view moves nothing unless it also writes its operand.
  if (getAlias() && !getMutates())
    return 0;
  return getOperandAndResultBytes(*this);
}

bool mlir::commsched::writesDestination(Operation *op) {
  auto compute = dyn_cast<ComputeOp>(op);
  return compute && compute.getAlias() && !compute.getMutates() &&
         compute.getBytes().value_or(0) > 0;
}

void mlir::commsched::writeInto(ComputeOp op, Value destination) {
  Builder builder(op.getContext());
  if (std::optional<int64_t> bytes = op.getMovedBytes())
    op.setBytes(*bytes);
  if (std::optional<StringRef> split = op.getSplit()) {
    auto [before, after] = split->split("->");
    std::string text = before.rtrim().str();
    auto rank = cast<RankedTensorType>(destination.getType()).getRank();
    StringRef separator = text.empty() ? "" : ",";
    text += separator;
    for (int64_t dim = 0; dim < rank; ++dim)
      text += text.empty() ? "_" : " _";
    op.setSplit(text + " ->" + after.str());
  }
  op.setAlias(op.getInputs().size());
  op.getInputsMutable().append(destination);
}

/// Whether `op` is given the state that it draws random numbers from, so that
/// it draws the same ones again.
static bool isGivenRandomState(ComputeOp op) {
  return llvm::any_of(op.getInputs(), [](Value input) {
    auto state = input.getDefiningOp<ComputeOp>();
    return isRngState(getRole(input)) ||
           (state && state.getCallee() == getStateCallee);
  });
}

OperatorClass ComputeOp::getOperatorClass() {
  const auto *classes =
      (*this)->getDialect()->getRegisteredInterface<NamedOperators>();
  std::optional<OperatorClass> named =
      classes ? classes->lookup(getCallee()) : std::nullopt;
  if (getRandom() || named == OperatorClass::Random)
    return isGivenRandomState(*this) ? OperatorClass::Other
                                     : OperatorClass::Random;
  if (getAlias() && !getMutates() && !writesDestination(*this))
    return OperatorClass::View;
  // Constants create values from nothing, unless they are given a tensor to
  // take the shape or the value from.
  if (named == OperatorClass::Constant &&
      llvm::any_of(getInputs().getTypes(), llvm::IsaPred<ShapedType>))
    return OperatorClass::Pointwise;
  if (named)
    return *named;
  return CostOpInterface(*this).isExpensive() ? OperatorClass::ComputeIntensive
                                              : OperatorClass::Other;
}

void ComputeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (std::optional<ArrayRef<int64_t>> mutates = getMutates())
    for (int64_t index : *mutates)
      effects.emplace_back(MemoryEffects::Write::get(),
                           &getInputsMutable()[index]);
  if (getRandom() && !isGivenRandomState(*this))
    effects.emplace_back(MemoryEffects::Write::get(),
                         RandomStateResource::get());
  if (getNumResults() == 0)
    effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult ComputeOp::readProperties(DialectBytecodeReader &reader,
                                        OperationState &state) {
  auto &properties = state.getOrAddProperties<Properties>();
  if (failed(reader.readOptionalAttribute(properties.alias)) ||
      failed(reader.readOptionalAttribute(properties.bytes)) ||
      failed(reader.readAttribute(properties.callee)) ||
      failed(reader.readOptionalAttribute(properties.flops)) ||
      failed(reader.readOptionalAttribute(properties.mutates)) ||
      failed(reader.readOptionalAttribute(properties.random)))
    return failure();
  // The properties of a file that was written before there was this one end
  // here; nothing else distinguishes such a file.
  ScopedDiagnosticHandler ignoreErrors(reader.getContext(),
                                       [](Diagnostic &) { return success(); });
  if (failed(reader.readOptionalAttribute(properties.split)))
    properties.split = {};
  return success();
}

void ComputeOp::writeProperties(DialectBytecodeWriter &writer) {
  const Properties &properties = getProperties();
  writer.writeOptionalAttribute(properties.alias);
  writer.writeOptionalAttribute(properties.bytes);
  writer.writeAttribute(properties.callee);
  writer.writeOptionalAttribute(properties.flops);
  writer.writeOptionalAttribute(properties.mutates);
  writer.writeOptionalAttribute(properties.random);
  writer.writeOptionalAttribute(properties.split);
}

bool ComputeOp::hasSplitRule() {
  return getSplit() && !getMutates() && !getRandom() && getNumResults() != 0;
}

SplitRule ComputeOp::getSplitRule() {
  Result<SplitRule> rule = parseSplitRule(*getSplit(), getInputs().getTypes(),
                                          getOutputs().getTypes());
  // Only an operation that was not verified has an invalid text.
  return rule ? std::move(*rule) : SplitRule();
}

/// Bytes that a chunk moves if the whole moves `bytes`: as much less as its
/// operands and results are smaller, rounded up.
static int64_t scaleBytes(int64_t bytes, ComputeOp whole, ComputeOp chunk) {
  std::optional<int64_t> ofWhole = getOperandAndResultBytes(whole);
  std::optional<int64_t> ofChunk = getOperandAndResultBytes(chunk);
  if (!ofWhole || !ofChunk || *ofWhole == 0)
    return bytes;
  double scale = static_cast<double>(*ofChunk) / static_cast<double>(*ofWhole);
  return static_cast<int64_t>(std::ceil(static_cast<double>(bytes) * scale));
}

Operation *ComputeOp::createChunk(OpBuilder &builder, ValueRange operands,
                                  TypeRange results, const SplitAxis &,
                                  int64_t count) {
  auto chunk =
      cast<ComputeOp>(createWithTypes(builder, *this, operands, results));
  if (std::optional<double> flops = getFlopCount())
    chunk.setFlops(APFloat(*flops / static_cast<double>(count)));
  if (std::optional<int64_t> bytes = getBytes())
    chunk.setBytes(scaleBytes(*bytes, *this, chunk));
  return chunk;
}
