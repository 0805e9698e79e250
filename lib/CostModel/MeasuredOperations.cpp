//===- MeasuredOperations.cpp - Measured times of operations --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/MeasuredOperations.h"

#include "CommSched/CostModel/Implementations.h"
#include "TableRow.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace mlir::commsched::cost;
using namespace mlir::commsched;

namespace {
struct MeasuredOperation {
  std::string operatorName, function, name, types;
  std::string implementation = std::string(Implementations::defaultName);
  int64_t timeNs = 0;
};
} // namespace

static llvm::Expected<MeasuredOperation> readOperation(const TableRow &row) {
  MeasuredOperation operation;
  if (llvm::Error error = row.readString("operator", operation.operatorName))
    return error;
  if (row.has("name") == row.has("types"))
    return row.fail("must have either the column 'name' or the column 'types'");
  if (row.has("function") && !row.has("name"))
    return row.fail("has the column 'function', but no 'name'");
  const std::pair<llvm::StringLiteral, std::string *> columns[] = {
      {"name", &operation.name},
      {"function", &operation.function},
      {"implementation", &operation.implementation},
      {"types", &operation.types}};
  for (const auto &[column, text] : columns)
    if (row.has(column)) {
      if (llvm::Error error = row.readString(column, *text))
        return error;
      if (text->empty())
        return row.fail("column '" + column + "' must not be empty");
    }
  // A view takes no time.
  if (llvm::Error error = row.readTime(operation.timeNs))
    return error;
  return operation;
}

llvm::Expected<MeasuredOperations>
MeasuredOperations::parse(const llvm::json::Value &value) {
  const llvm::json::Array *list = value.getAsArray();
  if (!list)
    return llvm::createStringError("cost table: 'operations' must be a list");
  MeasuredOperations result;
  for (size_t i = 0; i < list->size(); ++i) {
    const llvm::json::Object *object = (*list)[i].getAsObject();
    if (!object)
      return llvm::createStringError("operation " + llvm::Twine(i) +
                                     ": must be an object");
    TableRow row(*object, "operation", i);
    llvm::Expected<MeasuredOperation> read = readOperation(row);
    if (!read)
      return read.takeError();
    Times &times =
        read->types.empty()
            ? result.byName[{read->function, read->name, read->operatorName}]
            : result.byTypes[{read->operatorName, read->types}];
    int64_t knownNs =
        times.try_emplace(read->implementation, read->timeNs).first->second;
    if (knownNs != read->timeNs)
      return row.fail("contradicts an earlier operation: '" +
                      read->operatorName + "' " +
                      (read->types.empty() ? "with the name '" + read->name
                                           : "of the types '" + read->types) +
                      "' takes " + llvm::Twine(read->timeNs) + " ns here and " +
                      llvm::Twine(knownNs) + " ns there");
  }
  return result;
}

const MeasuredOperations::Times *
MeasuredOperations::findByName(llvm::StringRef graph, llvm::StringRef name,
                               llvm::StringRef operatorName) const {
  auto it = byName.find(NameKey(graph.str(), name.str(), operatorName.str()));
  return it == byName.end() ? nullptr : &it->second;
}

const MeasuredOperations::Times *
MeasuredOperations::findByTypes(llvm::StringRef operatorName,
                                llvm::StringRef types) const {
  auto it = byTypes.find(TypeKey(operatorName.str(), types.str()));
  return it == byTypes.end() ? nullptr : &it->second;
}

std::string MeasuredOperations::describeFirstName() const {
  const auto &[graph, name, operatorName] = byName.begin()->first;
  return "'" + operatorName + "' '" + name + "'" +
         (graph.empty() ? "" : " of '" + graph + "'");
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
struct MeasuredProduct {
  ProductShape shape;
  ElementKind kind = ElementKind::F32;
  std::string type;
  int64_t timeNs = 0;
};
} // namespace

static llvm::Error readType(const TableRow &row, MeasuredProduct &product) {
  if (llvm::Error error = row.readString("type", product.type))
    return error;
  const std::pair<llvm::StringLiteral, ElementKind> types[] = {
      {"f64", ElementKind::F64}, {"f32", ElementKind::F32},
      {"f16", ElementKind::F16}, {"bf16", ElementKind::BF16},
      {"f8", ElementKind::F8},   {"i8", ElementKind::I8}};
  for (const auto &[name, kind] : types)
    if (name == product.type) {
      product.kind = kind;
      return llvm::Error::success();
    }
  return row.fail("unknown type '" + product.type +
                  "'; there are f64, f32, f16, bf16, f8, i8");
}

static llvm::Expected<MeasuredProduct> readProduct(const TableRow &row) {
  MeasuredProduct product;
  ProductShape &shape = product.shape;
  const std::pair<llvm::StringLiteral, int64_t *> sizes[] = {
      {"m", &shape.m},
      {"n", &shape.n},
      {"k", &shape.k},
      {"batch", &shape.batch}};
  constexpr int64_t maximum = std::numeric_limits<int64_t>::max();
  for (const auto &[column, size] : sizes) {
    if (column == "batch" && !row.has(column))
      continue;
    if (llvm::Error error = row.readInteger(column, maximum, *size))
      return error;
    if (*size < 1)
      return row.fail("column '" + column + "' must be at least 1, got " +
                      llvm::Twine(*size));
  }
  if (llvm::Error error = readType(row, product))
    return error;
  if (llvm::Error error = row.readTime(product.timeNs))
    return error;
  if (product.timeNs < 1)
    return row.fail("the time must be at least 1 ns, got " +
                    llvm::Twine(product.timeNs) + " ns");
  return product;
}

llvm::Expected<MeasuredProducts>
MeasuredProducts::parse(const llvm::json::Value &value) {
  const llvm::json::Array *list = value.getAsArray();
  if (!list)
    return llvm::createStringError("cost table: 'products' must be a list");
  MeasuredProducts result;
  for (size_t i = 0; i < list->size(); ++i) {
    const llvm::json::Object *object = (*list)[i].getAsObject();
    if (!object)
      return llvm::createStringError("product " + llvm::Twine(i) +
                                     ": must be an object");
    TableRow row(*object, "product", i);
    llvm::Expected<MeasuredProduct> product = readProduct(row);
    if (!product)
      return product.takeError();
    const ProductShape &shape = product->shape;
    Key key(product->kind, shape.n, shape.k, shape.batch);
    auto [it, isNew] = result.times[key].try_emplace(shape.m, product->timeNs);
    if (!isNew && it->second != product->timeNs)
      return row.fail("contradicts an earlier product: " + product->type +
                      " of m " + llvm::Twine(shape.m) + ", n " +
                      llvm::Twine(shape.n) + ", k " + llvm::Twine(shape.k) +
                      ", batch " + llvm::Twine(shape.batch) + " takes " +
                      llvm::Twine(product->timeNs) + " ns here and " +
                      llvm::Twine(it->second) + " ns there");
  }
  return result;
}

std::optional<int64_t> MeasuredProducts::findNs(const ProductShape &shape,
                                                ElementKind kind) const {
  auto it = times.find(Key(kind, shape.n, shape.k, shape.batch));
  if (it == times.end())
    return std::nullopt;
  auto above = it->second.lower_bound(shape.m);
  if (above == it->second.end())
    return std::nullopt;
  if (above->first == shape.m)
    return above->second;
  if (above == it->second.begin())
    return std::nullopt;
  auto below = std::prev(above);
  double fraction = static_cast<double>(shape.m - below->first) /
                    static_cast<double>(above->first - below->first);
  double low = static_cast<double>(below->second);
  double high = static_cast<double>(above->second);
  return roundToNs(low + fraction * (high - low));
}
