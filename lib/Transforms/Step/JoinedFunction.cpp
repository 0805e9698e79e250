//===- JoinedFunction.cpp - Several functions in one ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinedFunction.h"
#include "CommSched/Dialect/ChunkAttribute.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/StepAttributes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::commsched;

bool mlir::commsched::hasLoneBlock(func::FuncOp function) {
  Region &body = function.getBody();
  return body.hasOneBlock() && !body.front().empty() &&
         isa<func::ReturnOp>(body.front().back());
}

LogicalResult
mlir::commsched::checkNewSymbol(ModuleOp module, StringRef name,
                                ArrayRef<func::FuncOp> replaced,
                                function_ref<std::string()> makeError) {
  Operation *found = SymbolTable::lookupSymbolIn(module, name);
  if (!found || llvm::is_contained(replaced, found))
    return success();
  InFlightDiagnostic diag = emitError(module.getLoc(), makeError());
  diag.attachNote(found->getLoc()) << "it is here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {

/// Names of one kind that differ between parts.
class PartNames {
public:
  /// The names that come next are those of another part.
  void beginPart(StringRef partPrefix) {
    prefix = (partPrefix + ".").str();
    for (const auto &renaming : renamings)
      taken.insert(renaming.second);
    renamings.clear();
  }

  /// The name that `name` has in the joined function.
  StringRef get(StringRef name) {
    auto [renaming, isNew] = renamings.try_emplace(name);
    if (isNew)
      renaming->second = choose(name);
    return renaming->second;
  }

private:
  std::string choose(StringRef name) const {
    if (!taken.contains(name))
      return name.str();
    std::string prefixed = prefix + name.str();
    std::string unique = prefixed;
    for (int64_t number = 1; taken.contains(unique); ++number)
      unique = prefixed + "." + std::to_string(number);
    return unique;
  }

  std::string prefix;
  /// Of earlier parts.
  llvm::StringSet<> taken;
  /// Of this part.
  llvm::StringMap<std::string> renamings;
};

} // namespace

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The attributes that all parts have with the same value, but those that link
/// functions or say something of a whole body.
static DictionaryAttr getCommonAttributes(ArrayRef<func::FuncOp> parts) {
  NamedAttrList common;
  func::FuncOp first = parts.front();
  for (NamedAttribute attr : first->getDiscardableAttrs())
    if (llvm::all_of(parts, [&](func::FuncOp part) {
          return part->getDiscardableAttr(attr.getName()) == attr.getValue();
        }))
      common.push_back(attr);
  for (StringRef dropped : {numForwardOutputsAttrName, savedValuesAttrName,
                            backwardAttrName, forwardAttrName, jointAttrName,
                            baselinePeakBytesAttrName, runtimeNsAttrName})
    common.erase(dropped);
  return common.getDictionary(first.getContext());
}

static Attribute orEmpty(MLIRContext *context, DictionaryAttr attrs) {
  return attrs ? attrs : DictionaryAttr::get(context);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Creates the function, in no module and without a body.
static func::FuncOp createFunction(const FunctionJoin &join, StringRef name) {
  func::FuncOp first = join.parts.front();
  MLIRContext *context = first.getContext();
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<Attribute> argumentAttrs, resultAttrs;
  for (JoinedPort port : join.arguments) {
    func::FuncOp part = join.parts[port.part];
    argumentTypes.push_back(part.getArgument(port.index).getType());
    NamedAttrList attrs(part.getArgAttrDict(port.index));
    attrs.erase(sourceAttrName);
    argumentAttrs.push_back(attrs.getDictionary(context));
  }
  for (JoinedPort port : join.results) {
    func::FuncOp part = join.parts[port.part];
    resultTypes.push_back(part.getResultTypes()[port.index]);
    resultAttrs.push_back(orEmpty(context, part.getResultAttrDict(port.index)));
  }
  SmallVector<Location> locations;
  for (func::FuncOp part : join.parts)
    locations.push_back(part.getLoc());
  auto function = func::FuncOp::create(
      FusedLoc::get(context, locations), name,
      FunctionType::get(context, argumentTypes, resultTypes));
  function->setDiscardableAttrs(getCommonAttributes(join.parts));
  function.setVisibility(first.getVisibility());
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
  return function;
}

/// Gives `op` and what is in its regions names that no earlier part has. They
/// keep those by which a profile of their `graph` knows them.
static void rename(Operation *op, StringAttr graph, PartNames &names,
                   PartNames &chunks) {
  op->walk([&](Operation *inner) {
    if (StringRef name = getStableName(inner); !name.empty()) {
      auto unique = StringAttr::get(op->getContext(), names.get(name));
      if (!inner->hasAttr(graphAttrName))
        inner->setDiscardableAttr(graphAttrName, graph);
      if (unique != name && !inner->hasAttr(graphNameAttrName))
        inner->setDiscardableAttr(graphNameAttrName,
                                  inner->getDiscardableAttr(nameAttrName));
      inner->setDiscardableAttr(nameAttrName, unique);
    }
    if (std::optional<ChunkInfo> info = getChunkInfo(inner)) {
      info->of = StringAttr::get(op->getContext(), chunks.get(info->of));
      setChunkInfo(inner, *info);
    }
  });
}

func::FuncOp mlir::commsched::joinFunctions(const FunctionJoin &join,
                                            StringRef name) {
  func::FuncOp function = createFunction(join, name);
  OpBuilder builder(function.getContext());
  Block *body = builder.createBlock(&function.getBody());
  for (JoinedPort port : join.arguments) {
    Value argument =
        func::FuncOp(join.parts[port.part]).getArgument(port.index);
    body->addArgument(argument.getType(), argument.getLoc());
  }
  PartNames names, chunks;
  // By part: what it returns.
  SmallVector<SmallVector<Value>> returned;
  for (auto [index, part] : llvm::enumerate(join.parts)) {
    func::FuncOp source = part;
    names.beginPart(join.prefixes[index]);
    chunks.beginPart(join.prefixes[index]);
    IRMapping mapping;
    for (auto [argument, operand] :
         llvm::zip_equal(source.getArguments(), join.operands[index]))
      mapping.map(argument,
                  operand.argument
                      ? body->getArgument(*operand.argument)
                      : returned[operand.result.part][operand.result.index]);
    Block &block = source.getBody().front();
    StringAttr graph = builder.getStringAttr(getGraph(source));
    for (Operation &op : block.without_terminator())
      rename(builder.clone(op, mapping), graph, names, chunks);
    returned.push_back(llvm::map_to_vector(
        block.getTerminator()->getOperands(),
        [&](Value value) { return mapping.lookup(value); }));
  }
  SmallVector<Value> results =
      llvm::map_to_vector(join.results, [&](JoinedPort port) {
        return returned[port.part][port.index];
      });
  func::ReturnOp::create(builder, function.getLoc(), results);
  return function;
}
