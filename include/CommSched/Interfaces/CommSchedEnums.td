//===- CommSchedEnums.td - Kinds and roles -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_INTERFACES_COMMSCHEDENUMS_TD
#define COMMSCHED_INTERFACES_COMMSCHEDENUMS_TD

include "mlir/IR/EnumAttr.td"

// An integer attribute with named values rather than an attribute of its own,
// so that `reduction(sum)` needs no angle brackets in the custom syntax.
def CommSched_ReductionKind
    : I32EnumAttr<"ReductionKind",
                  "how a reducing collective combines the ranks' elements", [
        I32EnumAttrCase<"Sum", 0, "sum">,
        I32EnumAttrCase<"Avg", 1, "avg">,
        I32EnumAttrCase<"Prod", 2, "prod">,
        I32EnumAttrCase<"Min", 3, "min">,
        I32EnumAttrCase<"Max", 4, "max">,
        I32EnumAttrCase<"BitAnd", 5, "band">,
        I32EnumAttrCase<"BitOr", 6, "bor">,
        I32EnumAttrCase<"BitXor", 7, "bxor">,
      ]> {
  let cppNamespace = "::mlir::commsched";
}

def CommSched_SteadyStateRole
    : I32Enum<"SteadyStateRole", "which part of a steady state a function is", [
        I32EnumCase<"Prologue", 0, "prologue">,
        I32EnumCase<"Steady", 1, "steady">,
        I32EnumCase<"Epilogue", 2, "epilogue">,
      ]> {
  let cppNamespace = "::mlir::commsched";
}

#endif // COMMSCHED_INTERFACES_COMMSCHEDENUMS_TD
