//===- OperationTexts.cpp - Names of operations in texts ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;

std::string mlir::commsched::makePrintable(StringRef name) {
  return llvm::json::isUTF8(name) ? name.str() : llvm::json::fixUTF8(name);
}

std::string mlir::commsched::describe(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto compute = dyn_cast<ComputeOp>(op))
    text = compute.getCallee().str();
  StringRef name = getStableName(op);
  if (!name.empty())
    text += " '" + name.str() + "'";
  return text;
}

std::string mlir::commsched::getCollectiveName(CollectiveOpInterface collective,
                                               unsigned indexInBlock) {
  StringRef name = getStableName(collective);
  if (!name.empty())
    return makePrintable(name);
  return (stringifyCollectiveKind(collective.getCollectiveKind()) + "_" +
          Twine(indexInBlock))
      .str();
}

std::string mlir::commsched::getArgumentName(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  Block *block = argument.getOwner();
  auto function = dyn_cast<FunctionOpInterface>(block->getParentOp());
  if (function && block->isEntryBlock())
    if (auto name = function.getArgAttrOfType<StringAttr>(number, nameAttrName);
        name && !name.empty())
      return makePrintable(name);
  return "%arg" + std::to_string(number);
}

std::string mlir::commsched::getLocationText(Location loc) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ":" << file.getLine() << ":"
       << file.getColumn();
  else
    os << loc;
  return makePrintable(text);
}
