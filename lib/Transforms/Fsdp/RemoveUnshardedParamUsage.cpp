//===- RemoveUnshardedParamUsage.cpp - The pass that forwards copies ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Remarks.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Transforms/Passes.h"
#include "FsdpPatterns.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REMOVEUNSHARDEDPARAMUSAGE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

/// Why the storage stays.
static std::string explain(const UnshardedParam &param) {
  std::string op = describe(param.op);
  switch (param.obstacle) {
  case ParamObstacle::None:
    break;
  case ParamObstacle::NoArgument:
    return "it is no argument of the function";
  case ParamObstacle::OtherBlock:
    return op + " is not in the first block of the function";
  case ParamObstacle::ResizedView:
    return op + " works on a view of it";
  case ParamObstacle::NeverResized:
    return "it is filled, but never freed";
  case ParamObstacle::UnequalResizes:
    return ("it is grown " + Twine(param.numGrown) + " time(s), but freed " +
            Twine(param.numFreed))
        .str();
  case ParamObstacle::ResizeOrder:
    return "it is not grown and freed in turns";
  case ParamObstacle::MemrefRead:
    return op + " reads the memref itself";
  case ParamObstacle::Viewed:
    return op + " makes a view of it";
  case ParamObstacle::PassedOn:
    return op + " may pass it on";
  case ParamObstacle::CopiedOn:
    return op + " copies from it into a parameter";
  case ParamObstacle::CopiedFrom:
    return op + " copies from a parameter";
  case ParamObstacle::UsedLater:
    return op + " uses what was read of it before " + describe(param.other);
  case ParamObstacle::OtherType:
    return op + " yields another type than what was copied into it";
  case ParamObstacle::SourceWritten:
    return op + " may write what " + describe(param.other) +
           " copied into it, before the last use of the copy";
  }
  llvm_unreachable("nothing in the way");
}

static void remarkParam(func::FuncOp function, const UnshardedParam &param) {
  std::string name = param.name.empty() ? "the memref" : "'" + param.name + "'";
  if (param.obstacle != ParamObstacle::None) {
    remark::missed(param.op->getLoc(),
                   makeRemark("ParameterKept", function.getSymName()))
        << (name + " keeps its storage: " + explain(param));
    return;
  }
  remark::passed(param.op->getLoc(),
                 makeRemark("ParameterRemoved", function.getSymName()))
      << (name + " needs no storage: what reads it takes what was copied into "
                 "it")
      << remark::metric("Resizes", param.numGrown + param.numFreed)
      << remark::metric("Copies", param.numCopies)
      << remark::metric("Reads", param.numReads);
}

namespace {

struct RemoveUnshardedParamUsage
    : mlir::commsched::impl::RemoveUnshardedParamUsageBase<
          RemoveUnshardedParamUsage> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    FailureOr<UnshardedParams> params = UnshardedParams::create(function);
    if (failed(params))
      return signalPassFailure();
    if (areRemarksEnabled(function))
      for (const UnshardedParam &param : params->getParams())
        remarkParam(function, param);
    if (!params->hasRemovable())
      return markAllAnalysesPreserved();
    RewritePatternSet patterns(&getContext());
    populateRemoveUnshardedParamUsagePatterns(patterns, *params);
    walkAndApplyPatterns(function, std::move(patterns));
    setRoles(*params);
  }

private:
  /// Says of arguments that nothing uses any more what they are, so that they
  /// are known to have no storage.
  void setRoles(const UnshardedParams &params);
};

} // namespace

void RemoveUnshardedParamUsage::setRoles(const UnshardedParams &params) {
  func::FuncOp function = getOperation();
  auto role = StringAttr::get(&getContext(), unshardedParamRole);
  // All at once: setting one copies the attributes of all.
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (const UnshardedParam &param : params.getParams()) {
    if (!params.isRemovable(param.storage))
      continue;
    DictionaryAttr &dictionary =
        attributes[cast<BlockArgument>(param.storage).getArgNumber()];
    NamedAttrList list(dictionary);
    if (!list.get(roleAttrName))
      list.set(roleAttrName, role);
    dictionary = list.getDictionary(&getContext());
  }
  function.setAllArgAttrs(attributes);
}
