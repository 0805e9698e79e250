//===- EntryFunction.cpp - Which function runs ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryFunction.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

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
    if (function.isPublic() && !function.isExternal())
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
mlir::commsched::run::getSignature(func::FuncOp function) {
  Signature signature;
  signature.name = function.getName().str();
  auto add = [&](Type type, const char *what, unsigned index,
                 auto append) -> llvm::Error {
    llvm::Expected<ValueType> value = getValueType(type);
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
      signature.arguments.push_back({std::move(value), scratch});
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
