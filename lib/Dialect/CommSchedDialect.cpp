//===- CommSchedDialect.cpp - The commsched dialect and its types ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "StartOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::commsched;

#include "CommSched/Dialect/CommSchedDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "CommSched/Dialect/CommSchedAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "CommSched/Dialect/CommSchedTypes.cpp.inc"

/// The splits of one side of an all_to_all: `[3, 7]`, or
/// `%rows : tensor<2xi64>`.
static ParseResult
parseSplits(OpAsmParser &parser, DenseI64ArrayAttr &splits,
            std::optional<OpAsmParser::UnresolvedOperand> &sizes,
            Type &sizesType) {
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult isOperand = parser.parseOptionalOperand(operand);
  if (!isOperand.has_value()) {
    splits = dyn_cast_or_null<DenseI64ArrayAttr>(
        DenseI64ArrayAttr::parse(parser, Type()));
    return success(splits != nullptr);
  }
  sizes = operand;
  return failure(failed(*isOperand) || parser.parseColonType(sizesType));
}

static void printSplits(OpAsmPrinter &printer, Operation *,
                        DenseI64ArrayAttr splits, Value sizes, Type sizesType) {
  if (sizes)
    printer << sizes << " : " << sizesType;
  else
    splits.print(printer);
}

#define GET_OP_CLASSES
#include "CommSched/Dialect/CommSchedOps.cpp.inc"

namespace {

/// Lets functions that communicate be inlined: a future never leaves its block,
/// so the pairs stay whole, and the collectives keep the callee's order.
struct CommSchedInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *op, Region *destination, bool wouldBeCloned,
                       IRMapping &mapping) const final {
    // The numbers of a fixed order are those of one block.
    return !op->hasAttr(orderAttrName) ||
           !isa_and_present<FunctionOpInterface>(op->getParentOp());
  }
};

} // namespace

std::shared_ptr<const void>
CommSchedDialect::getOrRead(Attribute attribute,
                            function_ref<std::shared_ptr<const void>()> read) {
  std::scoped_lock lock(readMutex);
  std::shared_ptr<const void> &known = readAttributes[attribute];
  if (!known)
    known = read();
  return known;
}

void CommSchedDialect::initialize() {
  addInterfaces<CommSchedInliner>();
  registerStepVerifier(*getContext());
  addAttributes<
#define GET_ATTRDEF_LIST
#include "CommSched/Dialect/CommSchedAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "CommSched/Dialect/CommSchedTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "CommSched/Dialect/CommSchedOps.cpp.inc"
      >();
}

LogicalResult FutureType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<Type> types) {
  for (Type type : types)
    if (!isa<RankedTensorType>(type))
      return emitError() << "a future delivers ranked tensors, not " << type
                         << " (C1)";
  return success();
}
