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

using namespace mlir::commsched::cost;

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
