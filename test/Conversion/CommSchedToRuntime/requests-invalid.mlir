// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics \
// RUN:   --test-convert-commsched-to-requests

commsched.group @g size(2)
func.func @row(%any: tensor<?xf32>, %odd: tensor<8xi24>, %x: tensor<8xf32>, %l: tensor<2xi32>,
               %m: tensor<8x2xf32>, %s: tensor<2xi64>, %row: tensor<8x?xf32>) {
  ROW
  return
}

// -----

$error(cannot be lowered to the runtime: 'tensor<?xf32>' has no static shape)
$run(%r = all_reduce %any on @g reduction(sum) : tensor<?xf32> -> tensor<?xf32>)
$error(cannot be lowered to the runtime: elements of 'tensor<8xi24>' are not a power of two of bytes)
$run(%r = broadcast %odd on @g root(0) : tensor<8xi24> -> tensor<8xi24>)
$error(cannot be lowered to the runtime: it writes rows where other ranks say, and the runtime writes them one after the other)
$run(%r = ragged_all_to_all %x on @g send(%l, %l) at(%l) receive(%l) into %x : tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32> into tensor<8xf32> -> tensor<8xf32>)
$error(cannot be lowered to the runtime: 'tensor<?xf32>' has no static shape)
%r = commsched.compute "slice"(%any) : (tensor<?xf32>) -> tensor<4xf32>
$error(cannot be emulated: yields 'vector<4xf32>')
%r = commsched.compute "load"(%x) : (tensor<8xf32>) -> vector<4xf32>
$error(cannot be lowered to the runtime: 'tensor<?x2xf32>' is divided evenly, but has a dynamic size)
$run(%r = all_to_all %m on @g split_dim(0) concat_dim(0) input_splits(%s : tensor<2xi64>) : tensor<8x2xf32> -> tensor<?x2xf32>)
$error(cannot be lowered to the runtime: 'tensor<?xf32>' has no static shape)
$run(%r = all_to_all %row on @g split_dim(0) concat_dim(0) input_splits(%s : tensor<2xi64>) : tensor<8x?xf32> -> tensor<8x?xf32>)

// -----

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      "nccl-4" = {method = "nccl", channels = 4 : i64}}>>} {
  commsched.group @g size(4)
  func.func @not_listed(%x: tensor<4xf32>) {
    $error(names the implementation 'nccl-8', but the target lists nccl, nccl-4)
    $run(%r = all_gather %x on @g dim(0) {commsched.implementation = "nccl-8"} : tensor<4xf32> -> tensor<16xf32>)
    return
  }
}

// -----

$error('func.func' op has a value of type 'tensor<?x4611686018427387904xf32>', which is more than 2^63 - 1 bytes)
func.func @too_large(%x: tensor<?x4611686018427387904xf32>) {
  return
}
