//===- InlinedCalls.cpp - Bodies of functions in place of calls -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlinedCalls.h"
#include "CommSched/Dialect/ChunkAttribute.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Transforms/Inliner.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;

bool mlir::commsched::hasLoneBlock(func::FuncOp function) {
  Region &body = function.getBody();
  return body.hasOneBlock() && !body.front().empty() &&
         isa<func::ReturnOp>(body.front().back());
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void PartNames::beginPart(StringRef partPrefix) {
  prefix = (partPrefix + ".").str();
  for (const auto &renaming : renamings)
    taken.insert(renaming.second);
  renamings.clear();
}

StringRef PartNames::get(StringRef name) {
  auto [renaming, isNew] = renamings.try_emplace(name);
  if (isNew)
    renaming->second = choose(name);
  return renaming->second;
}

std::string PartNames::choose(StringRef name) const {
  if (!taken.contains(name))
    return name.str();
  std::string prefixed = prefix + name.str();
  std::string unique = prefixed;
  for (int64_t number = 1; taken.contains(unique); ++number)
    unique = prefixed + "." + std::to_string(number);
  return unique;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

BodyInliner::BodyInliner(func::FuncOp function)
    : InlinerInterface(function.getContext()) {
  function->walk([&](Operation *op) {
    if (StringRef name = getStableName(op); !name.empty())
      names.reserve(name);
    if (std::optional<ChunkInfo> info = getChunkInfo(op))
      chunks.reserve(info->of.getValue());
  });
}

/// Gives `op` names that nothing before it has. It keeps those by which a
/// profile of its graph knows it.
void BodyInliner::rename(Operation *op) {
  MLIRContext *context = op->getContext();
  if (StringRef name = getStableName(op); !name.empty()) {
    auto unique = StringAttr::get(context, names.get(name));
    if (!op->hasAttr(graphAttrName))
      op->setDiscardableAttr(graphAttrName, graph);
    if (unique != name && !op->hasAttr(graphNameAttrName))
      op->setDiscardableAttr(graphNameAttrName,
                             op->getDiscardableAttr(nameAttrName));
    op->setDiscardableAttr(nameAttrName, unique);
  }
  if (std::optional<ChunkInfo> info = getChunkInfo(op)) {
    info->of = StringAttr::get(context, chunks.get(info->of));
    setChunkInfo(op, *info);
  }
}

void BodyInliner::processInlinedBlocks(
    iterator_range<Region::iterator> inlinedBlocks) {
  for (Block &block : inlinedBlocks)
    block.walk([&](Operation *op) {
      rename(op);
      if (auto call = dyn_cast<func::CallOp>(op); call && visitCall)
        visitCall(call);
    });
}

void BodyInliner::handleTerminator(Operation *op, ValueRange replaced) const {
  for (auto [value, operand] : llvm::zip_equal(replaced, op->getOperands()))
    value.replaceAllUsesWith(operand);
}

void BodyInliner::inlineCall(func::CallOp call, func::FuncOp callee,
                             StringRef prefix,
                             function_ref<void(func::CallOp)> visit) {
  names.beginPart(prefix);
  chunks.beginPart(prefix);
  graph = StringAttr::get(call.getContext(), getGraph(callee));
  visitCall = visit;
  [[maybe_unused]] LogicalResult inlined =
      inlineRegion(*this, InlinerConfig().getCloneCallback(), &callee.getBody(),
                   call, call.getOperands(), call.getResults());
  assert(succeeded(inlined) && "a call has the types of its callee");
  call.erase();
}

bool mlir::commsched::isOperator(func::CallOp call) {
  return call->hasAttr(pureAttrName) || getPinnedRuntimeNs(call);
}

func::FuncOp mlir::commsched::getPart(func::CallOp call,
                                      const SymbolTable &symbols) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  bool isPart = callee && !isOperator(call) && hasLoneBlock(callee);
  return isPart ? callee : func::FuncOp();
}

void mlir::commsched::eraseUnused(ArrayRef<func::FuncOp> parts,
                                  SymbolTable &symbols) {
  SymbolTableCollection collection;
  SymbolUserMap users(collection, symbols.getOp());
  llvm::SetVector<Operation *> unused;
  for (func::FuncOp part : parts)
    if (part.isPrivate())
      unused.insert(part);
  auto isNeeded = [&](Operation *function) {
    return llvm::any_of(users.getUsers(function), [&](Operation *user) {
      if (!isa<func::FuncOp>(user))
        user = user->getParentOfType<func::FuncOp>();
      return !unused.contains(user);
    });
  };
  while (unused.remove_if(isNeeded))
    ;
  for (Operation *function : unused)
    symbols.erase(function);
}
