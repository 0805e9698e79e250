// What StableHLO has no form for.

// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics --convert-commsched-to-stablehlo

commsched.group @g size(2)
func.func @row(%x: tensor<4xf32>, %i: tensor<4xi32>, %any: tensor<?xf32>, %m: tensor<4x4xf32>,
               %s: tensor<2xi64>, %l: tensor<2xi32>, %b: tensor<9x4xf32>, %p: memref<4xf32>) {
  ROW
  return
}

// -----

$error('commsched.send' op has no form in StableHLO: StableHLO's send and recv are ordered by tokens, which are not known here)
%f = commsched.send %x on @g to(1) : tensor<4xf32> -> !commsched.future
commsched.wait %f : !commsched.future
$error('commsched.barrier' op has no form in StableHLO: programs of StableHLO are ordered by their data only)
commsched.barrier on @g
$error('commsched.all_to_all' op has no form in StableHLO: StableHLO's all_to_all has equal parts only)
$run(%y = all_to_all %i on @g split_dim(0) concat_dim(0) input_splits([1, 3]) output_splits([2, 3]) : tensor<4xi32> -> tensor<5xi32>)
$error('commsched.all_to_all' op has no form in StableHLO: StableHLO's all_to_all has equal parts only)
$run(%y = all_to_all %i on @g split_dim(0) concat_dim(0) input_splits(%s : tensor<2xi64>) output_splits(%s : tensor<2xi64>) : tensor<4xi32> -> tensor<?xi32>)
$error('commsched.rank' op has no form in StableHLO: StableHLO knows a device's number, but not its place in a group)
%me = commsched.rank on @g : index
$error('commsched.ragged_all_to_all' op has no form in StableHLO: it is a custom call of XLA, whose configuration is not known)
$run(%y = ragged_all_to_all %m on @g send(%l, %l) at(%l) receive(%l) into %b : tensor<4x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32> into tensor<9x4xf32> -> tensor<9x4xf32>)
$error('commsched.all_reduce' op has no form in StableHLO: an average of tensors of dynamic shape is not divided here)
$run(%y = all_reduce %any on @g reduction(avg) : tensor<?xf32> -> tensor<?xf32>)
$error('commsched.chunk_cat' op has no form in StableHLO: 'tensor<?xf32>' has a dynamic size)
%y = commsched.chunk_cat %any on @g : tensor<?xf32> -> tensor<?xf32>
$error('commsched.all_gather' op needs 'all_gather_dim' of 0 : i64, but 'stablehlo.properties' has 1 : i64)
$run(%y = all_gather %m on @g dim(0) {stablehlo.properties = {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : tensor<4x4xf32> -> tensor<8x4xf32>)
$error('commsched.all_gather' op needs 'all_gather_dim' of 0 : i64, but 'stablehlo.properties' has none)
$run(%y = all_gather %m on @g dim(0) {stablehlo.properties = {}} : tensor<4x4xf32> -> tensor<8x4xf32>)
$error('commsched.compute' op has no form in StableHLO: what the operator computes is not known)
%y = commsched.compute "mine"(%x) : (tensor<4xf32>) -> tensor<4xf32>
$error('commsched.fsdp_copy' op has no form in StableHLO: it works on memory, and programs of StableHLO on values)
commsched.fsdp_copy %x into %p : tensor<4xf32>, memref<4xf32>

// -----

module attributes {$devices} {
  // expected-note @+1 {{the group is declared here}}
  commsched.group @g $group
  func.func @row(%x: tensor<4xf32>) {
    ROW
    $run(%y = all_reduce %x on @g reduction(sum) : tensor<4xf32> -> tensor<4xf32>)
    return
  }
}

// -----

$error('commsched.all_reduce' op cannot list the members of its group: the module has neither 'mhlo.num_replicas' nor 'mhlo.num_partitions')
LET $devices
LET $group size(2)
$error('commsched.all_reduce' op cannot list the members of its group: the module's 6 device(s) are no multiple of 2 x 2 ranks)
LET $devices mhlo.num_replicas = 6 : i32
LET $group size(2) stride(2)
$error(the module's 6 device(s) are no multiple of 4294967296 x 4294967296 ranks)
LET $devices mhlo.num_replicas = 6 : i32
LET $group size(4294967296) stride(4294967296)
$error(the module's 4611686014132420609 devices are more than 16777216)
LET $devices mhlo.num_replicas = 2147483647 : i32, mhlo.num_partitions = 2147483647 : i32
LET $group size(1)

// -----

ROW

// -----

$error('mhlo.num_replicas' must be a number from 1 to 2147483647, not 0 : i32)
module attributes {mhlo.num_replicas = 0 : i32} {}

module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 2 : i32} {
  commsched.group @g size(4)
  func.func @both(%x: tensor<4xf32>) {
    // expected-error @+1 {{'commsched.permute' op has no form in StableHLO: the module has 2 replicas of 2 partitions, and this collective cannot be among both}}
    $run(%y = permute %x on @g pairs(dense<[[0, 3]]> : tensor<1x2xi64>) : tensor<4xf32> -> tensor<4xf32>)
    return
  }
}

module attributes {mhlo.num_replicas = 2 : i32} {
  commsched.group @g size(2)
  func.func @buffer(%x: tensor<4xf32>) -> tensor<8xf32> {
    // expected-error @+1 {{'commsched.all_gather_copy_in' op has no form in StableHLO: its buffer is used for more than the collective that fills it}}
    %s, %b = commsched.all_gather_copy_in %x on @g : tensor<4xf32> -> tensor<4xf32>, tensor<8xf32>
    // expected-note @+1 {{the other user}}
    return %b : tensor<8xf32>
  }
}

module attributes {mhlo.num_replicas = 2 : i32} {
  commsched.group @g size(2)
  func.func @undefined() {
    // expected-error @+1 {{'tensor.empty' op has no form in StableHLO: an undefined value is used}}
    %x = tensor.empty() : tensor<4xf32>
    $run(%y = all_reduce %x on @g reduction(sum) : tensor<4xf32> -> tensor<4xf32>)
    return
  }
}

// expected-error @+1 {{'func.func' op is the body of a manual computation and cannot be put back: it is called 2 times}}
func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> attributes {commsched.per_device} {
  return %x : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{a call}}
  %y = call @body(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @+1 {{a call}}
  %z = call @body(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// expected-error @+1 {{'func.func' op is the body of a manual computation and cannot be put back: it calls itself}}
func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> attributes {commsched.per_device} {
  %y = call @body(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
