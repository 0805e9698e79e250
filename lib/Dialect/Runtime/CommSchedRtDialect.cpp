//===- CommSchedRtDialect.cpp - The commsched_rt dialect ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::rt;

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "CommSched/Dialect/Runtime/CommSchedRtAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "CommSched/Dialect/Runtime/CommSchedRtTypes.cpp.inc"

/// The kind of a start. It is printed as a string; a keyword is accepted too.
static ParseResult parseCollectiveKind(OpAsmParser &parser,
                                       CollectiveKindAttr &kind) {
  FailureOr<CollectiveKind> parsed = FieldParser<CollectiveKind>::parse(parser);
  if (failed(parsed))
    return failure();
  kind = CollectiveKindAttr::get(parser.getContext(), *parsed);
  return success();
}

static void printCollectiveKind(OpAsmPrinter &printer, Operation *,
                                CollectiveKindAttr kind) {
  printer << '"' << stringifyCollectiveKind(kind.getValue()) << '"';
}

#define GET_OP_CLASSES
#include "CommSched/Dialect/Runtime/CommSchedRtOps.cpp.inc"

void CommSchedRtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "CommSched/Dialect/Runtime/CommSchedRtAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "CommSched/Dialect/Runtime/CommSchedRtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "CommSched/Dialect/Runtime/CommSchedRtOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Memory effects
//===----------------------------------------------------------------------===//

using EffectList =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Memrefs only: tensors are values.
static void addEffects(EffectList &effects, MutableArrayRef<OpOperand> operands,
                       ArrayRef<MemoryEffects::Effect *> kinds) {
  for (OpOperand &operand : operands)
    if (isa<BaseMemRefType>(operand.get().getType()))
      for (MemoryEffects::Effect *kind : kinds)
        effects.emplace_back(kind, &operand,
                             SideEffects::DefaultResource::get());
}

static void addCommunication(EffectList &effects, SymbolRefAttr group) {
  if (group)
    effects.emplace_back(MemoryEffects::Write::get(), group,
                         CommunicationResource::get());
  else
    effects.emplace_back(MemoryEffects::Write::get(),
                         CommunicationResource::get());
}

/// Those of a collective on the buffers of `op`.
template <typename OpT>
static void addTransfer(EffectList &effects, OpT op, SymbolRefAttr group) {
  addEffects(effects, op.getInputsMutable(), {MemoryEffects::Read::get()});
  addEffects(effects, op.getOutputsMutable(),
             {MemoryEffects::Read::get(), MemoryEffects::Write::get()});
  addCommunication(effects, group);
}

void StartOp::getEffects(EffectList &effects) {
  addTransfer(effects, *this, getGroupAttr());
}

void WaitOp::getEffects(EffectList &effects) {
  auto start = getRequest().getDefiningOp<StartOp>();
  addTransfer(effects, *this, start ? start.getGroupAttr() : nullptr);
}

void HoldOp::getEffects(EffectList &effects) {
  addTransfer(effects, *this, nullptr);
}

/// It also writes what it allocates: MLIR removes what allocates and does
/// nothing else when the results are unused.
void ResumeOp::getEffects(EffectList &effects) {
  for (OpResult value : getValues())
    if (isa<BaseMemRefType>(value.getType())) {
      effects.emplace_back(MemoryEffects::Allocate::get(), value,
                           SideEffects::DefaultResource::get());
      effects.emplace_back(MemoryEffects::Write::get(), value,
                           SideEffects::DefaultResource::get());
    }
  addCommunication(effects, nullptr);
}

/// Not an allocation to MLIR's deallocation: another function frees it.
void AllocateOp::getEffects(EffectList &effects) {
  addCommunication(effects, nullptr);
}

/// The host waits: the operation keeps its place among collectives.
void ReadSplitsOp::getEffects(EffectList &effects) {
  addEffects(effects, getInputMutable(), {MemoryEffects::Read::get()});
  addCommunication(effects, nullptr);
}

void BarrierOp::getEffects(EffectList &effects) {
  addCommunication(effects, getGroupAttr());
}

void CopyOp::getEffects(EffectList &effects) {
  addEffects(effects, getInputMutable(), {MemoryEffects::Read::get()});
  addEffects(effects, getOutputMutable(), {MemoryEffects::Write::get()});
}

void ZeroOp::getEffects(EffectList &effects) {
  addEffects(effects, getOutputMutable(), {MemoryEffects::Write::get()});
}

void AccountOp::getEffects(EffectList &effects) {
  addCommunication(effects, nullptr);
}

/// The time is an effect: the operation must not be removed when its results
/// are unused.
void ComputeOp::getEffects(EffectList &effects) {
  addEffects(effects, getInputsMutable(), {MemoryEffects::Read::get()});
  addEffects(effects, getOutputsMutable(), {MemoryEffects::Write::get()});
  addCommunication(effects, nullptr);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// `results` are what the tensors among `buffers` become.
static LogicalResult verifyResults(Operation *op, TypeRange results,
                                   TypeRange buffers, StringRef constraint) {
  SmallVector<Type> tensors;
  for (Type type : buffers)
    if (isa<TensorType>(type))
      tensors.push_back(type);
  if (llvm::equal(results, tensors))
    return success();
  return op->emitOpError("has results of types (")
         << results << ") for tensors of types (" << tensors << ") "
         << constraint;
}

static bool isAnyNegative(ArrayRef<int64_t> values) {
  return llvm::any_of(values, [](int64_t value) { return value < 0; });
}

/// Constraints C6 and C7 on the values of one side.
static LogicalResult verifySplitValues(StartOp op, Value values, bool isOutput,
                                       std::optional<ArrayAttr> lists) {
  if (!values)
    return success();
  if (lists)
    return op.emitOpError("has ")
           << (isOutput ? "output_splits" : "input_splits")
           << " as a list and as values (C6)";
  auto read = values.getDefiningOp<ReadSplitsOp>();
  if (read && read.getOutput() == isOutput)
    return success();
  return emitOpErrorWithNote(op, values.getLoc(), "defined here")
         << "takes rows to " << (isOutput ? "receive" : "send")
         << " that have not been read as such (C7)";
}

static LogicalResult verifySplitValues(StartOp op) {
  if (!op.hasSplitValues())
    return success();
  if (op.getKind() != CollectiveKind::AllToAll)
    return op.emitOpError("has splits that are values, but is of kind '")
           << stringifyCollectiveKind(op.getKind()) << "' (C6)";
  size_t tensors = op.getSent().size();
  std::optional<ArrayRef<int64_t>> row = op.getRow();
  if (!row || row->size() != tensors || isAnyNegative(*row))
    return op.emitOpError("needs the elements of a row of each of its ")
           << tensors << " tensors, not negative (C6)";
  return failure(
      failed(verifySplitValues(op, op.getInputValues(),
                               /*isOutput=*/false, op.getInputSplits())) ||
      failed(verifySplitValues(op, op.getOutputValues(),
                               /*isOutput=*/true, op.getOutputSplits())));
}

/// `value` has one use, by a `UserT` in the block of `op`.
template <typename... UserT>
static LogicalResult verifyOneUse(Operation *op, Value value, StringRef what,
                                  const Twine &problem) {
  auto isExpected = [&](Operation *user) {
    return isa<UserT...>(user) && user->getBlock() == op->getBlock();
  };
  if (value.hasOneUse() && isExpected(*value.user_begin()))
    return success();
  InFlightDiagnostic error = op->emitOpError(problem);
  for (Operation *user : value.getUsers())
    error.attachNote(user->getLoc()) << what << " used here";
  return error;
}

LogicalResult ReadSplitsOp::verify() {
  return verifyOneUse<StartOp>(
      *this, getSplits(), "the splits are",
      "needs one start in its block that uses its splits (C1)");
}

LogicalResult
ImplementationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                           StringRef name, StringRef method, int64_t channels,
                           StringAttr stream) {
  if (name.empty())
    return emitError() << "an implementation needs a name";
  if (method != "nccl" && method != "copy-engine" && method != "symmetric")
    return emitError() << "implementation '" << name << "' has the method '"
                       << method
                       << "', not 'nccl', 'copy-engine' or 'symmetric'";
  if (channels < 0 || channels > std::numeric_limits<int32_t>::max())
    return emitError() << "implementation '" << name << "' has " << channels
                       << " channels";
  if (channels > 0 && method != "nccl")
    return emitError() << "implementation '" << name << "' has channels, but '"
                       << method << "' has none";
  if (stream && stream.empty())
    return emitError() << "implementation '" << name
                       << "' has a stream without a name";
  return success();
}

LogicalResult StartOp::verify() {
  if (getKind() == CollectiveKind::Barrier)
    return emitOpError("has no collective 'barrier' to start (C1)");
  StringRef kind = stringifyCollectiveKind(getKind());
  if (isHostTransfer(getKind()) && getGroupAttr())
    return emitOpError("has group ")
           << getGroupAttr() << ", but '" << kind << "' has none (C8)";
  if (isHostTransfer(getKind()) && getImplementationAttr())
    return emitOpError("has an implementation, but '")
           << kind << "' has none (C8)";
  if (!isHostTransfer(getKind()) && !getGroupAttr())
    return emitOpError("has no group, but '") << kind << "' needs one (C8)";
  size_t tensors = getSent().size();
  if (getReceived().size() != tensors)
    return emitOpError("sends ") << tensors << " tensors, but receives "
                                 << getReceived().size() << " (C2)";
  if (isAnyNegative(getSent()) || isAnyNegative(getReceived()))
    return emitOpError("has a negative number of elements (C2)");
  auto isAllOrNone = [&](OperandRange buffers) {
    return buffers.empty() || buffers.size() == tensors;
  };
  if (!isAllOrNone(getInputs()) || !isAllOrNone(getOutputs()))
    return emitOpError("has ")
           << getInputs().size() << " ins and " << getOutputs().size()
           << " outs for " << tensors << " tensors (C3)";
  if (getInPlace() && (!getInputs().empty() || getOutputs().size() != tensors))
    return emitOpError("is in place, but has ")
           << getInputs().size() << " ins and " << getOutputs().size()
           << " outs (C3)";
  TypeRange outputs = getOutputs().getTypes();
  if (llvm::any_of(outputs, llvm::IsaPred<TensorType>) &&
      !llvm::all_of(outputs, llvm::IsaPred<TensorType>))
    return emitOpError("fills tensors and memrefs (C4)");
  if (failed(verifyResults(*this, getInFlight().getTypes(), outputs, "(C4)")))
    return failure();
  if (failed(verifySplitValues(*this)))
    return failure();
  return verifyOneUse<WaitOp, HoldOp>(*this, getRequest(), "the request is",
                                      "needs one wait in its block (C5)");
}

LogicalResult WaitOp::verify() {
  auto start = getRequest().getDefiningOp<StartOp>();
  if (!start)
    return emitOpErrorWithNote(*this, getRequest().getLoc(),
                               "the request is defined here")
           << "waits for something that is not a start (C1)";
  if (failed(verifyResults(*this, getValues().getTypes(),
                           getOutputs().getTypes(), "(C2)")))
    return failure();
  bool isOnTensors = !start.getInFlight().empty();
  bool sameOutputs = isOnTensors
                         ? llvm::equal(getOutputs(), start.getInFlight())
                         : llvm::equal(getOutputs(), start.getOutputs());
  if (sameOutputs && llvm::equal(getInputs(), start.getInputs()))
    return success();
  return emitOpErrorWithNote(*this, start.getLoc(), "started here")
         << "has other ins or outs than its start (C3)";
}

LogicalResult HoldOp::verify() {
  auto start = getRequest().getDefiningOp<StartOp>();
  if (!start)
    return emitOpErrorWithNote(*this, getRequest().getLoc(),
                               "the request is defined here")
           << "holds something that is not a start (C1)";
  bool isOnTensors =
      !start.getInFlight().empty() ||
      llvm::any_of(getInputs().getTypes(), llvm::IsaPred<TensorType>);
  if (!isOnTensors || (llvm::equal(getOutputs(), start.getInFlight()) &&
                       llvm::equal(getInputs(), start.getInputs())))
    return success();
  return emitOpErrorWithNote(*this, start.getLoc(), "started here")
         << "has other ins or outs than its start (C2)";
}

LogicalResult CopyOp::verify() {
  for (ArrayRef<int64_t> layout : {getSource(), getTarget()})
    if (layout.size() != 3 || isAnyNegative(layout))
      return emitOpError(
          "needs offset, row stride and repeat stride, not negative (C1)");
  if (isAnyNegative({int64_t(getRepeat()), int64_t(getRows()),
                     int64_t(getRowElements())}))
    return emitOpError("has a negative number of rows or elements (C2)");
  if (getSourceType().has_value() != getTargetType().has_value())
    return emitOpError("has one of two element types (C3)");
  return success();
}
