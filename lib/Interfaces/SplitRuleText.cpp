//===- SplitRuleText.cpp - The text of rules ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Interfaces/SplitRule.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// An operand or a result, and one of its dimensions.
struct Place {
  bool isResult;
  unsigned value;
  int64_t dim;
};

/// A factor of a dimension. A part without a name cannot be split.
struct Part {
  StringRef name;
  /// Negative while it is not known.
  int64_t size;
  /// The dimensions that it is in, by their index.
  SmallVector<unsigned, 3> dimensions;
};

/// A dimension with its parts, outermost first.
struct Dimension {
  Place place;
  int64_t size;
  SmallVector<unsigned, 2> parts;
};

/// Reads the text of a rule.
class RuleReader {
public:
  RuleReader(TypeRange operands, TypeRange results)
      : operands(operands), results(results) {}

  Result<SplitRule> read(StringRef text);
  Status checkSyntax(StringRef text);

private:
  Status readValues(StringRef text, TypeRange types, bool isResult);
  Status readValue(StringRef text, Type type, bool isResult, unsigned value);
  Status readDimensions(StringRef text, bool isResult, unsigned value,
                        SmallVectorImpl<SmallVector<unsigned, 2>> &dimensions);
  /// Reads the part that `text` starts with and removes it.
  Result<unsigned> readPart(StringRef &text);
  unsigned addPart(StringRef name, int64_t size);

  Status inferSizes();
  /// Sets the size of the one part of `dimension` whose size is not known.
  Result<bool> inferSize(const Dimension &dimension);
  Status checkSize(const Dimension &dimension) const;
  Status checkResults(const Part &part) const;
  void addPlace(SplitAxis &axis, const Dimension &dimension,
                const Part &part) const;

  TypeRange operands, results;
  SmallVector<Part, 6> parts;
  SmallVector<Dimension, 8> dimensions;
};

} // namespace

static std::string describe(bool isResult, unsigned value) {
  return (isResult ? "result " : "operand ") + std::to_string(value);
}

static std::string describe(const Place &place) {
  return "dimension " + std::to_string(place.dim) + " of " +
         describe(place.isResult, place.value);
}

static std::string describe(const Part &part) {
  return part.name.empty() ? "a part '_'" : "axis '" + part.name.str() + "'";
}

static StringRef dropBlanks(StringRef text) { return text.ltrim(" \t\n"); }

static bool isNameStart(char c) { return llvm::isAlpha(c); }
static bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_'; }

unsigned RuleReader::addPart(StringRef name, int64_t size) {
  parts.push_back({name, size, {}});
  return parts.size() - 1;
}

Result<unsigned> RuleReader::readPart(StringRef &text) {
  if (isNameStart(text.front())) {
    StringRef name = text.take_while(isNamePart);
    text = text.drop_front(name.size());
    // There are a handful.
    for (auto [id, part] : llvm::enumerate(parts))
      if (part.name == name)
        return static_cast<unsigned>(id);
    return addPart(name, /*size=*/-1);
  }
  if (llvm::isDigit(text.front())) {
    int64_t size;
    StringRef digits = text.take_while(llvm::isDigit);
    if (digits.getAsInteger(10, size))
      return Error{"has the number " + digits.str() + ", which is too large"};
    text = text.drop_front(digits.size());
    return addPart(/*name=*/"", size);
  }
  if (text.front() == '_') {
    text = text.drop_front();
    return addPart(/*name=*/"", /*size=*/-1);
  }
  return Error{"has '" + text.take_front().str() +
               "', where the name of an axis, a number, '_' or a dimension in "
               "parentheses is expected"};
}

Status RuleReader::readDimensions(
    StringRef text, bool isResult, unsigned value,
    SmallVectorImpl<SmallVector<unsigned, 2>> &dimensions) {
  bool isOpen = false;
  for (text = dropBlanks(text); !text.empty(); text = dropBlanks(text)) {
    char c = text.front();
    if (c == '(' || c == ')') {
      if (isOpen == (c == '('))
        return Error{"has a '" + std::string(1, c) + "' without its " +
                     (isOpen ? "')'" : "'('") + " in " +
                     describe(isResult, value)};
      isOpen = c == '(';
      if (isOpen)
        dimensions.emplace_back();
      text = text.drop_front();
      continue;
    }
    Result<unsigned> part = readPart(text);
    if (!part)
      return Error{part.error()};
    if (!isOpen)
      dimensions.emplace_back();
    dimensions.back().push_back(*part);
  }
  if (isOpen)
    return Error{"has a '(' without its ')' in " + describe(isResult, value)};
  return Status::success();
}

Status RuleReader::readValue(StringRef text, Type type, bool isResult,
                             unsigned value) {
  SmallVector<SmallVector<unsigned, 2>> read;
  if (Status status = readDimensions(text, isResult, value, read); !status)
    return status;
  if (read.empty())
    return Status::success();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != static_cast<int64_t>(read.size()))
    return Error{"has " + std::to_string(read.size()) + " dimension(s) for " +
                 describe(isResult, value) + ", which is a '" +
                 llvm::to_string(type) + "'"};
  unsigned first = dimensions.size();
  for (auto [index, ids] : llvm::enumerate(read)) {
    for (unsigned id : ids) {
      Part &part = parts[id];
      if (!part.dimensions.empty() && part.dimensions.back() >= first)
        return Error{"has " + describe(part) + " twice in " +
                     describe(isResult, value)};
      part.dimensions.push_back(dimensions.size());
    }
    dimensions.push_back({{isResult, value, static_cast<int64_t>(index)},
                          tensor.getDimSize(index),
                          std::move(ids)});
  }
  return Status::success();
}

Status RuleReader::readValues(StringRef text, TypeRange types, bool isResult) {
  SmallVector<StringRef> values;
  text.split(values, ',');
  // No value at all, or one without dimensions.
  if (types.empty() && dropBlanks(text).empty())
    return Status::success();
  if (values.size() != types.size())
    return Error{"has " + std::to_string(values.size()) +
                 (isResult ? " result(s)" : " operand(s)") +
                 ", but the operation has " + std::to_string(types.size())};
  for (auto [index, value] : llvm::enumerate(values))
    if (Status status = readValue(value, types[index], isResult, index);
        !status)
      return status;
  return Status::success();
}

Result<bool> RuleReader::inferSize(const Dimension &dimension) {
  if (ShapedType::isDynamic(dimension.size))
    return false;
  int64_t known = 1;
  Part *unknown = nullptr;
  for (unsigned id : dimension.parts) {
    if (parts[id].size < 0) {
      if (unknown)
        return false;
      unknown = &parts[id];
    } else if (llvm::MulOverflow(known, parts[id].size, known)) {
      return false;
    }
  }
  if (!unknown || known == 0)
    return false;
  if (dimension.size % known != 0)
    return Error{"gives " + describe(dimension.place) + " of size " +
                 std::to_string(dimension.size) + " other parts of size " +
                 std::to_string(known) + " than " + describe(*unknown) +
                 ", which do not divide it"};
  unknown->size = dimension.size / known;
  return true;
}

Status RuleReader::checkSize(const Dimension &dimension) const {
  // A whole dimension that cannot be split has any size.
  if (dimension.parts.size() == 1 && parts[dimension.parts[0]].name.empty() &&
      parts[dimension.parts[0]].size < 0)
    return Status::success();
  int64_t product = 1;
  for (unsigned id : dimension.parts) {
    const Part &part = parts[id];
    if (part.size < 0)
      return Error{"has " + describe(part) + " in " +
                   describe(dimension.place) +
                   ", whose size does not follow from the types"};
    if (llvm::MulOverflow(product, part.size, product))
      return Error{"gives " + describe(dimension.place) +
                   " parts that overflow when multiplied"};
  }
  if (product == dimension.size)
    return Status::success();
  std::string has = ShapedType::isDynamic(dimension.size)
                        ? "a size that is not known"
                        : "size " + std::to_string(dimension.size);
  // The size of an axis comes from the dimension where it is alone.
  if (dimension.parts.size() == 1)
    return Error{"gives " + describe(dimension.place) + ", which has " + has +
                 ", " + describe(parts[dimension.parts[0]]) + " of size " +
                 std::to_string(product)};
  return Error{"gives " + describe(dimension.place) + ", which has " + has +
               ", parts of size " + std::to_string(product)};
}

Status RuleReader::inferSizes() {
  // Each round but the last one finds a size.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Dimension &dimension : dimensions) {
      Result<bool> inferred = inferSize(dimension);
      if (!inferred)
        return Error{inferred.error()};
      changed |= *inferred;
    }
  }
  for (const Dimension &dimension : dimensions)
    if (Status status = checkSize(dimension); !status)
      return status;
  return Status::success();
}

Status RuleReader::checkResults(const Part &part) const {
  SmallVector<bool> has(results.size(), false);
  for (unsigned index : part.dimensions)
    if (const Place &place = dimensions[index].place; place.isResult)
      has[place.value] = true;
  const bool *present = llvm::find(has, true);
  const bool *missing = llvm::find(has, false);
  if (present == has.end() || missing == has.end())
    return Status::success();
  return Error{"has " + describe(part) + " in " +
               describe(true, present - has.begin()) + ", but not in " +
               describe(true, missing - has.begin())};
}

void RuleReader::addPlace(SplitAxis &axis, const Dimension &dimension,
                          const Part &part) const {
  int64_t outer = 1;
  for (unsigned id : dimension.parts) {
    if (&parts[id] == &part)
      break;
    outer *= parts[id].size;
  }
  const Place &place = dimension.place;
  (place.isResult ? axis.results : axis.operands)
      .push_back({place.value, place.dim, outer});
}

Result<SplitRule> RuleReader::read(StringRef text) {
  size_t arrow = text.find("->");
  if (arrow == StringRef::npos)
    return Error{"has no '->' between operands and results"};
  if (Status status =
          readValues(text.take_front(arrow), operands, /*isResult=*/false);
      !status)
    return status;
  if (Status status =
          readValues(text.drop_front(arrow + 2), results, /*isResult=*/true);
      !status)
    return status;
  if (Status status = inferSizes(); !status)
    return status;

  SplitRule rule;
  for (const Part &part : parts) {
    if (part.name.empty())
      continue;
    if (Status status = checkResults(part); !status)
      return status;
    SplitAxis axis{part.size, SplitAxisKind::Sum, {}, {}};
    for (unsigned index : part.dimensions)
      addPlace(axis, dimensions[index], part);
    if (!axis.results.empty())
      axis.kind = SplitAxisKind::Parallel;
    rule.axes.push_back(std::move(axis));
  }
  return rule;
}

Result<SplitRule> mlir::commsched::parseSplitRule(StringRef text,
                                                  TypeRange operands,
                                                  TypeRange results) {
  return RuleReader(operands, results).read(text);
}

Status RuleReader::checkSyntax(StringRef text) {
  auto [left, right] = text.split("->");
  if (left.size() == text.size() || right.contains("->"))
    return Error{"needs one '->' between operands and results"};
  for (auto [side, isResult] : {std::pair(left, false), {right, true}}) {
    SmallVector<StringRef> values;
    side.split(values, ',');
    for (auto [index, value] : llvm::enumerate(values)) {
      SmallVector<SmallVector<unsigned, 2>> read;
      if (Status status = readDimensions(value, isResult, index, read); !status)
        return status;
    }
  }
  return Status::success();
}

Status mlir::commsched::checkSplitRuleSyntax(StringRef text) {
  return RuleReader({}, {}).checkSyntax(text);
}
