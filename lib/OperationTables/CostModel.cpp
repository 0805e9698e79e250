//===- CostModel.cpp - Costs and regions of tables ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OperationModel.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

//===----------------------------------------------------------------------===//
// Dimension numbers
//===----------------------------------------------------------------------===//

// StableHLO's dimension numbers are attributes of that dialect. Their text is
// the same whether the dialect is linked or known by name only, so it is read.

/// The text of `attr`, in `buffer` if it has to be printed.
static StringRef getText(Attribute attr, std::string &buffer) {
  if (auto opaque = dyn_cast<OpaqueAttr>(attr))
    return opaque.getAttrData();
  llvm::raw_string_ostream(buffer) << attr;
  return buffer;
}

/// The dimensions of the first operand over which a product sums, from
/// `#stablehlo.dot<..., lhs_contracting_dimensions = [1], ...>`.
static std::optional<SmallVector<int64_t>>
readContractedDimensions(Attribute attr) {
  std::string buffer;
  StringRef text = attr ? getText(attr, buffer) : StringRef();
  if (!text.contains("dot<"))
    return std::nullopt;
  SmallVector<int64_t> dims;
  size_t begin = text.find("lhs_contracting_dimensions");
  // Absent where nothing is summed up: an outer product.
  if (begin == StringRef::npos)
    return dims;
  StringRef list = text.substr(begin).split('[').second.split(']').first;
  for (StringRef part : llvm::split(list, ',')) {
    if (part.trim().empty())
      continue;
    if (part.trim().getAsInteger(10, dims.emplace_back()))
      return std::nullopt;
  }
  return dims;
}

/// The dimension of the weights that holds the output's channels, from
/// `#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`.
static std::optional<int64_t> readOutputChannel(Attribute attr) {
  std::string buffer;
  StringRef text = attr ? getText(attr, buffer) : StringRef();
  // The second of three lists.
  StringRef weights = text.split("]x[").second.split(']').first;
  int64_t index = 0;
  for (StringRef part : llvm::split(weights, ',')) {
    if (part.trim() == "o")
      return index;
    ++index;
  }
  return std::nullopt;
}

/// Whether the text of `attr` has the word `word`, as in
/// `#stablehlo<comparison_direction LT>`.
static bool hasWord(Attribute attr, StringRef word) {
  if (!attr)
    return false;
  std::string buffer;
  StringRef text = getText(attr, buffer);
  while (!text.empty()) {
    auto isLetter = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    text = text.drop_until(isLetter);
    if (text.take_while(isLetter) == word)
      return true;
    text = text.drop_while(isLetter);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The static shape of operand `index`, or that of its size hints; none if it
/// has no such shape.
static std::optional<ArrayRef<int64_t>> getShape(Operation *op, int64_t index) {
  if (index >= op->getNumOperands())
    return std::nullopt;
  ShapedType shaped = getTensorType(getSizedType(op->getOperand(index)));
  if (!shaped || !shaped.hasStaticShape())
    return std::nullopt;
  return shaped.getShape();
}

static std::optional<double> multiply(std::optional<double> lhs,
                                      std::optional<double> rhs) {
  return lhs && rhs ? std::optional(*lhs * *rhs) : std::nullopt;
}

/// The product of the integers in `attr`, 1 if there is no such attribute.
static double multiplyElements(Attribute attr) {
  double product = 1;
  if (auto array = dyn_cast_if_present<DenseI64ArrayAttr>(attr))
    for (int64_t element : array.asArrayRef())
      product *= static_cast<double>(element);
  else if (auto elements = dyn_cast_if_present<DenseIntElementsAttr>(attr))
    for (const APInt &element : elements.getValues<APInt>())
      product *= element.signedRoundToDouble();
  return product;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The arithmetic operations in the regions of `op`.
static double countBodyArithmetic(Operation *op) {
  double count = 0;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *nested) {
      if (nested->hasTrait<OpTrait::Elementwise>())
        ++count;
    });
  return count;
}

/// Elements of the result times twice the size that is summed over.
static std::optional<double> countContraction(Operation *op,
                                              const CostEntry &cost) {
  std::optional<SmallVector<int64_t>> dims =
      readContractedDimensions(op->getAttr(cost.attribute));
  std::optional<ArrayRef<int64_t>> shape = getShape(op, 0);
  if (!dims || !shape || op->getNumResults() == 0)
    return std::nullopt;
  double summed = 2;
  for (int64_t dim : *dims) {
    if (dim < 0 || dim >= static_cast<int64_t>(shape->size()))
      return std::nullopt;
    summed *= static_cast<double>((*shape)[dim]);
  }
  return multiply(summed, getElementCount(op->getResult(0)));
}

static std::optional<double> countMatrixProduct(Operation *op,
                                                const CostEntry &cost) {
  // The bias of an `addmm` comes first.
  std::optional<ArrayRef<int64_t>> shape = getShape(op, cost.operand);
  if (!shape || shape->empty() || op->getNumResults() == 0)
    return std::nullopt;
  return multiply(2 * static_cast<double>(shape->back()),
                  getElementCount(op->getResult(0)));
}

/// For each element of the result, a multiplication and an addition for each
/// weight that leads to its channel. Holes in a dilated input are not computed
/// with.
static std::optional<double> countConvolution(Operation *op,
                                              const CostEntry &cost) {
  std::optional<int64_t> channel =
      cost.attribute.empty() ? 0
                             : readOutputChannel(op->getAttr(cost.attribute));
  std::optional<ArrayRef<int64_t>> weights = getShape(op, 1);
  if (!channel || !weights || op->getNumResults() == 0 ||
      *channel >= static_cast<int64_t>(weights->size()))
    return std::nullopt;
  double perElement = 2;
  for (auto [index, size] : llvm::enumerate(*weights))
    if (static_cast<int64_t>(index) != *channel)
      perElement *= static_cast<double>(size);
  double holes = std::max(1.0, multiplyElements(op->getAttr("lhs_dilation")));
  return multiply(perElement / holes, getElementCount(op->getResult(0)));
}

/// The products of queries and keys and those with the values.
static std::optional<double> countAttention(Operation *op) {
  std::optional<ArrayRef<int64_t>> keys = getShape(op, 1);
  if (!keys || keys->size() < 2 || op->getNumResults() == 0)
    return std::nullopt;
  return multiply(4 * static_cast<double>((*keys)[keys->size() - 2]),
                  getElementCount(op->getResult(0)));
}

/// A comparison for each element and each level of a merge sort.
static std::optional<double> countSort(Operation *op) {
  std::optional<ArrayRef<int64_t>> shape = getShape(op, 0);
  if (!shape || shape->empty())
    return std::nullopt;
  auto dimension = op->getAttrOfType<IntegerAttr>("dimension");
  int64_t rank = static_cast<int64_t>(shape->size());
  int64_t dim = dimension ? dimension.getInt() : rank - 1;
  dim = dim < 0 ? dim + rank : dim;
  if (dim < 0 || dim >= rank)
    return std::nullopt;
  double levels = std::log2(std::max<double>(2, (*shape)[dim]));
  return multiply(std::ceil(levels), getElementCount(op->getOperand(0)));
}

/// 5 n log2(n) for each transform, the usual count.
static std::optional<double> countFft(Operation *op, const CostEntry &cost) {
  double size = multiplyElements(op->getAttr(cost.attribute));
  if (op->getNumOperands() == 0 || size < 1)
    return std::nullopt;
  return multiply(5 * std::log2(std::max(2.0, size)),
                  getElementCount(op->getOperand(0)));
}

/// A third of n^3 for each factorization of a matrix with n rows; n^2 for each
/// column of the right-hand side of a triangular system.
static std::optional<double> countFactorization(Operation *op, bool isSolve) {
  std::optional<ArrayRef<int64_t>> shape = getShape(op, 0);
  if (!shape || shape->empty() || (isSolve && op->getNumOperands() < 2))
    return std::nullopt;
  auto rows = static_cast<double>(shape->back());
  return multiply(isSolve ? rows : rows / 3,
                  getElementCount(op->getOperand(isSolve ? 1 : 0)));
}

static std::optional<double>
countElementwise(Operation *op, const CostEntry &cost, TypeRange types) {
  if (types.empty())
    return std::nullopt;
  double flops = cost.flops < 0 ? countBodyArithmetic(op) : cost.flops;
  return multiply(flops, getElementCount(types.front()));
}

static std::optional<double> countFlops(Operation *op, const CostEntry &cost) {
  switch (cost.rule) {
  case CostRule::Free:
  case CostRule::Bytes:
  case CostRule::Results:
  case CostRule::Selection:
  case CostRule::Update:
    return 0;
  case CostRule::Elementwise:
    return countElementwise(op, cost, getSizedTypes(op->getResults()));
  case CostRule::Reduction:
    return countElementwise(op, cost, getSizedTypes(op->getOperands()));
  case CostRule::Window:
    return multiply(countElementwise(op, cost, getSizedTypes(op->getResults())),
                    multiplyElements(op->getAttr(cost.attribute)));
  case CostRule::Contraction:
    return countContraction(op, cost);
  case CostRule::MatrixProduct:
    return countMatrixProduct(op, cost);
  case CostRule::Convolution:
    return countConvolution(op, cost);
  case CostRule::Attention:
    return countAttention(op);
  case CostRule::Sort:
    return countSort(op);
  case CostRule::Fft:
    return countFft(op, cost);
  case CostRule::Cholesky:
    return countFactorization(op, /*isSolve=*/false);
  case CostRule::TriangularSolve:
    return countFactorization(op, /*isSolve=*/true);
  }
  llvm_unreachable("unknown rule");
}

static std::optional<int64_t> countBytes(Operation *op, const CostEntry &cost) {
  switch (cost.rule) {
  case CostRule::Free:
    return 0;
  case CostRule::Results:
    return getMultipleOfBytes(op->getResults(), /*times=*/1);
  case CostRule::Selection:
    if (op->getNumOperands() == 0)
      return std::nullopt;
    return getSelectionBytes(op);
  case CostRule::Update:
    if (cost.operand >= op->getNumOperands())
      return std::nullopt;
    return getMultipleOfBytes(op->getOperand(cost.operand), /*times=*/2);
  default:
    return getOperandAndResultBytes(op);
  }
}

namespace {
struct CostModel : CostOpInterface::ExternalModel<CostModel, Operation *>,
                   ModelBase {
  const CostEntry &get(Operation *op) const { return *find(op)->cost; }

  bool hasCost(Operation *op) const {
    const OperationEntry *entry = find(op);
    return entry && entry->cost;
  }
  std::optional<int64_t> getKnownRuntimeNs(Operation *op) const {
    return get(op).rule == CostRule::Free ? std::optional<int64_t>(0)
                                          : std::nullopt;
  }
  std::optional<double> getFlopCount(Operation *op) const {
    return countFlops(op, get(op));
  }
  std::optional<int64_t> getMovedBytes(Operation *op) const {
    return countBytes(op, get(op));
  }
  Type getComputeType(Operation *op) const { return getDefaultComputeType(op); }
  bool isExpensive(Operation *op) const { return isExpensiveByDefault(op); }
};
} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The whole number that `value` holds, a scalar or a tensor of equal elements.
static std::optional<int64_t> getConstant(Value value) {
  Attribute attr;
  matchPattern(value, m_Constant(&attr));
  return getWholeNumber(attr);
}

/// The constant that the region of `body` adds to its argument `index` from
/// one iteration to the next.
static std::optional<int64_t> getStep(Block &body, unsigned index,
                                      const RegionEntry &entry) {
  Operation *terminator = body.getTerminator();
  if (index >= terminator->getNumOperands())
    return std::nullopt;
  Operation *sum = terminator->getOperand(index).getDefiningOp();
  if (!sum || sum->getName().getStringRef() != entry.add ||
      sum->getNumOperands() != 2)
    return std::nullopt;
  Value counter = body.getArgument(index);
  if (sum->getOperand(0) == counter)
    return getConstant(sum->getOperand(1));
  if (sum->getOperand(1) == counter)
    return getConstant(sum->getOperand(0));
  return std::nullopt;
}

/// The iterations of a loop that counts an operand up to a constant.
static std::optional<int64_t> countIterations(Operation *op,
                                              const RegionEntry &entry) {
  if (entry.compare.empty() || op->getNumRegions() < 2 ||
      !llvm::hasSingleElement(op->getRegion(0)) ||
      !llvm::hasSingleElement(op->getRegion(1)))
    return std::nullopt;
  Block &condition = op->getRegion(0).front();
  Block &body = op->getRegion(1).front();
  if (condition.empty() || body.empty() ||
      condition.back().getNumOperands() != 1)
    return std::nullopt;
  Operation *compare = condition.back().getOperand(0).getDefiningOp();
  if (!compare || compare->getName().getStringRef() != entry.compare ||
      compare->getNumOperands() != 2)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(compare->getOperand(0));
  if (!counter || counter.getOwner() != &condition ||
      counter.getArgNumber() >= op->getNumOperands() ||
      counter.getArgNumber() >= body.getNumArguments())
    return std::nullopt;
  unsigned index = counter.getArgNumber();
  std::optional<int64_t> first = getConstant(op->getOperand(index));
  std::optional<int64_t> end = getConstant(compare->getOperand(1));
  std::optional<int64_t> step = getStep(body, index, entry);
  int64_t distance;
  if (!first || !end || !step || *step <= 0 ||
      llvm::SubOverflow(*end, *first, distance))
    return std::nullopt;
  Attribute direction = compare->getAttr(entry.direction);
  if (hasWord(direction, "LE")) {
    if (llvm::AddOverflow<int64_t>(distance, 1, distance))
      return std::nullopt;
  } else if (!hasWord(direction, "LT")) {
    return std::nullopt;
  }
  return distance <= 0 ? 0
                       : static_cast<int64_t>(
                             llvm::divideCeil(static_cast<uint64_t>(distance),
                                              static_cast<uint64_t>(*step)));
}

namespace {
struct RegionModel
    : RegionUseOpInterface::ExternalModel<RegionModel, Operation *>,
      ModelBase {
  RegionUse getRegionUse(Operation *op) const {
    const OperationEntry *entry = find(op);
    return entry && entry->regions ? entry->regions->use : RegionUse::Unknown;
  }
  std::optional<int64_t> getTripCount(Operation *op) const {
    const OperationEntry *entry = find(op);
    return entry && entry->regions ? countIterations(op, *entry->regions)
                                   : std::nullopt;
  }
};
} // namespace

void mlir::commsched::detail::attachCostModels(RegisteredOperationName name,
                                               const OperationEntry &entry) {
  if (entry.cost && !name.hasInterface<CostOpInterface>())
    name.attachInterface<CostModel>();
  if (entry.regions && !name.hasInterface<RegionUseOpInterface>())
    name.attachInterface<RegionModel>();
}
