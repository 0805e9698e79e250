//===- TensorTypes.cpp - Types that stand for tensors ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OperationModel.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"

#include "llvm/Support/ScopedPrinter.h"
#include <mutex>
#include <shared_mutex>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

std::string mlir::commsched::detail::getTypeText(Type type) {
  if (auto opaque = dyn_cast<OpaqueType>(type))
    return opaque.getTypeData().str();
  // The exclamation mark, the namespace and a dot come first.
  return StringRef(llvm::to_string(type)).split('.').second.str();
}

/// Splits `text` at the commas outside of brackets.
static SmallVector<StringRef> splitAtCommas(StringRef text) {
  SmallVector<StringRef> parts;
  int64_t depth = 0;
  size_t first = 0;
  for (size_t index = 0; index < text.size(); ++index) {
    char c = text[index];
    if (StringRef("<[({").contains(c))
      ++depth;
    // The arrow of a function type closes nothing.
    else if (StringRef("])}").contains(c) ||
             (c == '>' && !(index > 0 && text[index - 1] == '-')))
      --depth;
    else if (c == ',' && depth == 0) {
      parts.push_back(text.slice(first, index).trim());
      first = index + 1;
    }
  }
  parts.push_back(text.substr(first).trim());
  return parts;
}

/// Parses the types that commas separate in `text`, or fails.
static std::optional<SmallVector<Type>> parseTypes(StringRef text,
                                                   MLIRContext *context) {
  SmallVector<Type> types;
  if (text.trim().empty())
    return types;
  for (StringRef part : splitAtCommas(text)) {
    types.push_back(parseType(part, context));
    if (!types.back())
      return std::nullopt;
  }
  return types;
}

std::optional<SmallVector<Type>>
mlir::commsched::detail::parseDelivered(Type type, StringRef futureType) {
  std::string text = llvm::to_string(type);
  auto [prefix, suffix] = futureType.split("$results");
  StringRef rest = text;
  if (!rest.consume_front(prefix) || !rest.consume_back(suffix))
    return std::nullopt;
  return parseTypes(rest, type.getContext());
}

/// The dimensions of a text such as "[2,?]".
static std::optional<SmallVector<int64_t>> parseDimensions(StringRef text) {
  SmallVector<int64_t> shape;
  if (!text.consume_front("[") || !text.consume_back("]"))
    return std::nullopt;
  for (StringRef part : splitAtCommas(text)) {
    int64_t size = ShapedType::kDynamic;
    if (part.empty() && shape.empty())
      break;
    if (part != "?" && (part.getAsInteger(10, size) || size < 0))
      return std::nullopt;
    shape.push_back(size);
  }
  return shape;
}

void TensorTypes::add(ArrayRef<TensorTypeEntry> added) {
  entries.insert(entries.begin(), added.begin(), added.end());
}

ShapedType TensorTypes::parse(Type type) const {
  std::string text = getTypeText(type);
  auto [name, rest] = StringRef(text).split('<');
  const auto *entry = llvm::find_if(
      entries, [name = name](const auto &it) { return it.name == name; });
  if (entry == entries.end())
    return {};
  MLIRContext *context = type.getContext();
  // A tensor of which nothing is known has no known size either.
  ShapedType unknown = UnrankedTensorType::get(IntegerType::get(context, 8));
  if (!rest.consume_back(">"))
    return unknown;
  if (!entry->isList) {
    auto parsed = dyn_cast_if_present<ShapedType>(
        parseType(("tensor<" + rest + ">").str(), context));
    return parsed ? parsed : unknown;
  }
  SmallVector<StringRef> parts = splitAtCommas(rest);
  std::optional<SmallVector<int64_t>> shape = parseDimensions(parts[0]);
  if (parts.size() < 2 || !shape)
    return unknown;
  Type element = parseType(parts[1], context);
  if (!element || !RankedTensorType::isValidElementType(element))
    return unknown;
  return RankedTensorType::get(*shape, element);
}

ShapedType TensorTypes::getTensorType(Type type) const {
  {
    std::shared_lock lock(mutex);
    if (auto it = known.find(type); it != known.end())
      return it->second;
  }
  ShapedType parsed = parse(type);
  std::unique_lock lock(mutex);
  return known.try_emplace(type, parsed).first->second;
}
