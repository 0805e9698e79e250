//===- RandomStates.cpp - Random numbers drawn twice alike ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomStates.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/RandomState.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::commsched;

/// The bytes of a counter-based generator's state: a seed and an offset.
static constexpr int64_t stateBytes = 16;

static bool isRecomputedAtRandom(ComputeOp op) {
  auto policy = dyn_cast_if_present<StringAttr>(
      op->getDiscardableAttr(recomputeAttrName));
  return policy && policy.getValue() == "must_recompute" &&
         op.getOperatorClass() == partition::OperatorClass::Random;
}

/// The state that `op` starts from. It belongs where `op` does.
static Value createState(ComputeOp op) {
  OpBuilder builder(op);
  auto type = RankedTensorType::get({stateBytes}, builder.getI8Type());
  auto state = ComputeOp::create(
      builder, op.getLoc(), TypeRange(type), getStateCallee, ValueRange(),
      /*flops=*/{}, /*bytes=*/{}, /*alias=*/{}, /*mutates=*/{},
      /*random=*/true);
  for (StringRef kept : {moduleAttrName, partitionAttrName})
    if (Attribute value = op->getDiscardableAttr(kept))
      state->setDiscardableAttr(kept, value);
  if (StringRef name = getStableName(op); !name.empty())
    state->setDiscardableAttr(nameAttrName,
                              builder.getStringAttr(name + ".rng_state"));
  state->setDiscardableAttr(recomputeAttrName,
                            builder.getStringAttr("must_save"));
  return state.getResult(0);
}

RandomStates::RandomStates(func::FuncOp joint) {
  for (auto op : joint.getOps<ComputeOp>())
    if (isRecomputedAtRandom(op))
      threaded.push_back({op, op.getRandom()});
  for (auto [op, isRandom] : threaded) {
    op.getInputsMutable().append(createState(op));
    op.setRandom(false);
  }
}

RandomStates::~RandomStates() {
  for (auto [op, isRandom] : threaded) {
    MutableOperandRange inputs = op.getInputsMutable();
    unsigned last = inputs.size() - 1;
    Operation *state = op.getInputs()[last].getDefiningOp();
    inputs.erase(last);
    op.setRandom(isRandom);
    state->erase();
  }
}
