//===- CollectiveKind.td - Kinds of collectives ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SUPPORT_COLLECTIVEKIND_TD
#define COMMSCHED_SUPPORT_COLLECTIVEKIND_TD

include "mlir/IR/EnumAttr.td"

// The names are those of the operations of `commsched`, and the values those of
// `commsched_kind` in the runtime's C interface.
def CommSched_CollectiveKind
    : I32Enum<"CollectiveKind", "the kind of a collective", [
        I32EnumCase<"AllGather", 0, "all_gather">,
        I32EnumCase<"ReduceScatter", 1, "reduce_scatter">,
        I32EnumCase<"AllReduce", 2, "all_reduce">,
        I32EnumCase<"AllToAll", 3, "all_to_all">,
        I32EnumCase<"Broadcast", 4, "broadcast">,
        I32EnumCase<"Permute", 5, "permute">,
        I32EnumCase<"Send", 6, "send">,
        I32EnumCase<"Recv", 7, "recv">,
        I32EnumCase<"Barrier", 8, "barrier">,
        I32EnumCase<"Offload", 9, "offload">,
        I32EnumCase<"Reload", 10, "reload">,
      ]> {
  let cppNamespace = "::mlir::commsched";
}

#endif // COMMSCHED_SUPPORT_COLLECTIVEKIND_TD
