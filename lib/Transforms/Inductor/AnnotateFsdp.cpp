//===- AnnotateFsdp.cpp - Pass that marks the collectives of FSDP ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_ANNOTATEFSDP
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using ObstacleKind = FsdpObstacle::Kind;

/// The value of `commsched.fsdp` for `role`; empty for none.
static StringRef stringifyRole(FsdpRole role) {
  switch (role) {
  case FsdpRole::None:
    return "";
  case FsdpRole::ParameterGather:
    return "parameter_gather";
  case FsdpRole::GradientScatter:
    return "gradient_scatter";
  case FsdpRole::GradientReduce:
    return "gradient_reduce";
  }
  llvm_unreachable("unknown role");
}

/// How remarks name an argument: its number, and its `commsched.name` if any.
static std::string describeArgument(func::FuncOp function, Value value) {
  unsigned number = cast<BlockArgument>(value).getArgNumber();
  std::string text = "argument " + std::to_string(number);
  if (auto name = function.getArgAttrOfType<StringAttr>(number, nameAttrName))
    text += " '" + name.str() + "'";
  return text;
}

/// Why `collective` has no part in FSDP, as the end of a sentence.
static std::string explain(func::FuncOp function,
                           CollectiveOpInterface collective,
                           const FsdpObstacle &obstacle) {
  switch (obstacle.kind) {
  case ObstacleKind::OtherUse: {
    CollectiveKind kind = collective.getCollectiveKind();
    if (kind == CollectiveKind::AllReduce)
      return "reduces what no gradient scatter gives";
    return (stringifyCollectiveKind(kind) +
            " neither gathers parameters nor reduces gradients")
        .str();
  }
  case ObstacleKind::NoParameter:
    return "gathers constants";
  case ObstacleKind::OtherArgument:
    return "gathers " + describeArgument(function, obstacle.value) +
           ", which is no parameter";
  case ObstacleKind::OutsideValue:
    return "gathers a value from outside of its block";
  case ObstacleKind::SecondParameter:
    return "gathers both " + describeArgument(function, obstacle.value) +
           " and " + describeArgument(function, obstacle.second);
  case ObstacleKind::OtherSource:
    return "gathers what " + describe(obstacle.op) + " makes";
  case ObstacleKind::Unused:
    return "nobody uses what it scatters";
  case ObstacleKind::OtherUser:
    return "what it scatters goes to " + describe(obstacle.op);
  }
  llvm_unreachable("unknown obstacle");
}

namespace {

struct AnnotateFsdp : mlir::commsched::impl::AnnotateFsdpBase<AnnotateFsdp> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    DenseMap<Block *, FsdpAnalysis> analyses;
    for (Block *block : getBlocksWithCollectives(function))
      analyses.try_emplace(block, *block);
    auto getRole = [&](Operation *op) {
      auto it = analyses.find(op->getBlock());
      return it == analyses.end() ? FsdpRole::None : it->second.getRole(op);
    };

    bool changed = false;
    function.walk([&](Operation *op) {
      if (op != function)
        changed |= annotate(op, getRole(op));
    });
    if (!changed)
      markAllAnalysesPreserved();
    if (analyses.empty() || !areRemarksEnabled(function))
      return;
    remarkCounts(getRole);
    remarkOthers(analyses);
  }

private:
  /// Makes `op` say its role, or none. Returns whether that is new.
  static bool annotate(Operation *op, FsdpRole role) {
    Attribute before = op->getDiscardableAttr(fsdpAttrName);
    if (role == FsdpRole::None)
      return before && op->removeDiscardableAttr(fsdpAttrName);
    auto text = StringAttr::get(op->getContext(), stringifyRole(role));
    if (before == text)
      return false;
    op->setDiscardableAttr(fsdpAttrName, text);
    return true;
  }

  void remarkCounts(function_ref<FsdpRole(Operation *)> getRole) {
    func::FuncOp function = getOperation();
    int64_t gathers = 0, scatters = 0, reduces = 0;
    function.walk([&](CollectiveOpInterface collective) {
      FsdpRole role = getRole(collective);
      gathers += role == FsdpRole::ParameterGather;
      scatters += role == FsdpRole::GradientScatter;
      reduces += role == FsdpRole::GradientReduce;
    });
    remark::analysis(function.getLoc(),
                     makeRemark("FsdpFound", function.getSymName()))
        << (Twine(gathers) + " parameter gather(s), " + Twine(scatters) +
            " gradient scatter(s), " + Twine(reduces) + " gradient reduce(s)")
               .str()
        << remark::metric("ParameterGathers", gathers)
        << remark::metric("GradientScatters", scatters)
        << remark::metric("GradientReduces", reduces);
  }

  /// Says of every collective without a role on a group on which parameters are
  /// gathered why it has none.
  void remarkOthers(const DenseMap<Block *, FsdpAnalysis> &analyses) {
    func::FuncOp function = getOperation();
    DenseSet<Attribute> groups;
    SmallVector<CollectiveOpInterface> others;
    function.walk([&](CollectiveOpInterface collective) {
      const FsdpAnalysis &analysis = analyses.at(collective->getBlock());
      FsdpRole role = analysis.getRole(collective);
      if (role == FsdpRole::ParameterGather)
        groups.insert(collective.getGroupKey());
      else if (role == FsdpRole::None)
        others.push_back(collective);
    });
    for (CollectiveOpInterface collective : others) {
      if (!groups.contains(collective.getGroupKey()))
        continue;
      FsdpObstacle obstacle =
          analyses.at(collective->getBlock()).getObstacle(collective);
      remark::missed(collective.getLoc(),
                     makeRemark("NotFsdp", function.getSymName()))
          << describe(collective) + ": " +
                 explain(function, collective, obstacle);
    }
  }
};

} // namespace
