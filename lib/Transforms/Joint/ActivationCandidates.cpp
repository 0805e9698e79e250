//===- ActivationCandidates.cpp - Activations to quantize -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "Quantization.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Origins of saved values
//===----------------------------------------------------------------------===//

namespace {

class ActivationOrigins {
public:
  struct Origin {
    /// The argument with the same numbers; null if they were computed.
    BlockArgument argument;
    /// Whether the value lives in the storage of the argument.
    bool isView = true;
  };

  /// Linear in what FsdpAnalysis is linear in.
  explicit ActivationOrigins(Block &block) : fsdp(block) {}

  /// Through views, casts, and gathers of a parameter. Linear in all values
  /// together, over all calls.
  Origin getOrigin(Value value);

private:
  Value getSource(Value value, bool &isView) const;

  FsdpAnalysis fsdp;
  DenseMap<Value, Origin> known;
};

} // namespace

/// The value whose numbers `value` has; null if it is computed. Clears `isView`
/// if it has a storage of its own.
Value ActivationOrigins::getSource(Value value, bool &isView) const {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return {};
  Operation *op = result.getOwner();
  if (auto wait = dyn_cast<WaitOpInterface>(op)) {
    isView = false;
    return fsdp.getParameter(wait.getStart());
  }
  if (isCast(op)) {
    isView = false;
    return op->getOperand(0);
  }
  // The result of a destination-style operation is computed.
  if (isa<DestinationStyleOpInterface>(op))
    return {};
  return getAliasedValue(result);
}

ActivationOrigins::Origin ActivationOrigins::getOrigin(Value value) {
  SmallVector<std::pair<Value, bool>> chain;
  Origin origin;
  for (Value current = value; current;) {
    if (auto it = known.find(current); it != known.end()) {
      origin = it->second;
      break;
    }
    if (auto argument = dyn_cast<BlockArgument>(current)) {
      origin.argument = argument;
      break;
    }
    bool isView = true;
    Value source = getSource(current, isView);
    chain.emplace_back(current, isView);
    current = source;
  }
  for (auto [link, isView] : llvm::reverse(chain)) {
    origin.isView &= isView;
    known[link] = origin;
  }
  return origin;
}

//===----------------------------------------------------------------------===//
// Places of the conversions
//===----------------------------------------------------------------------===//

namespace {

/// The last uses of the storages of one block.
class LastUses {
public:
  /// Linear in what StorageAnalysis is linear in.
  explicit LastUses(Block &block);

  /// The operation behind the last one that makes or uses `value` or what
  /// shares its storage; for a collective in flight, behind its wait.
  Operation *getNext(Value value) const;

private:
  Block &block;
  StorageAnalysis storages;
  SmallVector<Operation *> operations;
  DenseMap<Operation *, int32_t> indices;
  SmallVector<int32_t> lastUse;
};

} // namespace

LastUses::LastUses(Block &block) : block(block), storages(block) {
  for (Operation &op : getScheduledOperations(block)) {
    indices[&op] = static_cast<int32_t>(operations.size());
    operations.push_back(&op);
  }
  lastUse.assign(storages.getStorages().size(), -1);
  int32_t numOperations = static_cast<int32_t>(operations.size());
  for (int32_t index = 0; index < numOperations; ++index)
    for (int32_t storage : storages.getUses(index))
      lastUse[storage] = index;
}

Operation *LastUses::getNext(Value value) const {
  int32_t last = -1;
  if (Operation *op = value.getDefiningOp())
    last = indices.lookup(op);
  int32_t storage = storages.getStorage(value);
  if (storage != StorageAnalysis::none)
    last = std::max(last, lastUse[storage]);
  size_t next = static_cast<size_t>(last + 1);
  return next < operations.size() ? operations[next] : block.getTerminator();
}

/// The first operation of the block of `argument` that uses it, be it in a
/// region; null if none does.
static Operation *findFirstUser(BlockArgument argument) {
  Block *block = argument.getOwner();
  Operation *first = nullptr;
  for (Operation *user : argument.getUsers()) {
    Operation *inBlock = block->findAncestorOpInBlock(*user);
    if (!first || inBlock->isBeforeInBlock(first))
      first = inBlock;
  }
  return first;
}

//===----------------------------------------------------------------------===//
// Which values
//===----------------------------------------------------------------------===//

namespace {

class CandidateFilter {
public:
  CandidateFilter(func::FuncOp forward, const QuantizationRules &rules)
      : forward(forward), rules(rules), origins(forward.front()) {}

  /// Why `value` is saved as it is; empty if it is to be quantized.
  std::string explainKept(Value value);

private:
  std::string explainOrigin(Value value);
  std::string explainType(RankedTensorType type) const;
  std::string explainSize(RankedTensorType type) const;

  func::FuncOp forward;
  const QuantizationRules &rules;
  ActivationOrigins origins;
};

} // namespace

std::string CandidateFilter::explainOrigin(Value value) {
  auto [argument, isView] = origins.getOrigin(value);
  if (!argument || argument.getOwner() != &forward.front())
    return {};
  unsigned index = argument.getArgNumber();
  auto role = forward.getArgAttrOfType<StringAttr>(index, roleAttrName);
  std::string text = ("argument " + Twine(index)).str();
  if (value != argument)
    text = (isView ? "a view of " : "a copy of ") + text;
  if (!role)
    return "it is " + text + ", which has no role";
  if (role != inputRole)
    return "it is " + text + ", whose role is \"" + role.str() + "\"";
  if (isView && rules.excludePrimals)
    return "it is " + text + ", and primals are excluded";
  return {};
}

std::string CandidateFilter::explainType(RankedTensorType type) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!llvm::is_contained(rules.allowedTypes, type.getElementType()))
    os << "its element type " << type.getElementType() << " is not allowed";
  else if (type.getEncoding())
    os << "its type has the encoding " << type.getEncoding();
  else if (type.getRank() == 0)
    os << "it is a single number";
  return text;
}

std::string CandidateFilter::explainSize(RankedTensorType type) const {
  if (llvm::is_contained(type.getShape(), 0))
    return "it has no elements";
  // The bytes saved by each row, if rows have a known length.
  if (rules.useScaling && !type.isDynamicDim(type.getRank() - 1)) {
    auto elementType = cast<FloatType>(type.getElementType());
    int64_t length = type.getShape().back();
    int64_t scaleBytes = getScaleType(elementType).getWidth() / 8;
    int64_t elementBytes = elementType.getWidth() / 8;
    if (length + scaleBytes >= elementBytes * length)
      return ("with a scale, a row of " + Twine(length) +
              " elements takes no less memory")
          .str();
  }
  std::optional<int64_t> bytes = getStaticBytes(type);
  if (!bytes)
    return rules.quantizeDynamicShape ? "" : "its size is not known";
  if (static_cast<double>(*bytes) >= rules.smallestSizeMb * (1 << 20))
    return {};
  std::string text;
  llvm::raw_string_ostream(text)
      << "its " << *bytes << " bytes are less than "
      << llvm::format("%g", rules.smallestSizeMb) << " MiB";
  return text;
}

std::string CandidateFilter::explainKept(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::string reason = explainType(type);
  if (reason.empty())
    reason = explainOrigin(value);
  if (reason.empty())
    reason = explainSize(type);
  return reason;
}

static void remarkKept(func::FuncOp forward, unsigned index, Value value,
                       StringRef reason) {
  remark::missed(value.getLoc(),
                 makeRemark("ActivationKept", forward.getSymName()))
      << ("saved value " + Twine(index) + " stays as it is: " + reason).str();
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

QuantizationPlan mlir::commsched::planQuantization(
    PartitionHalves halves, const QuantizationRules &rules, bool emitRemarks) {
  QuantizationPlan plan;
  plan.halves = halves;
  func::FuncOp forward = halves.forward;
  CandidateFilter filter(forward, rules);
  LastUses lastUses(forward.front());
  for (auto [index, value] : llvm::enumerate(
           forward.front().getTerminator()->getOperands().drop_front(
               halves.numForwardOutputs))) {
    if (isa<ShapedType>(value.getType()))
      plan.firstScale = static_cast<unsigned>(index + 1);
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    std::string reason = filter.explainKept(value);
    if (!reason.empty()) {
      if (emitRemarks)
        remarkKept(forward, index, value, reason);
      continue;
    }
    plan.activations.push_back(
        {static_cast<unsigned>(index), value, lastUses.getNext(value),
         findFirstUser(halves.backward.getArgument(index))});
  }
  return plan;
}
