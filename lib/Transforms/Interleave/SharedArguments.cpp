//===- SharedArguments.cpp - Arguments that two functions share -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SharedArguments.h"
#include "../Joint/SplitFunction.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::commsched;

std::optional<std::string>
mlir::commsched::parseSharingRule(StringRef text, SharingRule &rule) {
  rule.list.clear();
  if (text == "parameters" || text == "none") {
    rule.kind = text == "none" ? SharingRule::Kind::None
                               : SharingRule::Kind::Parameters;
    return std::nullopt;
  }
  rule.kind = SharingRule::Kind::List;
  SmallVector<StringRef> pairs;
  text.split(pairs, ',');
  for (StringRef pair : pairs) {
    auto [first, second] = pair.split(':');
    SharedArgument shared;
    if (first.getAsInteger(10, shared.first) ||
        second.getAsInteger(10, shared.second))
      return ("must be parameters, none or pairs of arguments such as "
              "0:0,1:2, but is '" +
              text + "'")
          .str();
    rule.list.push_back(shared);
  }
  return std::nullopt;
}

static StringAttr getStringAttr(func::FuncOp function, unsigned argument,
                                StringRef name) {
  return function.getArgAttrOfType<StringAttr>(argument, name);
}

static bool isParameter(func::FuncOp function, unsigned argument) {
  StringAttr role = getStringAttr(function, argument, roleAttrName);
  return role && role.getValue() == parameterRole;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

namespace {

class ParameterFinder {
public:
  ParameterFinder(func::FuncOp first, func::FuncOp second);

  SmallVector<SharedArgument> find();

private:
  std::optional<unsigned> findFirst(unsigned argument) const;
  std::optional<unsigned> getReturned(unsigned result) const;

  func::FuncOp first, second;
  /// The arguments of both functions that have a name of their own.
  llvm::StringMap<unsigned> firstNames, secondNames;
  /// The result of the first that the first argument of the second is, if both
  /// are halves of one partition.
  std::optional<unsigned> numOutputs;
};

} // namespace

/// The parameters of `function` by name, without names that several have.
static llvm::StringMap<unsigned> collectNames(func::FuncOp function) {
  llvm::StringMap<unsigned> names;
  SmallVector<StringRef> repeated;
  for (unsigned index : llvm::seq(function.getNumArguments()))
    if (StringAttr name = getStringAttr(function, index, nameAttrName);
        name && isParameter(function, index) &&
        !names.try_emplace(name, index).second)
      repeated.push_back(name);
  for (StringRef name : repeated)
    names.erase(name);
  return names;
}

ParameterFinder::ParameterFinder(func::FuncOp first, func::FuncOp second)
    : first(first), second(second), firstNames(collectNames(first)),
      secondNames(collectNames(second)) {
  for (const CalledHalves &called :
       findCalledHalves(first->getParentOfType<ModuleOp>()))
    if (called.halves.forward == first && called.halves.backward == second)
      numOutputs = called.halves.numForwardOutputs;
}

/// The argument that the first function returns as this result, if it does.
std::optional<unsigned> ParameterFinder::getReturned(unsigned result) const {
  func::FuncOp function = first;
  Operation *end = function.getBody().front().getTerminator();
  if (result >= end->getNumOperands())
    return std::nullopt;
  auto argument = dyn_cast<BlockArgument>(end->getOperand(result));
  if (!argument || argument.getOwner() != &function.getBody().front())
    return std::nullopt;
  return argument.getArgNumber();
}

/// The argument of the first function that `argument` of the second is.
std::optional<unsigned> ParameterFinder::findFirst(unsigned argument) const {
  if (first == second)
    return argument;
  if (numOutputs)
    if (std::optional<unsigned> index = getReturned(*numOutputs + argument))
      return index;
  StringAttr name = getStringAttr(second, argument, nameAttrName);
  if (!name || !secondNames.contains(name))
    return std::nullopt;
  auto found = firstNames.find(name);
  if (found == firstNames.end())
    return std::nullopt;
  return found->second;
}

SmallVector<SharedArgument> ParameterFinder::find() {
  SmallVector<SharedArgument> shared;
  for (unsigned index : llvm::seq(second.getNumArguments())) {
    if (!isParameter(second, index))
      continue;
    std::optional<unsigned> other = findFirst(index);
    if (other && isParameter(first, *other) &&
        first.getArgument(*other).getType() ==
            second.getArgument(index).getType())
      shared.push_back({*other, index});
  }
  return shared;
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// An error at the second function on the pair of arguments.
static InFlightDiagnostic emitPairError(func::FuncOp first, func::FuncOp second,
                                        SharedArgument shared) {
  return emitOpErrorWithNote(second, first.getLoc(),
                             "the other function is here")
         << "cannot share argument #" << shared.second << " with argument #"
         << shared.first << " of '@" << first.getSymName() << "': ";
}

static LogicalResult checkPair(func::FuncOp first, func::FuncOp second,
                               SharedArgument shared) {
  auto checkRange = [&](func::FuncOp function, unsigned index) {
    if (index < function.getNumArguments())
      return success();
    return LogicalResult(emitPairError(first, second, shared)
                         << "'@" << function.getSymName() << "' has "
                         << function.getNumArguments() << " argument(s)");
  };
  if (failed(checkRange(first, shared.first)) ||
      failed(checkRange(second, shared.second)))
    return failure();
  Type type = first.getArgument(shared.first).getType();
  Type other = second.getArgument(shared.second).getType();
  if (type != other)
    return emitPairError(first, second, shared)
           << "the types are " << other << " and " << type;
  StringAttr role = getStringAttr(first, shared.first, roleAttrName);
  StringAttr otherRole = getStringAttr(second, shared.second, roleAttrName);
  if (role == otherRole)
    return success();
  auto describe = [](StringAttr attr) {
    return attr ? "'" + attr.getValue().str() + "'" : std::string("none");
  };
  return emitPairError(first, second, shared)
         << "the roles are " << describe(otherRole) << " and "
         << describe(role);
}

FailureOr<SmallVector<SharedArgument>>
mlir::commsched::findSharedArguments(func::FuncOp first, func::FuncOp second,
                                     const SharingRule &rule) {
  switch (rule.kind) {
  case SharingRule::Kind::None:
    return SmallVector<SharedArgument>();
  case SharingRule::Kind::Parameters:
    return ParameterFinder(first, second).find();
  case SharingRule::Kind::List:
    break;
  }
  SmallVector<SharedArgument> shared = rule.list;
  for (SharedArgument pair : shared)
    if (failed(checkPair(first, second, pair)))
      return failure();
  llvm::sort(shared, [](SharedArgument a, SharedArgument b) {
    return std::tie(a.second, a.first) < std::tie(b.second, b.first);
  });
  for (size_t i = 1; i < shared.size(); ++i)
    if (shared[i - 1].second == shared[i].second)
      return LogicalResult(emitPairError(first, second, shared[i])
                           << "it is shared with argument #"
                           << shared[i - 1].first << ", too");
  return shared;
}
