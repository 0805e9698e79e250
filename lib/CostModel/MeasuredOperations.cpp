//===- MeasuredOperations.cpp - Measured times of operations --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/MeasuredTable.h"

#include "CommSched/CostModel/Implementations.h"
#include "TableRow.h"

#include <algorithm>
#include <string>
#include <utility>

using namespace mlir::commsched::cost;
using namespace mlir::commsched;

namespace {
struct MeasuredOperation {
  std::string operatorName, function, name, types;
  std::string implementation = std::string(Implementations::defaultName);
  int64_t timeNs = 0;
};
} // namespace

static bool readOperation(JsonFields &row, MeasuredOperation &operation) {
  if (!row.readString("operator", operation.operatorName))
    return false;
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
      if (!row.readString(column, *text))
        return false;
      if (text->empty())
        return row.fail("column '" + column + "' must not be empty");
    }
  // A view takes no time.
  return row.readTime(operation.timeNs);
}

llvm::Expected<MeasuredOperations>
MeasuredOperations::parse(const llvm::json::Value &value) {
  MeasuredOperations result;
  auto read = [&](JsonFields &row) {
    MeasuredOperation read;
    if (!readOperation(row, read))
      return false;
    Times &times =
        read.types.empty()
            ? result.byName[{read.function, read.name, read.operatorName}]
            : result.byTypes[{read.operatorName, read.types}];
    int64_t knownNs =
        times.try_emplace(read.implementation, read.timeNs).first->second;
    return knownNs == read.timeNs ||
           row.fail("contradicts an earlier operation: '" + read.operatorName +
                    "' " +
                    (read.types.empty() ? "with the name '" + read.name
                                        : "of the types '" + read.types) +
                    "' takes " + llvm::Twine(read.timeNs) + " ns here and " +
                    llvm::Twine(knownNs) + " ns there");
  };
  if (llvm::Error error = readRows(value, "operations", "operation", read))
    return error;
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

static bool readType(JsonFields &row, MeasuredProduct &product) {
  if (!row.readString("type", product.type))
    return false;
  const std::pair<llvm::StringLiteral, ElementKind> types[] = {
      {"f64", ElementKind::F64}, {"f32", ElementKind::F32},
      {"f16", ElementKind::F16}, {"bf16", ElementKind::BF16},
      {"f8", ElementKind::F8},   {"i8", ElementKind::I8}};
  for (const auto &[name, kind] : types)
    if (name == product.type) {
      product.kind = kind;
      return true;
    }
  return row.fail("unknown type '" + product.type +
                  "'; there are f64, f32, f16, bf16, f8, i8");
}

static bool readProduct(JsonFields &row, MeasuredProduct &product) {
  ProductShape &shape = product.shape;
  const std::pair<llvm::StringLiteral, int64_t *> sizes[] = {
      {"m", &shape.m},
      {"n", &shape.n},
      {"k", &shape.k},
      {"batch", &shape.batch}};
  for (const auto &[column, size] : sizes) {
    if (column == "batch" && !row.has(column))
      continue;
    if (!row.readInteger(column, *size))
      return false;
    if (*size < 1)
      return row.fail("column '" + column + "' must be at least 1, got " +
                      llvm::Twine(*size));
  }
  if (!readType(row, product) || !row.readTime(product.timeNs))
    return false;
  return product.timeNs >= 1 ||
         row.fail("the time must be at least 1 ns, got " +
                  llvm::Twine(product.timeNs) + " ns");
}

llvm::Expected<MeasuredProducts>
MeasuredProducts::parse(const llvm::json::Value &value) {
  MeasuredProducts result;
  auto read = [&](JsonFields &row) {
    MeasuredProduct product;
    if (!readProduct(row, product))
      return false;
    const ProductShape &shape = product.shape;
    Key key(product.kind, shape.n, shape.k, shape.batch);
    double nsPerMultiplication =
        static_cast<double>(product.timeNs) / countMultiplications(shape);
    double &least = result.leastNsPerMultiplication
                        .try_emplace(product.kind, nsPerMultiplication)
                        .first->second;
    least = std::min(least, nsPerMultiplication);
    int64_t knownNs =
        result.times[key].try_emplace(shape.m, product.timeNs).first->second;
    return knownNs == product.timeNs ||
           row.fail("contradicts an earlier product: " + product.type +
                    " of m " + llvm::Twine(shape.m) + ", n " +
                    llvm::Twine(shape.n) + ", k " + llvm::Twine(shape.k) +
                    ", batch " + llvm::Twine(shape.batch) + " takes " +
                    llvm::Twine(product.timeNs) + " ns here and " +
                    llvm::Twine(knownNs) + " ns there");
  };
  if (llvm::Error error = readRows(value, "products", "product", read))
    return error;
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

std::optional<double>
MeasuredProducts::getLeastNsPerMultiplication(ElementKind kind) const {
  // Between two products, the time per row of m is least at one of them.
  auto it = leastNsPerMultiplication.find(kind);
  if (it == leastNsPerMultiplication.end())
    return std::nullopt;
  return it->second;
}
