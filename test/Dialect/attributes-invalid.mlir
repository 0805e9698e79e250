// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics -allow-unregistered-dialect

LET $times comm_ns = 0 : i64, compute_ns = 0 : i64, exposed_before_ns = 0 : i64, exposed_after_ns = 0 : i64

// Every discardable attribute, on operations of any dialect and on arguments.
commsched.group @gloo size(2) {commsched.backend = "gloo"}

func.func @attributes(
    %p: tensor<4xf32> {commsched.name = "w", commsched.role = "parameter"},
    %i: tensor<4xf32> {commsched.role = "input", commsched.freeable},
    %a: tensor<4xf32> {commsched.role = "saved_activation"},
    %t: tensor<4xf32> {commsched.role = "tangent"},
    %r: tensor<4xf32> {commsched.role = "rng_state"},
    %f: tensor<4xf32> {commsched.name = "fwd_seed_0", commsched.role = "fwd_rng_state"},
    %b: tensor<4xf32> {commsched.name = "s", commsched.role = "bwd_rng_state"},
    %u: memref<4xf32> {commsched.role = "unsharded_param"})
    -> (tensor<4xf32> {commsched.name = "out"})
    attributes {commsched.module = "",
                commsched.baseline_peak_bytes = 0 : i64,
                commsched.over_budget_bytes = 0 : i64,
                commsched.beside_bytes = -1 : i64,
                commsched.budget_remedies = ""} {
  %0 = arith.addf %p, %i {
      commsched.name = "add", commsched.module = "layers.3.attention",
      commsched.runtime_ns = 0 : i64, commsched.order = 0 : i64,
      commsched.fsdp = "gradient_reduce",
      commsched.partition = "forward", commsched.recompute = "must_save"}
      : tensor<4xf32>
  %1 = "foreign.op"(%0) {
      commsched.runtime_ns = 9223372036854775807 : i64,
      commsched.kernels = 2 : i64,
      commsched.partition = "backward", commsched.recompute = "prefer_save",
      commsched.compile_with = {pipeline = "canonicalize", region = "flex"},
      commsched.reorder_info = {
        comm_ns = 0 : i64, compute_ns = 0 : i64, exposed_before_ns = -1 : i64,
        exposed_after_ns = -2 : i64, moves = 0 : i64, grouped = 0 : i64,
        limiting_factor = "data", pass = "p"}}
      : (tensor<4xf32>) -> tensor<4xf32>
  %2 = commsched.compute "aten.sin"(%1) {
      commsched.partition = "must_be_forward",
      commsched.recompute = "prefer_recompute",
      commsched.compile_with = {pipeline = "cse"}}
      : (tensor<4xf32>) -> tensor<4xf32>
  %3 = arith.negf %2 {
      commsched.partition = "must_be_backward",
      commsched.recompute = "must_recompute"} : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

ROW

// -----

$error('commsched.group' op attribute 'commsched.backend' must be a string, not 3 : i64)
commsched.group @gloo size(2) {commsched.backend = 3 : i64}
$error('func.func' op unknown attribute 'commsched.reorder_info' on argument 0)
func.func private @reorder_info_on_argument(tensor<4xf32> {commsched.reorder_info = {}})
$error('func.func' op attribute 'commsched.baseline_peak_bytes' must not be negative, but is -1)
func.func private @baseline_negative() attributes {commsched.baseline_peak_bytes = -1 : i64}
$error('func.func' op attribute 'commsched.baseline_peak_bytes' must be an i64, not 1 : index)
func.func private @baseline_type() attributes {commsched.baseline_peak_bytes = 1 : index}
$error('func.func' op attribute 'commsched.beside_bytes' must be an i64, not 1 : index)
func.func private @beside_type() attributes {commsched.beside_bytes = 1 : index}
$error('func.func' op attribute 'commsched.role' is "weight", which is none of "parameter", "input", "saved_activation", "tangent", "rng_state", "fwd_rng_state", "bwd_rng_state", "unsharded_param")
func.func private @role_value(tensor<4xf32> {commsched.role = "weight"})
$error('func.func' op argument 1 has the role "fwd_rng_state", but its name "bwd_seed_0" is that of a "bwd_rng_state": change one of them)
func.func private @role_against_name(tensor<4xf32>, tensor<4xf32> {commsched.name = "bwd_seed_0", commsched.role = "fwd_rng_state"})
$error('func.func' op argument 0 has the role "bwd_rng_state", but its name "my_fwd_base_offset" is that of a "fwd_rng_state": change one of them)
func.func private @name_against_role(tensor<4xf32> {commsched.name = "my_fwd_base_offset", commsched.role = "bwd_rng_state"})
$error('func.func' op attribute 'commsched.role' must be a string, not 0 : i64)
func.func private @role_type(tensor<4xf32> {commsched.role = 0 : i64})
$error('func.func' op attribute 'commsched.freeable' of argument 1 must be a unit attribute, not true)
func.func private @freeable_type(tensor<4xf32>, tensor<4xf32> {commsched.freeable = true})
$error('func.func' op unknown attribute 'commsched.runtime_ns' on argument 0)
func.func private @unknown_on_argument(tensor<4xf32> {commsched.runtime_ns = 1 : i64})
$error('func.func' op unknown attribute 'commsched.role' on result 0)
func.func private @unknown_on_result() -> (tensor<4xf32> {commsched.role = "input"})
$error('builtin.module' op attribute 'commsched.separate_copies' must be a unit attribute on a module, not true)
module attributes {commsched.separate_copies = true} {}
$error('builtin.module' op attribute 'commsched.packed_launches' must be a unit attribute on a module, not 1 : i64)
module attributes {commsched.packed_launches = 1} {}
$error('func.func' op attribute 'commsched.assumed_fusion' must be a unit attribute, not 1 : i64)
func.func private @assumed() attributes {commsched.assumed_fusion = 1}
$error('func.func' op attribute 'commsched.separate_copies' must be a unit attribute on a module, not unit)
func.func private @separate_copies() attributes {commsched.separate_copies}

  func.func @size_hints(%x: tensor<?xf32> {commsched.size_hints = array<i64: 0>}) {
    %0:2 = commsched.compute "op"(%x) {commsched.size_hints = array<i64: 4, 2, 3>} : (tensor<?xf32>) -> (tensor<?x8x?xf32>, tensor<?xf32>)
    return
  }
  // What was lowered writes into memory, or makes single elements.
  func.func @lowered(%f: f32, %m: memref<?xf32>) {
    %0 = arith.addf %f, %f {commsched.size_hints = array<i64: 4>, commsched.fused = 0 : i64} : f32
    linalg.fill {commsched.size_hints = array<i64: 4>, commsched.fused = 7 : i64} ins(%f : f32) outs(%m : memref<?xf32>)
    return
  }
  // The sizes of a declaration's arguments.
  func.func private @declared(tensor<?xf32> {commsched.size_hints = array<i64: 4>})
$error('func.func' op attribute 'commsched.size_hints' of argument 0 has 1 entries for 0 dynamic dimensions)
func.func private @size_hints_argument(tensor<4xf32> {commsched.size_hints = array<i64: 4>})

// -----

commsched.group @g size(2)
func.func private @callee()
func.func @row(%x: tensor<4xf32>, %t_xf32: tensor<?xf32>) {
  ROW
  return
}

// -----

$error('foreign.op' op attribute 'commsched.kernels' must be at least 1, but is 0)
"foreign.op"(%x) {commsched.kernels = 0 : i64} : (tensor<4xf32>) -> ()
$error('foreign.op' op attribute 'commsched.kernels' must be an i64, not 1 : index)
"foreign.op"(%x) {commsched.kernels = 1 : index} : (tensor<4xf32>) -> ()
$error('func.call' op attribute 'commsched.pure' must be a unit attribute, not 1 : i64)
call @callee() {commsched.pure = 1 : i64} : () -> ()
$error('commsched.all_reduce' op attribute 'commsched.size_hints' of what is delivered has 2 entries for 1 dynamic dimensions)
%0 = commsched.all_reduce %t_xf32 on @g reduction(sum) {commsched.size_hints = array<i64: 4, 4>} : tensor<?xf32> -> !commsched.future<tensor<?xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<?xf32>>
$error('commsched.all_gather' op attribute 'commsched.implementation' must be the name of an implementation, not 4 : i64)
%0 = commsched.all_gather %x on @g dim(0) {commsched.implementation = 4 : i64} : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<8xf32>>
$error('arith.negf' op attribute 'commsched.backend' belongs on a commsched.group)
%0 = arith.negf %x {commsched.backend = "gloo"} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.name' must be a string, not 3 : i64)
%0 = arith.negf %x {commsched.name = 3 : i64} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.module' must be a string, not ["layers", "3"])
%0 = arith.negf %x {commsched.module = ["layers", "3"]} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.runtime_ns' must not be negative, but is -1)
%0 = arith.negf %x {commsched.runtime_ns = -1 : i64} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.runtime_ns' must be an i64, not 1 : i32)
%0 = arith.negf %x {commsched.runtime_ns = 1 : i32} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.order' must not be negative, but is -2)
%0 = arith.negf %x {commsched.order = -2 : i64} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.order' must be an i64, not "first")
%0 = arith.negf %x {commsched.order = "first"} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.fsdp' is "gather", which is none of "parameter_gather", "gradient_scatter", "gradient_reduce")
%0 = arith.negf %x {commsched.fsdp = "gather"} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.partition' is "sideways", which is none of "forward", "backward", "must_be_forward", "must_be_backward")
%0 = arith.negf %x {commsched.partition = "sideways"} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.partition' must be a string, not true)
%0 = arith.negf %x {commsched.partition = true} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.recompute' is "save", which is none of "must_save", "prefer_save", "prefer_recompute", "must_recompute")
%0 = arith.negf %x {commsched.recompute = "save"} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.compile_with' must be a dictionary, not "cse")
%0 = arith.negf %x {commsched.compile_with = "cse"} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.compile_with' has the unknown key 'passes'; it takes 'pipeline', 'region' and 'settings')
%0 = arith.negf %x {commsched.compile_with = {passes = "cse"}} : tensor<4xf32>
$error('arith.negf' op key 'region' of attribute 'commsched.compile_with' must be a string, not 1 : i64)
%0 = arith.negf %x {commsched.compile_with = {pipeline = "cse", region = 1 : i64}} : tensor<4xf32>
$error('arith.negf' op key 'settings' of attribute 'commsched.compile_with' must be a dictionary, not "max_autotune")
%0 = arith.negf %x {commsched.compile_with = {settings = "max_autotune"}} : tensor<4xf32>
$error('arith.negf' op key 'max_autotune' of the settings of attribute 'commsched.compile_with' must be a string, not true)
%0 = arith.negf %x {commsched.compile_with = {settings = {max_autotune = true}}} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.reorder_info' must be a dictionary, not "moved")
%0 = arith.negf %x {commsched.reorder_info = "moved"} : tensor<4xf32>
// The keys are looked at one after the other: a row has those before its own.
$error('arith.negf' op attribute 'commsched.reorder_info' lacks the key 'comm_ns')
%0 = arith.negf %x {commsched.reorder_info = {}} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.reorder_info' lacks the key 'moves')
%0 = arith.negf %x {commsched.reorder_info = {$times}} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.reorder_info' lacks the key 'limiting_factor')
%0 = arith.negf %x {commsched.reorder_info = {$times, moves = 0 : i64, grouped = 0 : i64}} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.reorder_info' lacks the key 'pass')
%0 = arith.negf %x {commsched.reorder_info = {$times, moves = 0 : i64, grouped = 0 : i64, limiting_factor = "p"}} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.reorder_info' has the unknown key 'step')
%0 = arith.negf %x {commsched.reorder_info = {$times, moves = 0 : i64, grouped = 0 : i64, limiting_factor = "p", pass = "p", step = 1 : i64}} : tensor<4xf32>
$error('arith.negf' op key 'comm_ns' of attribute 'commsched.reorder_info' must not be negative, but is -1)
%0 = arith.negf %x {commsched.reorder_info = {comm_ns = -1 : i64}} : tensor<4xf32>
$error('arith.negf' op key 'compute_ns' of attribute 'commsched.reorder_info' must not be negative, but is -1)
%0 = arith.negf %x {commsched.reorder_info = {comm_ns = 0 : i64, compute_ns = -1 : i64}} : tensor<4xf32>
$error('arith.negf' op key 'moves' of attribute 'commsched.reorder_info' must not be negative, but is -1)
%0 = arith.negf %x {commsched.reorder_info = {$times, moves = -1 : i64}} : tensor<4xf32>
$error('arith.negf' op key 'grouped' of attribute 'commsched.reorder_info' must not be negative, but is -1)
%0 = arith.negf %x {commsched.reorder_info = {$times, moves = 0 : i64, grouped = -1 : i64}} : tensor<4xf32>
$error('arith.negf' op key 'moves' of attribute 'commsched.reorder_info' must be an i64, not 1.500000e+00 : f64)
%0 = arith.negf %x {commsched.reorder_info = {$times, moves = 1.5}} : tensor<4xf32>
$error('arith.negf' op key 'limiting_factor' of attribute 'commsched.reorder_info' must be a string, not 1 : i64)
%0 = arith.negf %x {commsched.reorder_info = {$times, moves = 0 : i64, grouped = 0 : i64, limiting_factor = 1 : i64}} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.baseline_peak_bytes' belongs on a function)
%0 = arith.negf %x {commsched.baseline_peak_bytes = 1 : i64} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.over_budget_bytes' belongs on a function)
%0 = arith.negf %x {commsched.over_budget_bytes = 1 : i64} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.budget_remedies' belongs on a function)
%0 = arith.negf %x {commsched.budget_remedies = ""} : tensor<4xf32>
$error('arith.negf' op unknown attribute 'commsched.runtime')
%0 = arith.negf %x {commsched.runtime = 1 : i64} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.role' belongs on an argument, not on an operation)
%0 = arith.negf %x {commsched.role = "input"} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.freeable' belongs on an argument, not on an operation)
%0 = arith.negf %x {commsched.freeable} : tensor<4xf32>
$error('arith.negf' op attribute 'commsched.pure' belongs on a call)
%0 = arith.negf %x {commsched.pure} : tensor<4xf32>
$error('commsched.compute' op attribute 'commsched.size_hints' of the results must be an array of i64, not 4 : i64)
%0 = commsched.compute "op"(%t_xf32) {commsched.size_hints = 4 : i64} : (tensor<?xf32>) -> tensor<?xf32>
$error('commsched.compute' op attribute 'commsched.size_hints' of the results must not be negative, but has -1)
%0 = commsched.compute "op"(%t_xf32) {commsched.size_hints = array<i64: -1>} : (tensor<?xf32>) -> tensor<?xf32>
$error('commsched.compute' op attribute 'commsched.size_hints' of the results has 1 entries for 2 dynamic dimensions)
%0 = commsched.compute "op"(%t_xf32) {commsched.size_hints = array<i64: 4>} : (tensor<?xf32>) -> tensor<?x?xf32>
$error('arith.negf' op attribute 'commsched.implementation' belongs on a collective that starts communication)
%0 = arith.negf %x {commsched.implementation = "nccl"} : tensor<4xf32>
