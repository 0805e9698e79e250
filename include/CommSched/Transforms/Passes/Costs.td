//===- Costs.td - Passes on the costs of operations --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_COSTS_TD
#define COMMSCHED_TRANSFORMS_PASSES_COSTS_TD

include "CommSched/Transforms/Passes/Options.td"

def SetCosts : Pass<"commsched-set-costs", "::mlir::ModuleOp"> {
  let summary = "write the target and the measured profile on the module";
  let description = [{
    What this pass writes holds for every pass, report and export that follows.
    All options but `assume-fusion` are those of pipelines, too, where they are
    short for it.

    `target` becomes the key `commsched.preset` of the device "GPU" in the
    module's DLTI target system specification. The device's other `commsched.`
    keys override single fields of the preset, and stay. A module without a
    specification is for an h100.

    `profile` becomes the attribute `commsched.profile` of the module: the
    content of the file, so that the module can be read where the file is not.
    What the file has measured of single operations, by name or by types, goes
    onto them as `commsched.measured_ns`, and holds wherever a later pass moves
    them and whatever it calls their function. Of a collective it is the price
    of the implementation that was measured; others can be chosen. A profile
    that names operations, none of which is in the module, is a warning.

    Where the module already has another preset or profile, the option wins,
    which a remark says.

    `slack`, `exclusive-groups`, `link-sharing` and `compute-slowdown` become the
    keys of the device of those names, such as `commsched.compute_slowdown`.
    docs/guide/model.md says what they do. One that is not given leaves what the
    module says.

    With `assume-fusion`, operations that a later compiler, such as XLA, fuses
    get the times of the kernels that it makes of them:
    `commsched-assume-fusion` says which.
  }];
  let options = !listconcat(costOptions, contentionOptions, [
    Option<"assumeFusion", "assume-fusion", "bool", /*default=*/"false",
           "Price operations as a later compiler, such as XLA, fuses them">,
  ]);
  let dependentDialects = [
    "::mlir::commsched::CommSchedDialect", "::mlir::DLTIDialect"];
}

def CollectiveModel : OptionEnum<"CollectiveModel",
    "The models of the time of a collective.", [
      OptionValue<"Nccl", 0, "nccl", "NCCL's algorithms and protocols">,
    ]>;

def EstimateRuntime : Pass<"commsched-estimate-runtime", "::mlir::func::FuncOp"> {
  let summary = "write the estimated time of every operation on it";
  let description = [{
    Sets `commsched.runtime_ns` on every operation that is not pinned, in the
    function's body and in regions inside it. Collectives take the time of the
    measured profile where it covers them, else that of the model. Other
    operations take the larger of the times of their arithmetic and of their
    memory traffic on the target. An operation that implements CostOpInterface
    states both; of other operations the bytes of operands and results count.
    Waits, constants and views take 0.

    Terminators get no time, nor do the operations in the body of an operation
    that states its own cost, such as those of linalg. An operation with a dynamic
    size stays as it is, with a remark.

    The target and the profile are the module's; see `commsched-set-costs`. The
    option `profile` wins over the module's profile, which a remark says.
  }];
  let options = [
    Option<"profile", "profile", "std::string", /*default=*/"",
           "JSON file of measured times, instead of the module's profile">,
    EnumOption<"model", "model", CollectiveModel, "Nccl",
               "Model of the time of a collective that the profile does not "
               "cover: nccl">,
  ];
  let dependentDialects = ["::mlir::commsched::CommSchedDialect"];
}

def AssumeFusion : Pass<"commsched-assume-fusion"> {
  let summary = "price operations as a compiler that fuses them will run them";
  let description = [{
    For programs that a later compiler, such as XLA, fuses. An operation with
    one result is fused if its class is pointwise, data movement or view, and if
    all operations that read the result are in the same block and can be fused
    with it: they are pointwise, data movement, a reduction, a concatenation, or
    a fused view. Operations with a destination are not fused.
    A call with `commsched.pure` of a function that consists of such operations
    counts as one of them. The bodies of loops and branches are treated in the
    same way, those of calls and reductions are not.

    A fused operation gets `commsched.runtime_ns = 0` and `commsched.fused`: its
    result takes no storage, and shares that of the operand that is computed
    from the largest value. An operation without operands, such as an `iota`,
    shares none. A transposition (an operation of data movement with a
    `permutation`) is also free, and shares the storage of its operand, if all
    that reads its result are matrix products, loops, operations in the bodies of
    loops, and operations as above: the compiler chooses the layout in which they
    read the operand. Any other operation that reads fused results gets the time
    of a kernel that reads the values that these are computed from, at most 16 in
    total; with more, an operation is not fused. Any other call gets the sum of
    the times of its callee. Pinned times stay as they are.

    The copies of buckets are priced as the concatenations and slices that a
    compiler is given of them. Of a fused slice, a kernel reads as many bytes as
    the slice has.

    The compiler may decide differently. It may store a value that several
    operations read, or compute it again; this pass assumes the latter.

    What the pass writes has `commsched.assumed_fusion`. With `renew`, what an
    earlier run has written is replaced by what holds for the program as it has
    become, and a program without such prices stays as it is. So
    `commsched-pipeline` ends, and goes on where it has overlapped iterations.
    The pass works on a module or on one of its functions.
  }];
  let options = [
    Option<"renew", "renew", "bool", /*default=*/"false",
           "Only replace what an earlier run has written">,
  ];
  let dependentDialects = ["::mlir::commsched::CommSchedDialect"];
}

def CalleesFirst : Pass<"test-commsched-callees-first", "::mlir::ModuleOp"> {
  let summary = "run passes on functions before those on their callers";
  let description = [{
    Runs `pipelines`, such as `func.func(commsched-schedule)`, on the functions
    of the module, those that are called before those that call them. While they
    run on a function, its calls say what their callees take as they have become
    (`commsched.callee`): a call is a node whose time, communication and memory
    are those of its callee, as a loop is for its body. Each callee is read once.

    A call is a barrier if its callee has no body or is not known, or if the
    function calls itself. A remark says so.
  }];
  let options = [
    ListOption<"pipelines", "pipelines", "OpPassManager",
               "Pipelines of passes on functions">,
  ];
  let dependentDialects = ["::mlir::commsched::CommSchedDialect"];
}

def InferSizeHints
    : Pass<"test-commsched-infer-size-hints", "::mlir::func::FuncOp"> {
  let summary = "pass hints for dynamic sizes on from values to their users";
  let description = [{
    Sets `commsched.size_hints` on operations with results of dynamic size, or
    on collectives that deliver such values, where their sizes follow from those
    of operands: on operations that keep the shape of an operand (elementwise
    operations, casts, views of the same type), or write a destination; on
    `tensor.empty` and `tensor.extract_slice` with sizes that are constants or
    dimensions of other values; on `tensor.concat`; on loops by what they start with, and on
    branches by what the first one yields; on collectives by what they are sent
    and the size of their group. Hints that are there stay.

    What an `all_to_all` delivers whose splits are values is not known before it
    runs. Since all ranks together receive what they send, it is expected to
    deliver as many rows as it sends, which a remark says.

    An opaque `commsched.compute` needs hints of its own. A remark names each
    operation that gets none. A program of static sizes stays as it is.
  }];
  let dependentDialects = ["::mlir::commsched::CommSchedDialect"];
}

def AlignRuntimes : Pass<"commsched-align-runtimes", "::mlir::ModuleOp"> {
  let summary = "make ranks that measured different times agree on them";
  let description = [{
    Ranks that schedule with different times may decide differently, and then
    wait for each other forever. This pass takes two runs on every rank, with
    the files carried between ranks in between:

     * `output=FILE` writes this rank's times as JSON, and changes nothing: for
       each function, what its operations are and what they take, by
       `commsched.runtime_ns` and else by estimate for the module's target.
     * `ranks=FILE,FILE,…` reads the files of all ranks, this one's included, in
       any order, and sets `commsched.runtime_ns` of each operation to the
       median; of an even number of times, to the lower of the two in the
       middle. A remark reports how much the ranks differ.

    The operations are those that `commsched-estimate-runtime` writes a time on,
    also those that take 0. A time that is unknown because a size is dynamic is
    `null`. The median is that of the ranks with a known time; an operation
    without a known time on any rank gets none.

    A file that lists other functions, or other operations in a function, than
    the module has, is an error, and nothing is aligned.
  }];
  let options = [
    Option<"output", "output", "std::string", /*default=*/"",
           "File for the times of this rank; - is standard output">,
    ListOption<"ranks", "ranks", "std::string",
               "Files with the times of all ranks">,
  ];
  let dependentDialects = ["::mlir::commsched::CommSchedDialect"];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_COSTS_TD
