//===- Split.td - Passes that compute in chunks ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_SPLIT_TD
#define COMMSCHED_TRANSFORMS_PASSES_SPLIT_TD

include "CommSched/Transforms/Passes/Options.td"

def SplitMode : OptionEnum<"SplitMode",
    "How commsched-split divides gathers.", [
      OptionValue<"Chunks", 0, "chunks",
                  "every chunk is a collective of a part of every shard">,
      OptionValue<"Ring", 1, "ring",
                  "the chunks are the shards, sent from rank to rank">,
    ]>;

def SplitReach : OptionEnum<"SplitReach",
    "Which regions commsched-split considers.", [
      OptionValue<"Auto", 0, "auto",
                  "both, or nearest for a given number of chunks">,
      OptionValue<"Nearest", 1, "nearest", "to the nearest large computations">,
      OptionValue<"Widest", 2, "widest", "as far as the rules go">,
    ]>;

def Split : Pass<"commsched-split", "::mlir::func::FuncOp"> {
  let summary = "divide collectives into chunks with the computation around";
  let description = [{
    Divides collectives and the computation before and behind them into chunks,
    so that one chunk is communicated while another is computed. What goes along
    with a collective is its *region*: the operations that divide as the
    collective's values do (SplitOpInterface). With `extent=nearest` it reaches
    to the first product or attention behind a gather, before a scatter, and on
    both sides of other collectives; with `extent=widest` as far as the rules
    go.

    Without `chunks`, the cost model decides what is split, and into how many
    chunks: the regions are those that `commsched-schedule` would split with
    `max-chunks`, `split=auto` (`split=sums` with `bitwise=false`) and else its
    default options, which leave the peak of live bytes as it is. `extent` then
    limits the regions to one kind. All operations need a price. With
    `chunks=N`, every region that N divides is split into N chunks, whether it
    gains or not.

    An operation becomes `chunks` operations with the names `mm.chunk0`,
    `mm.chunk1` and the attribute `commsched.chunk`. Values from outside are
    sliced, and results that are needed whole are put together. The results are
    the same, bit for bit, unless `bitwise=false` allows to divide an axis that
    is summed over, which gives partial sums.

    With `mode=ring` only gathers are divided, into as many chunks as the group
    has ranks, whatever they cost: chunk c is the shard of the rank that is c
    behind, the local one first, and each `commsched.permute` sends on what the
    one before it has delivered. Which part of other values a chunk has depends
    on the rank. Nothing is divided that is summed over, as each rank would add
    in another order, and no other collective.

    A collective is left as it is if splitting it does not make the step
    shorter, if the number of chunks does not divide the region, if it is part
    of a region that was split, or if no product or
    attention divides along with it; a remark names the operation and the
    reason. Chunks are never divided again.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::commsched::CommSchedDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"chunks", "chunks", "int64_t", /*default=*/"0",
           "The number of chunks, from 2 to 64; 0: what makes the step shorter">,
    Option<"maxChunks", "max-chunks", "int32_t", /*default=*/"8",
           "Largest number of chunks where the step decides, from 2 to 8">,
    EnumOption<"extent", "extent", SplitReach, "Auto",
               "How far regions reach: nearest, widest, or auto, which is "
               "nearest for a given number of chunks, and else what makes the "
               "step shorter">,
    EnumOption<"mode", "mode", SplitMode, "Chunks",
               "What the chunks of a gather are: chunks or ring">,
    Option<"bitwise", "bitwise", "bool", /*default=*/"true",
           "Divide nothing that gives partial sums">,
  ];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_SPLIT_TD
