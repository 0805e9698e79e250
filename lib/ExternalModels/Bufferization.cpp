//===- Bufferization.cpp - Models of bufferization operations -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

namespace {
/// Free, unless it starts with the content of another tensor.
struct AllocTensorCost
    : CostOpInterface::ExternalModel<AllocTensorCost, AllocTensorOp> {
  std::optional<int64_t> getMovedBytes(Operation *op) const {
    Value copy = cast<AllocTensorOp>(op).getCopy();
    return copy ? getMultipleOfBytes(copy.getType(), /*times=*/2) : 0;
  }
};
} // namespace

void mlir::commsched::detail::registerBufferizationModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, BufferizationDialect *) {
    attachTo<FirstOperandView, ToTensorOp, ToBufferOp>(context);
    attachTo<FreeCost, DeallocTensorOp, DeallocOp>(context);
    attachTo<CopyIntoCost, CloneOp, MaterializeInDestinationOp>(context);
    attachTo<AllocTensorCost, AllocTensorOp>(context);
  });
}
