//===- RankTimes.cpp - Runtimes that one rank estimates -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Report/RankTimes.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Support/Json.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

static constexpr StringLiteral operationsKey = "operations";
static constexpr StringLiteral timesKey = "runtime_ns";

std::string mlir::commsched::toFileText(StringRef text) {
  return json::isUTF8(text) ? text.str() : json::fixUTF8(text);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void mlir::commsched::printRankTimes(const RankTimes &times, raw_ostream &os) {
  json::OStream stream(os);
  stream.object([&] {
    for (const auto &[name, function] : times)
      stream.attributeObject(name, [&, &function = function] {
        stream.attribute(operationsKey, json::Array(function.operations));
        stream.attribute(timesKey, json::Array(function.timesNs));
      });
  });
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The members of `object` in the order of their keys, which decides which of
/// several errors is reported.
static std::map<StringRef, const json::Value *>
getSortedMembers(const json::Object &object) {
  std::map<StringRef, const json::Value *> members;
  for (const auto &[key, value] : object)
    members[key] = &value;
  return members;
}

static llvm::Expected<std::optional<int64_t>>
readTime(const json::Value &value) {
  if (value.getAsNull())
    return std::nullopt;
  std::optional<int64_t> time = value.getAsInteger();
  if (!time)
    return llvm::createStringError(
        llvm::formatv("its time must be an integer of 64 bits, not {0}", value)
            .str());
  if (*time < 0)
    return llvm::createStringError("its time must not be negative, but is " +
                                   Twine(*time));
  return time;
}

static llvm::Expected<FunctionTimes> readFunction(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  const json::Array *operations =
      object ? object->getArray(operationsKey) : nullptr;
  const json::Array *times = object ? object->getArray(timesKey) : nullptr;
  if (!operations || !times)
    return llvm::createStringError("must be an object with the lists '" +
                                   operationsKey + "' and '" + timesKey + "'");
  for (const auto &[key, member] : getSortedMembers(*object))
    if (key != operationsKey && key != timesKey)
      return llvm::createStringError("unknown key '" + key + "'");
  if (operations->size() != times->size())
    return llvm::createStringError("has " + Twine(operations->size()) +
                                   " operations, but " + Twine(times->size()) +
                                   " times");

  FunctionTimes function;
  function.operations.reserve(operations->size());
  function.timesNs.reserve(times->size());
  for (auto [index, operation] : llvm::enumerate(*operations)) {
    std::optional<StringRef> text = operation.getAsString();
    if (!text)
      return llvm::createStringError("operation " + Twine(index) +
                                     " must be a string");
    llvm::Expected<std::optional<int64_t>> time = readTime((*times)[index]);
    if (!time)
      return llvm::createStringError("operation " + Twine(index) + ", " +
                                     *text + ": " +
                                     llvm::toString(time.takeError()));
    function.operations.push_back(text->str());
    function.timesNs.push_back(*time);
  }
  return function;
}

static llvm::Expected<RankTimes> parseRankTimes(StringRef text) {
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value)
    return llvm::createStringError("is not JSON: " +
                                   llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError(
        "must be an object with one member for each function");
  RankTimes times;
  for (const auto &[name, member] : getSortedMembers(*object)) {
    llvm::Expected<FunctionTimes> function = readFunction(*member);
    if (!function)
      return llvm::createStringError(
          "function '" + name + "': " + llvm::toString(function.takeError()));
    times.emplace(name.str(), std::move(*function));
  }
  return times;
}

llvm::Expected<RankTimes> mlir::commsched::readRankTimes(StringRef path) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &message);
  if (!buffer)
    return llvm::createStringError(message);
  llvm::Expected<RankTimes> times = parseRankTimes(buffer->getBuffer());
  if (!times)
    return llvm::createStringError("'" + path +
                                   "': " + llvm::toString(times.takeError()));
  return times;
}

//===----------------------------------------------------------------------===//
// Functions of a module
//===----------------------------------------------------------------------===//

TimedFunction::TimedFunction(FunctionOpInterface function)
    : name(function.getName()), loc(function.getLoc()) {
  function.getFunctionBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>())
      operations.push_back(op);
    // The regions of an operation that states its own cost are its definition,
    // not operations that are launched.
    return isa<CostOpInterface>(op) ? WalkResult::skip()
                                    : WalkResult::advance();
  });
}

SmallVector<TimedFunction>
mlir::commsched::getTimedFunctions(Operation *module) {
  SmallVector<TimedFunction> functions;
  for (auto function : module->getRegion(0).getOps<FunctionOpInterface>())
    if (!function.isExternal())
      functions.emplace_back(function);
  return functions;
}

FunctionTimes mlir::commsched::makeFunctionTimes(
    const TimedFunction &timed,
    function_ref<std::optional<int64_t>(Operation *)> getTimeNs) {
  FunctionTimes times;
  times.operations.reserve(timed.operations.size());
  times.timesNs.reserve(timed.operations.size());
  for (Operation *op : timed.operations) {
    times.operations.push_back(toFileText(describe(op)));
    times.timesNs.push_back(getTimeNs(op));
  }
  return times;
}
