//===- CommSchedDialect.td - The dialect and its types -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDDIALECT_TD
#define COMMSCHED_DIALECT_COMMSCHEDDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"

def CommSched_Dialect : Dialect {
  let name = "commsched";
  let cppNamespace = "::mlir::commsched";
  let summary = "communication of distributed programs, open to scheduling";
  let description = [{
    A program states where each collective starts and where its result is
    needed. A start returns a `!commsched.future`; `commsched.wait` consumes the
    future and yields the values. The computation between the two can hide the
    communication.

    Every start and wait has a write effect on the communication resource,
    tagged with the symbol of its group. The effect keeps generic passes from
    reordering them; passes that know the dialect see one in-order stream for
    each group. Transfers between the device and its host have the same effect,
    tagged with their stream instead of a group.

    The constraints that the verifiers enforce are numbered `C1`, `C2`, … for
    each operation; error messages end with the number, and the tests name it.

    Discardable attributes, allowed on operations of every dialect:

    | attribute | type | meaning |
    |---|---|---|
    | `commsched.name` | string | stable name of the operation |
    | `commsched.origin` | array of strings and of arrays of strings | what a pass made the operation of, an element for each that was merged or split: the name that it had, or an array of names if several became one, the first of which it was (an equal gather that is left out, a cast that a copy-in does). Names alone, such as `a+b`, are for people. From a frontend: the node that the operation is a part of |
    | `commsched.module` | string | path of the module that it came from |
    | `commsched.runtime_ns` | i64, not negative | pins the operation's cost |
    | `commsched.profile` | dictionary | on a module: the measured profile, with the keys of its file ([cost-model.md](../guide/cost-model.md)) |
    | `commsched.measured_ns` | i64, not negative, or on a collective a dictionary of them by implementation | what the profile has measured of the operation |
    | `commsched.graph`, `commsched.graph_name` | string | the graph and the name in it by which rows of a profile name the operation, where they are not those of its function and its own |
    | `commsched.order` | i64, not negative | place in a fixed order of collectives: within a block they start in ascending order |
    | `commsched.implementation` | string | on a collective that starts communication: the implementation that carries it out, one of those that the target lists; without it, NCCL does ([implementations.md](../guide/implementations.md)) |
    | `commsched.partition` | `"forward"`, `"backward"`, `"must_be_forward"`, `"must_be_backward"` | side of the joint graph |
    | `commsched.recompute` | `"must_save"`, `"prefer_save"`, `"prefer_recompute"`, `"must_recompute"` | recomputation policy |
    | `commsched.recompute_region` | i64, not negative | region of activation checkpointing that the policy belongs to |
    | `commsched.compile_with` | dictionary of the strings `pipeline` and `region` and the dictionary of strings `settings`, none of them needed | pass pipeline for the operation's region, and what a frontend asks of other compilers, which is reported and otherwise ignored |
    | `commsched.fused` | `i64`, unit on operations without operands | what reads the results computes them on the way: they take no storage, and the operand of that number stays alive until then |
    | `commsched.assumed_fusion` | unit | `commsched-assume-fusion` has written what the operation takes, and whether it is fused |
    | `commsched.separate_copies` | unit | on a module: what makes its buckets has no kernel that copies several tensors out of a buffer, or converts what it packs ([bucketing.md](../guide/bucketing.md)) |
    | `commsched.packed_launches` | unit | on a module: what makes its buckets has no launch of several tensors, but packs them, and a kernel of its own cuts each out of what is delivered ([bucketing.md](../guide/bucketing.md)) |
    | `commsched.kernels` | i64, at least 1 | on an operation that copies: by how many kernels it is carried out, each of which is launched |
    | `commsched.chunk` | dictionary of the strings `of` and `part`, and the i64 `count`, `index`, `axis` and `blocks` | the operation is chunk `index` of `count` of the operation `of`, or cuts such chunks out of a value or joins them (`part`) |
    | `commsched.pure` | unit | on a call: the callee only computes results, in storage of their own |
    | `commsched.callee` | dictionary of the array of i64 `price`, and perhaps the string `effects`, the i64 `inner_bytes` and the array of i64 `aliases` | on a call, while passes run on its function: what the callee takes, does and holds; [model.md](../guide/model.md) |
    | `commsched.backend` | string | on a `commsched.group`: the library that transports its messages, such as `"nccl"`, `"gloo"` or `"mpi"` |
    | `commsched.size_hints` | array of i64, none negative, one for each dynamic dimension | sizes of the results, in order, or of what a collective delivers, to be used for costs and memory; see the attribute of arguments |
    | `commsched.reorder_info` | dictionary of the i64 `comm_ns`, `compute_ns`, `exposed_before_ns`, `exposed_after_ns`, `moves` and `grouped`, the strings `limiting_factor` and `pass`, and perhaps the strings `moves_info` and `overlap_info` | on a start or wait: the report of a reordering pass. `compute_ns` of computation overlap with the `comm_ns` of the collective; the `exposed_*_ns` are their difference (negative: more computation than needed); the operation moved past `moves` operations, and `grouped` operations moved with it; `moves_info` lists what it moved past, `overlap_info` the computation that overlaps, 32 operations of each at most; only `exposed_*_ns` may be negative |
    | `commsched.fsdp` | `"parameter_gather"`, `"gradient_scatter"`, `"gradient_reduce"` | the purpose of a collective on sharded parameters |
    | `commsched.baseline_peak_bytes` | i64, not negative | on a function: its peak memory before the passes |
    | `commsched.over_budget_bytes` | i64, not negative | on a function: by how much the last `commsched-schedule` missed its budget |
    | `commsched.beside_bytes` | i64 | on a function: the most bytes that its callers hold beside it, which are not the function's of a budget in bytes; negative where it counts more than they hold |
    | `commsched.per_device` | unit | on a function: the program of one device, whose callers have the shapes of all devices; what they hold of one is not known, so a budget in bytes is the function's alone |
    | `commsched.budget_remedies` | string | on a function: with which options a joint function that it called would fit the budget, until the pipeline has checked that of the function |
    | `commsched.num_forward_outputs` | i64, at most the results | on a joint function: the number of its leading results that belong to the forward |
    | `commsched.saved_values` | array of strings | on a joint function: the names of the values that its forward must save |
    | `commsched.steady_state` | dictionary of the symbol `step`, the string `role` (`"prologue"`, `"steady"`, `"epilogue"`) and the i64 `depth`, at least 2 | on a function: it is that part of the steady state of `step`, of which `depth` repetitions are in flight. Its leading arguments and results are the state, as many as the prologue has results |
    | `commsched.pipelined` | unit | on a loop: its iterations overlap, so that it may carry futures |

    and on arguments:

    | attribute | type | meaning |
    |---|---|---|
    | `commsched.role` | `"parameter"`, `"input"`, `"saved_activation"`, `"tangent"`, `"rng_state"`, `"fwd_rng_state"`, `"bwd_rng_state"`, `"unsharded_param"` | what the argument holds |
    | `commsched.carried` | i64, the number of a result | the result that the next repetition of the function takes; the storage may be freed after the last use |
    | `commsched.freeable` | unit | the storage may be freed after the last use; implied by the role `"saved_activation"` and by `commsched.carried` |
    | `commsched.size_hints` | array of i64, none negative, one for each dynamic dimension | sizes to be used for costs and memory |
    | `commsched.step_argument` | i64, not negative | behind the state of a function with `commsched.steady_state`: the argument of the step that it is |
    | `commsched.repetition` | i64, not negative | of which repetition, counted from the first that the function takes; without it, the argument is the same in all |

    and on results behind the state of a function with `commsched.steady_state`:

    | attribute | type | meaning |
    |---|---|---|
    | `commsched.step_result` | i64, not negative | the result of the step that it is |
    | `commsched.repetition` | i64, not negative | of which repetition, counted from the first that the function completes |

    The state of a random number generator, or a part of it such as a seed, is
    anybody's (`"rng_state"`), the forward's (`"fwd_rng_state"`) or the backward's
    (`"bwd_rng_state"`); in a joint function the last is no argument of the
    forward. A `"rng_state"` is the backward's if its `commsched.name` has
    `bwd_seed`, `bwd_base_offset` or `bwd_rng_state` in it, as the arguments of
    AOT autograd's graphs do, and the forward's if it has the same with `fwd_`. A
    name that contradicts the role is an error.

    A training step is a function, which calls the functions that it consists of,
    such as forward, backward and optimizer. It repeats: `commsched.carried` on
    an argument says which result the next repetition takes there. The first
    repetition takes what the caller passes. Both types are equal, and no two
    arguments take one result. An argument that no result feeds is the same in
    every repetition, unless it has the role `"input"`: then every repetition has
    its own.

    A value of dynamic size without hints has no cost: passes that need one leave
    the block as it is, with a remark. A wait has the hints of its start unless
    it has its own, and an argument that a loop carries those of the loop's
    result. Hints do not change what a program means: nothing that depends on a
    shape, such as a packed buffer, is built from them.
  }];
  // Canonicalizations create constants. Functions verify what a step carries.
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// What was read from `attribute`, an attribute of this context, by the
    /// first caller. Several threads may call it; null is not kept.
    std::shared_ptr<const void>
    getOrRead(Attribute attribute,
              function_ref<std::shared_ptr<const void>()> read);

  private:
    std::mutex readMutex;
    DenseMap<Attribute, std::shared_ptr<const void>> readAttributes;
  }];
}

def CommSched_Future : TypeDef<CommSched_Dialect, "Future"> {
  let mnemonic = "future";
  let summary = "values that a collective is still transferring";
  let description = [{
    The result of a start. It holds the types that `commsched.wait` delivers;
    a send delivers nothing and its future is plain `!commsched.future`.

    Constraints:
    * (C1) every delivered type is a ranked tensor.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "(`<` $types^ `>`)?";
  let genVerifyDecl = 1;
}

class CommSched_Attr<string name, string attrMnemonic>
    : AttrDef<CommSched_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def CommSched_Host : CommSched_Attr<"Host", "host"> {
  let summary = "pinned memory of the host";
  let description = [{
    As the encoding of a tensor, and as the memory space of a memref: the values
    are in pinned memory of the host, and take no memory of the device.

    A host tensor is the result of waiting for `commsched.offload`, or an
    argument. Only `commsched.reload`, calls and terminators use it.

    Example:

    ```mlir
    tensor<4x8xbf16, #commsched.host>
    ```
  }];
}

def CommSched_Stream : CommSched_Attr<"Stream", "stream"> {
  let summary = "a stream of copies between the device and its host";
  let description = [{
    Takes the place of a process group's symbol where a transfer to the host
    (`"d2h"`) or from it (`"h2d"`) names its in-order stream. Each device has
    one stream for each direction.

    Constraints:
    * (C1) the name is `"d2h"` or `"h2d"`.
  }];
  let parameters = (ins StringRefParameter<"the name of the stream">:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
}

#endif // COMMSCHED_DIALECT_COMMSCHEDDIALECT_TD
