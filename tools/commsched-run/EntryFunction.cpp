//===- EntryFunction.cpp - Entry functions and their collectives ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryFunction.h"

#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/CostModel/Implementations.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/SteadyState.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Support/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <deque>
#include <map>
#include <tuple>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// The entry function
//===----------------------------------------------------------------------===//

static bool hasCollectives(func::FuncOp function) {
  return function
      .walk([](CollectiveOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Names for people: "@a, @b".
static std::string list(ArrayRef<func::FuncOp> functions) {
  return llvm::join(llvm::map_range(functions,
                                    [](func::FuncOp function) {
                                      return "@" + function.getName().str();
                                    }),
                    ", ");
}

llvm::Expected<func::FuncOp> mlir::commsched::run::findEntry(ModuleOp module,
                                                             StringRef name) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal() &&
        !(name.empty() && getSteadyState(function)))
      entries.push_back(function);
  if (entries.empty())
    return llvm::createStringError("has no public function with a body");
  if (!name.empty()) {
    for (func::FuncOp entry : entries)
      if (entry.getName() == name)
        return entry;
    return llvm::createStringError("has no public function @" + name +
                                   " with a body; there is " + list(entries));
  }
  if (entries.size() == 1)
    return entries.front();
  SmallVector<func::FuncOp> communicating;
  llvm::copy_if(entries, std::back_inserter(communicating), hasCollectives);
  if (communicating.size() == 1)
    return communicating.front();
  return llvm::createStringError(
      "has several functions that could be run: " +
      list(communicating.empty() ? entries : communicating) +
      "; choose one with --entry");
}

llvm::Expected<Signature>
mlir::commsched::run::getSignature(func::FuncOp function, bool allowFutures) {
  Signature signature;
  signature.name = function.getName().str();
  auto add = [&](Type type, const char *what, unsigned index,
                 auto append) -> llvm::Error {
    bool isNumber = allowFutures && isa<FutureType>(type);
    llvm::Expected<ValueType> value =
        getValueType(isNumber ? IntegerType::get(type.getContext(), 64) : type);
    if (!value)
      return llvm::createStringError(Twine(what) + " " + Twine(index) +
                                     " of @" + signature.name + " " +
                                     llvm::toString(value.takeError()));
    append(std::move(*value));
    return llvm::Error::success();
  };
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    unsigned index = static_cast<unsigned>(number);
    auto role = function.getArgAttrOfType<StringAttr>(index, roleAttrName);
    bool scratch = role && role.getValue() == unshardedParamRole;
    auto append = [&](ValueType value) {
      signature.arguments.push_back(
          {std::move(value), scratch, isFreeable(function, index)});
    };
    if (llvm::Error error = add(type, "argument", index, append))
      return error;
  }
  for (auto [number, type] : llvm::enumerate(function.getResultTypes())) {
    auto append = [&](ValueType value) {
      signature.results.push_back(std::move(value));
    };
    if (llvm::Error error =
            add(type, "result", static_cast<unsigned>(number), append))
      return error;
  }
  return signature;
}

//===----------------------------------------------------------------------===//
// The description
//===----------------------------------------------------------------------===//

static std::string getText(const json::Object &object, StringRef key) {
  return object.getString(key).value_or("").str();
}

/// Calls `add` for each object of the list `key`.
static void forEach(const json::Object &program, StringRef key,
                    function_ref<void(const json::Object &)> add) {
  if (const json::Array *list = program.getArray(key))
    for (const json::Value &value : *list)
      if (const json::Object *object = value.getAsObject())
        add(*object);
}

llvm::Expected<ProgramSites> ProgramSites::parse(StringRef description) {
  llvm::Expected<json::Value> value = parseJson(description);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError("is no JSON object");
  ProgramSites program;
  // Names, and implementations.
  std::vector<std::pair<std::string, std::string>> groups;
  forEach(*object, "groups", [&](const json::Object &group) {
    std::string implementation;
    if (const json::Object *named = group.getObject("implementation"))
      implementation = getText(*named, "name");
    if (implementation == cost::Implementations::defaultName)
      implementation.clear();
    groups.emplace_back(getText(group, "name"), std::move(implementation));
  });
  forEach(*object, "sites", [&](const json::Object &site) {
    size_t group = static_cast<size_t>(site.getInteger("group").value_or(-1));
    std::string kind = getText(site, "kind");
    std::pair<std::string, std::string> stream(
        kind == "offload" ? "d2h" : "h2d", "");
    if (group < groups.size())
      stream = groups[group];
    program.sites.push_back({getText(site, "name"), getText(site, "location"),
                             kind, stream.first, stream.second});
  });
  forEach(*object, "operators", [&](const json::Object &op) {
    program.operators.push_back({getText(op, "name"), getText(op, "location")});
  });
  return program;
}

//===----------------------------------------------------------------------===//
// Finding operations
//===----------------------------------------------------------------------===//

static std::string toUtf8(std::string text) {
  return json::isUTF8(text) ? text : json::fixUTF8(text);
}

SiteMap::SiteMap(ModuleOp module, const ProgramSites &program) {
  // Indices by the texts that identify operations; equal ones in program order.
  // Operators have no kind.
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::deque<int32_t>> queues;
  for (auto [index, site] : llvm::enumerate(program.sites))
    queues[{site.kind, site.name, site.location}].push_back(index);
  for (auto [index, op] : llvm::enumerate(program.operators))
    queues[{"", op.name, op.location}].push_back(index);
  auto take = [&](Key key, Operation &op,
                  llvm::DenseMap<Operation *, int32_t> &indices) {
    std::deque<int32_t> &queue = queues[std::move(key)];
    if (queue.empty())
      return;
    indices[&op] = queue.front();
    queue.pop_front();
  };
  module.walk<WalkOrder::PreOrder>([&](Block *block) {
    unsigned indexInBlock = 0;
    for (Operation &op : *block) {
      std::string location = getLocationText(op.getLoc());
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        take({stringifyCollectiveKind(collective.getCollectiveKind()).str(),
              getCollectiveName(collective, indexInBlock++), location},
             op, sites);
      else if (auto compute = dyn_cast<ComputeOp>(op))
        take({"", toUtf8(compute.getCallee().str()), location}, op, operators);
    }
  });
}
