//===- CommSchedGroupOps.td - Groups, waits and barriers ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDGROUPOPS_TD
#define COMMSCHED_DIALECT_COMMSCHEDGROUPOPS_TD

include "CommSched/Dialect/CommSchedOpBase.td"

def CommSched_GroupOp : CommSched_Op<"group", [Symbol]> {
  let summary = "a process group: one communicator, one in-order stream";
  let description = [{
    Declares the process groups of one axis: every rank belongs to one group of
    `size` ranks. The members of a group are `stride` ranks apart (1 if absent:
    consecutive ranks), or `ranks` lists them, one row for each group.
    `ranks_per_node` is the most ranks of a group that share a node, others may
    have fewer; the default is the smaller of `size` and 8.

    Constraints:
    * (C1) the group is declared at module level, in a symbol table.
    * (C2) `size` is at least 1.
    * (C3) `ranks_per_node` is in [1, `size`].
    * (C4) `stride` is at least 1, and absent when `ranks` is given.
    * (C5) `ranks` has two dimensions, at least one row and `size` columns.
    * (C6) the ranks listed are not negative, and no rank is listed twice.

    Example:

    ```mlir
    commsched.group @world size(64) ranks_per_node(8)
    commsched.group @columns size(8) ranks_per_node(1) stride(8)
    commsched.group @odd size(2) ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>)
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    I64Attr:$size,
    OptionalAttr<I64Attr>:$ranks_per_node,
    OptionalAttr<I64Attr>:$stride,
    OptionalAttr<I64ElementsAttr>:$ranks,
    OptionalAttr<StrAttr>:$sym_visibility
  );
  let assemblyFormat = [{
    ($sym_visibility^)? $sym_name `size` `(` $size `)`
    (`ranks_per_node` `(` $ranks_per_node^ `)`)? (`stride` `(` $stride^ `)`)?
    (`ranks` `(` $ranks^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The size, and the ranks per node after the default.
    ProcessGroup getProcessGroup();
  }];
}

def CommSched_WaitOp : CommSched_Op<"wait", [
    DeclareOpInterfaceMethods<CommSched_WaitOpInterface>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "makes a collective's values valid on the compute stream";
  let description = [{
    Blocks the compute stream until the collective has ended, and yields the
    values that it delivered.

    Constraints, checked for waits and starts of every dialect:
    * (C1) the future comes from a collective of the same block.
    * (C2) a future is waited for exactly once.
    * (C3) a future is neither returned, nor stored, nor passed across a
      region or call boundary, except as (C5) allows.
    * (C4) only `commsched.reload`, calls and terminators use a delivered tensor
      that is in the memory of the host.
    * (C5) the constructs of the steady state hand futures over a boundary: a
      function with `commsched.steady_state` takes and returns them as its
      state, and a loop with `commsched.pipelined` carries them. A future that
      is such an argument, or a result of such a loop, obeys (C2): it is waited
      for once in its block, or handed over once, by the terminator of the
      block or as an initial value of such a loop.

    Example:

    ```mlir
    %full = commsched.wait %future : !commsched.future<tensor<4096x4096xbf16>>
    ```
  }];
  let arguments = (ins CommSched_Future:$future);
  let results = (outs Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "$future attr-dict `:` qualified(type($future))";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def CommSched_BarrierOp : CommSched_GroupUserOp<"barrier", [
    DeclareOpInterfaceMethods<CommSched_CollectiveOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "waits until every rank of the group arrives";
  let description = [{
    Blocks the compute stream until all ranks of the group have reached the
    barrier.

    Constraints:
    * (C1) the group exists.

    Example:

    ```mlir
    commsched.barrier on @world
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group);
  let assemblyFormat = "`on` $group attr-dict";
  let hasCanonicalizer = 1;
}

def CommSched_RankOp : CommSched_GroupUserOp<"rank", [
    Pure,
    DeclareOpInterfaceMethods<CommSched_CostOpInterface,
                              ["getKnownRuntimeNs"]>]> {
  let summary = "this rank's place in its group";
  let description = [{
    The index of the rank that runs the program among the members of its group,
    in [0, n) for a group of n ranks. It takes no time.

    Constraints:
    * (C1) the group exists.

    Example:

    ```mlir
    %me = commsched.rank on @dp : index
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group);
  let results = (outs Index:$index);
  let assemblyFormat = "`on` $group attr-dict `:` type($index)";
  let hasCanonicalizer = 1;
}

#endif // COMMSCHED_DIALECT_COMMSCHEDGROUPOPS_TD
