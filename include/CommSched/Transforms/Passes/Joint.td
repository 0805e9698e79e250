//===- Joint.td - Passes on joint functions ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_JOINT_TD
#define COMMSCHED_TRANSFORMS_PASSES_JOINT_TD

include "CommSched/Transforms/Passes/Options.td"

def PartitionStrategy : OptionEnum<"PartitionStrategy",
    "How commsched-partition-joint chooses what the forward saves.", [
      OptionValue<"Default", 0, "default",
                  "what eager execution saves; min-cut if an operation is "
                  "tagged for recomputation">,
      OptionValue<"MinCut", 1, "min-cut", "few bytes, within the budget">,
    ]>;

def RuntimeEstimator : OptionEnum<"RuntimeEstimator",
    "The unit in which commsched-partition-joint measures recomputation.", [
      OptionValue<"Flops", 0, "flops", "floating-point operations">,
      OptionValue<"Model", 1, "model", "nanoseconds, pinned or estimated">,
      OptionValue<"Testing", 2, "testing", "1 for every operation">,
    ]>;

def KnapsackSolver : OptionValues<"partition::KnapsackSolver", [
      OptionValue<"DynamicProgramming", 0, "dp", "dynamic programming">,
      OptionValue<"Greedy", 1, "greedy", "by gain per byte">,
    ]>;

def PartitionJoint : Pass<"commsched-partition-joint", "::mlir::ModuleOp"> {
  let summary = "split a joint function into a forward and a backward";
  let description = [{
    A function with `commsched.num_forward_outputs` computes a forward's results
    and then, from them and from arguments with the role `tangent`, those of its
    backward. This pass makes `@f` into `@f_forward` and `@f_backward`. The
    forward returns its results and the saved values; the backward takes the
    saved values, in the same order, the tangents, and the arguments with the
    role `bwd_rng_state`, and computes all other values of the forward that it
    needs again. Arguments with the role `fwd_rng_state` come last in the
    forward, which saves them as others where the backward reads them. A result
    of the forward that needs a tangent or a `bwd_rng_state` is an error. A call
    of the joint function becomes a call of the forward and one of the backward;
    a joint function that nothing calls stays, and calls both. That, and nothing
    else, says what belongs together; `test-commsched-verify-partition` checks it.

    `strategy=default` saves the values that eager execution would: every value
    that the backward uses, except for constants and sizes. If an operation of
    the function is tagged `must_recompute` or `prefer_recompute`, it does what
    `strategy=min-cut` does, and a remark names the operation.
    `strategy=min-cut` saves few bytes, and recomputes cheap operations: the
    saved values are a minimum cut between the values that may not be recomputed
    and the operands of the backward.

    Remarks count the operations by their operators, most frequent first: those
    of the forward, of the backward, and those that both have.

    `activation-memory-budget` is the fraction of the activation bytes of the
    minimum cut that may be saved, as PyTorch's option of that name.
    `memory-budget` is a limit in bytes, such as `68719476736`, `64GiB` or
    `640MB`, on the peak of the step, forward and backward together. Only one of
    the two can be given. The smaller the fraction, the more expensive operations
    are computed again; a knapsack solver chooses them by their cost and size. A
    smaller fraction never saves more. Within bytes, the partition is the one
    with the shortest step of those that `test-commsched-fit-memory` measures,
    whose times are those of the model; the bans and the knapsack solver are for
    the fraction. If no choice is within the budget, the smallest is taken, and a
    remark gives both figures.

    Operations tagged `must_save` are saved and those tagged `must_recompute`
    computed again; `prefer_save` yields to the budget only, `prefer_recompute`
    to what cannot be repeated only. Random operators are never computed again
    without their state: one that is tagged gets it as an operand. Operations
    that access written memory are never repeated. Values of one region of
    activation checkpointing (`commsched.recompute_region`) that a later region
    uses are saved.

    `collectives=save` repeats only collectives that are tagged for it;
    `recompute` gathers all parameters again in the backward; `cost` does so for
    every gather that the backward's computation hides, and for others if their
    exposed time is worth the bytes to the budget's knapsack.

    `commsched.saved_values` on the function, the list of the names of the
    values to save, replaces this decision; a remark says if that is over the
    budget.

    Ranks whose sizes or times differ may partition a joint function
    differently, and then start different collectives. To make them agree, run
    `propose=FILE` on every rank, carry the files between ranks, and give all of
    them to `proposals` on every rank in the same order: for each joint function
    that holds collectives the pass adds up what each rank's proposal takes with
    the sizes of every rank, and saves what the proposal saves that takes least
    where it takes most; of equal ones, the first. A function without
    collectives is split as without proposals, with a remark. It is an error if
    a file cannot be read, lacks a joint function or has one that the module
    does not, or if two files list different values.

    The names of the bans and the default of each are those of PyTorch's
    partitioner (torch/_functorch/config.py), except for `recompute-views`: a
    saved view keeps its whole storage.
  }];
  let options = [
    EnumOption<"strategy", "strategy", PartitionStrategy, "MinCut",
               "How to choose what the forward saves: default or min-cut">,
    Option<"activationMemoryBudget", "activation-memory-budget", "double",
           /*default=*/"1.0",
           "Fraction from 0 to 1 of the activation bytes of the minimum cut "
           "that may be saved">,
    Option<"memoryBudget", "memory-budget", "std::string", /*default=*/"",
           "Limit on the live bytes of the step, such as 68719476736, 64GiB or "
           "640MB">,
    EnumOption<"memoryBudgetSolver", "memory-budget-solver", KnapsackSolver,
               "DynamicProgramming",
               "Which knapsack solver divides the budget: dp or greedy">,
    EnumOption<"runtimeEstimator", "runtime-estimator", RuntimeEstimator,
               "Flops",
               "What computing an operation again is measured in: flops, model "
               "or testing; collectives=cost and memory-budget need model and "
               "take it">,
    CollectivesOption<"Save">,
    Option<"banRecomputeUsedFarApart", "ban-recompute-used-far-apart", "bool",
           /*default=*/"true",
           "Do not repeat what could be computed with one user of its operand, "
           "but not with another far behind">,
    Option<"banRecomputeLongFusibleChains", "ban-recompute-long-fusible-chains",
           "bool", /*default=*/"true",
           "Do not repeat the end of a chain of over a hundred fusible "
           "operations">,
    Option<"banRecomputeMaterializedBackward",
           "ban-recompute-materialized-backward", "bool", /*default=*/"true",
           "Do not repeat what the backward has to write to memory">,
    Option<"banRecomputeNotInAllowlist", "ban-recompute-not-in-allowlist",
           "bool", /*default=*/"true",
           "Only repeat operators that are known to be cheap">,
    Option<"banRecomputeReductions", "ban-recompute-reductions", "bool",
           /*default=*/"true",
           "Do not repeat what is less than a quarter of its operands">,
    Option<"recomputeViews", "recompute-views", "bool", /*default=*/"true",
           "Never save a view: save what it shows">,
    Option<"treatParametersAsFreeToSave", "treat-parameters-as-free-to-save",
           "bool", /*default=*/"true", "Parameters take no memory when saved">,
    Option<"maxDistFromBw", "max-dist-from-bw", "int32_t", /*default=*/"1000",
           "Do not repeat what is further from the backward, in operations">,
    Option<"aggressiveRecomputation", "aggressive-recomputation", "bool",
           /*default=*/"false",
           "Repeat all that may be repeated, but for reductions">,
    Option<"mimicAutogradOrder", "mimic-autograd-order", "bool",
           /*default=*/"true",
           "Put what the backward computes again right before its first use">,
    Option<"propose", "propose", "std::string", /*default=*/"",
           "File to write the decision to, for 'proposals', instead of "
           "splitting">,
    ListOption<"proposals", "proposals", "std::string",
               "Files that 'propose' wrote on all ranks, that of rank 0 first: "
               "save what one of them proposes">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::commsched::CommSchedDialect"];
}

def MimicAutogradOrder
    : Pass<"commsched-mimic-autograd-order", "::mlir::func::FuncOp"> {
  let summary = "compute again what a backward needs right before it needs it";
  let description = [{
    A backward that computes parts of its forward again has all of them in
    front, where their results pile up. The backward proper begins with the
    first operation that uses an argument with the role `tangent`. It and all
    operations behind it keep their order; what they need of those in front
    comes right before the first of them that needs it, as an autograd engine
    would run it.

    Operations in front that write memory (in-place updates, copies into
    parameters, resizes, unknown calls) stay in front, with all that they depend
    on. Operations without users come at the end. All dependences are kept;
    collectives of a group may change their order, the same way on all
    ranks, but sends, receives and `commsched.order` hold theirs. A collective
    that is computed again starts right before its wait: passes that raise
    starts come later.

    A function without operations that use a tangent stays as it is, and so does
    a function with `commsched.num_forward_outputs`, which contains a forward. A
    remark reports how many operations moved and the peak memory before and after.
    Linear in operations and dependences.
  }];
}

def VerifyPartition : Pass<"test-commsched-verify-partition", "::mlir::ModuleOp"> {
  let summary = "check that backwards take what their forwards save";
  let description = [{
    Looks at every two functions where the last results of a call of the one are
    the first operands of a call of the other, and only the other has arguments
    with the role `saved_activation` or `tangent`. It is an error, with a note at
    the other function,

    - if a result that the forward saves has another `commsched.name` than the
      argument of the backward,
    - if what is saved is a collective in flight,
    - if a saved value has another role than the argument of the forward that it
      is, or, being computed, another one than `"saved_activation"`,
    - if the forward saves a value in the memory of the host that the backward
      does not reload, or if a tangent is there, which no forward offloads,
    - if the forward offloads a value whose storage is written later.

    Nothing is changed.
  }];
}

def ActivationType : OptionEnum<"ActivationType",
    "The element types of activations that commsched-quantize-activations can "
    "convert.", [
      OptionValue<"BF16", 0, "bf16">, OptionValue<"F16", 1, "f16">,
      OptionValue<"F32", 2, "f32">, OptionValue<"F64", 3, "f64">,
    ]>;

def QuantType : OptionEnum<"QuantType",
    "The element types that it converts them to.", [
      OptionValue<"F8E5M2", 0, "f8E5M2", "5 bits of exponent, with infinities">,
      OptionValue<"F8E4M3FN", 1, "f8E4M3FN",
                  "4 bits of exponent, without infinities">,
    ]>;

def QuantizeActivations
    : Pass<"commsched-quantize-activations", "::mlir::ModuleOp"> {
  let summary = "save large activations in 8-bit floating-point types";
  let description = [{
    Converts tensors that the forward of a partition saves for the backward to
    `quant-type`, behind their last use in the forward, and back right before
    their first use in the backward. Other uses in the forward keep the original
    tensor. The pass converts saved tensors of the element types
    `allowed-dtypes` and of at least `size-in-mb`, for which 8 bits and a scale
    take less memory; but not

    - arguments of the forward that are no `input`, such as parameters, views of
      them, and, as that is still the parameter, what is only cast or gathered
      from a parameter,
    - with `exclude-primals`, inputs and views of them either,
    - tensors with a dynamic size, unless `quantize-dynamic-shape` says that
      they are large enough.

    With `use-scaling`, each row of the last dimension is multiplied with a scale
    of its own, largest / max(amax, 1e-12), so that it uses the range of the
    type, and divided by it in the backward. Scales are f32 (f64 for f64) of the
    shape `[…, 1]`; they are saved behind the tensors that were saved before,
    ahead of numbers at the end. An infinity or NaN makes all of its row NaN.
    Without scaling, numbers that are too large for the type become infinite, or
    NaN in f8E4M3FN, which has no infinity.

    A remark for each saved tensor reports whether it is converted, or the reason
    why not. A second run changes nothing. Calls that hand the one what the other
    saves are changed with them; that anything else refers to either function,
    whose type changes, or to what is saved is an error.

    ```mlir
    %h = linalg.exp ins(%x : tensor<64x4096xbf16>) …
    return %y, %h : tensor<64x4096xbf16>, tensor<64x4096xbf16>
    ```

    becomes, in the forward,

    ```mlir
    %h = linalg.exp ins(%x : tensor<64x4096xbf16>) …
    %amax = linalg.generic … ins(%h : tensor<64x4096xbf16>) -> tensor<64xf32>
    %scale = linalg.generic … ins(%amax : tensor<64xf32>) -> tensor<64x1xf32>
    %q = linalg.generic … ins(%h, %scale : …) -> tensor<64x4096xf8E5M2>
    return %y, %q, %scale
        : tensor<64x4096xbf16>, tensor<64x4096xf8E5M2>, tensor<64x1xf32>
    ```
  }];
  let options = [
    ListOption<"allowedDtypes", "allowed-dtypes",
               ActivationType.type,
               "Element types of what is converted, of bf16, f16, f32, f64 "
               "(default: bf16)">,
    Option<"sizeInMb", "size-in-mb", "double", /*default=*/"100",
           "Smallest size of what is converted, in units of 2^20 bytes">,
    EnumOption<"quantType", "quant-type", QuantType, "F8E5M2",
               "Type to convert to: f8E5M2 or f8E4M3FN">,
    Option<"useScaling", "use-scaling", "bool", /*default=*/"true",
           "Scale each row to the range of the type">,
    Option<"excludePrimals", "exclude-primals", "bool", /*default=*/"false",
           "Leave inputs of the forward as they are">,
    Option<"quantizeDynamicShape", "quantize-dynamic-shape", "bool",
           /*default=*/"false",
           "Take tensors with a dynamic size to be large enough">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::commsched::CommSchedDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_JOINT_TD
