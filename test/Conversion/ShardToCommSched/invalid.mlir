// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics --convert-shard-to-commsched

// expected-note@below {{grid @grid is declared here}}
shard.grid @grid(shape = 2x?)

func.func @dynamic_grid(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'shard.all_reduce' op cannot be converted: axis 1 of @grid has a dynamic size, and groups have constant members}}
  %0 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

ROW

// -----

// expected-note@below {{grid @grid is declared here}}
shard.grid @grid(shape = 2x0)
func.func @empty_grid(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'shard.all_reduce' op cannot be converted: axis 1 of @grid has size 0, so there are no devices}}
  %0 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// expected-note@below {{grid @grid is declared here}}
shard.grid @grid(shape = 65536x65536x65536x65536)
func.func @huge_grid(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'shard.all_reduce' op cannot be converted: @grid has more devices than ranks can be numbered, 2147483647}}
  %0 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-note@below {{grid @grid is declared here}}
shard.grid @grid(shape = 2)
func.func @row(%x: tensor<8xf32>, %y: tensor<3xf32>) {
  ROW
  return
}

// -----

$error('shard.broadcast' op has the coordinate -1 in 'root', which is not in [0, 2))
%0 = shard.broadcast %x on @grid grid_axes = [0] root = [-1] : (tensor<8xf32>) -> tensor<8xf32>
$error('shard.all_to_all' op cuts dimension 0 of 'tensor<3xf32>' into 2 parts, which does not divide 3)
%0 = shard.all_to_all %y on @grid grid_axes = [0] split_axis = 0 concat_axis = 0 : tensor<3xf32> -> tensor<3xf32>

// -----

// expected-note@below {{grid @grid is declared here}}
shard.grid @grid(shape = 2x2)
ROW

// -----

func.func @halo(%x: tensor<4xf32>, %m: memref<4xf32>, %h: i64) {
  // expected-error@below {{'shard.update_halo' op cannot be converted: a halo size is known at run time only, and must be constant}}
  %0 = shard.update_halo %x on @grid split_axes = [[0]] halo_sizes = [1, %h] : tensor<4xf32>
  // expected-error@below {{'shard.update_halo' op cannot be converted: 'memref<4xf32>' is a buffer}}
  %1 = shard.update_halo %m on @grid split_axes = [[0]] halo_sizes = [1, 1] : memref<4xf32>
  // expected-error@below {{'shard.update_halo' op has split_axes for 2 dimensions of 'tensor<4xf32>'}}
  %2 = shard.update_halo %x on @grid split_axes = [[0], [1]]
      halo_sizes = [1, 1, 1, 1] : tensor<4xf32>
  // expected-error@below {{'shard.update_halo' op has 1 halo sizes for 1 split dimensions, which have two each}}
  %3 = shard.update_halo %x on @grid split_axes = [[0]] halo_sizes = [1] : tensor<4xf32>
  // expected-error@below {{'shard.update_halo' op has a negative halo in dimension 0}}
  %4 = shard.update_halo %x on @grid split_axes = [[0]] halo_sizes = [1, -1] : tensor<4xf32>
  // expected-error@below {{'shard.update_halo' op has halos of 3 and 2 elements in dimension 0 of size 4}}
  %5 = shard.update_halo %x on @grid split_axes = [[0]] halo_sizes = [3, 2] : tensor<4xf32>
  // expected-error@below {{'shard.update_halo' op has a halo of 2 elements in dimension 0, but a neighbour has only 1 of its own to send}}
  %6 = shard.update_halo %x on @grid split_axes = [[0]] halo_sizes = [2, 1] : tensor<4xf32>
  // expected-error@below {{'shard.update_halo' op names axis 2, but @grid has 2 axes}}
  %7 = shard.update_halo %x on @grid split_axes = [[2]] halo_sizes = [1, 1] : tensor<4xf32>
  // expected-error@below {{'shard.update_halo' op names axis 1 twice}}
  %8 = shard.update_halo %x on @grid split_axes = [[1, 1]] halo_sizes = [1, 1] : tensor<4xf32>
  return
}

func.func @neighbours(%i: index) {
  // expected-error@below {{'shard.neighbors_linear_indices' op has 1 coordinates of a device of @grid, which has 2 axes}}
  %0:2 = shard.neighbors_linear_indices on @grid[%i] split_axes = [0] : index, index
  // expected-error@below {{'shard.neighbors_linear_indices' op cannot be converted: it has 2 split axes, and neighbours are those along one}}
  %1:2 = shard.neighbors_linear_indices on @grid[%i, %i] split_axes = [0, 1] : index, index
  return
}

// -----

shard.grid @grid(shape = 2)

func.func @row(%x: tensor<8xf32>, %y: tensor<3xf32>, %r: index, %any: tensor<?xf32>, %m: memref<8xf32>,
               %i: tensor<8xi32>, %c: tensor<8xcomplex<f32>>, %u: tensor<8xui8>) {
  ROW
  return
}

// -----

  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  // expected-error@below {{'shard.shard' op annotates a program that is not partitioned; run --pass-pipeline='builtin.module(func.func(sharding-propagation,shard-partition),convert-shard-to-commsched)' instead}}
  %0 = shard.shard %x to %s : tensor<8xf32>

$error('shard.all_to_all' op has split_axis 1, which is no dimension of 'tensor<3xf32>')
%0 = shard.all_to_all %y on @grid grid_axes = [0] split_axis = 1 concat_axis = 1 : tensor<3xf32> -> tensor<3xf32>
$error('shard.all_gather' op cannot be converted: 'tensor<?xf32>' has a dynamic size)
%0 = shard.all_gather %any on @grid grid_axes = [0] gather_axis = 0 : tensor<?xf32> -> tensor<?xf32>
$error('shard.all_reduce' op cannot be converted: 'memref<8xf32>' is a buffer, and commsched's collectives work on tensors; convert before bufferization)
%0 = shard.all_reduce %m on @grid grid_axes = [0] : memref<8xf32> -> memref<8xf32>
$error('shard.all_reduce' op cannot be converted: arith has no cast from 'complex<f32>' to 'f64', the type in which to accumulate)
%0 = shard.all_reduce %c on @grid grid_axes = [0] : tensor<8xcomplex<f32>> -> tensor<8xf64>
// Casts of arith have no integers with a sign in their type.
$error('shard.all_reduce' op cannot be converted: arith has no cast from 'ui8' to 'ui32', the type in which to accumulate)
%0 = shard.all_reduce %u on @grid grid_axes = [0] : tensor<8xui8> -> tensor<8xui32>
// What a type can be combined by, the start says.
$error('commsched.all_reduce' op reduction(avg))
%0 = shard.all_reduce %i on @grid grid_axes = [0] reduction = average : tensor<8xi32> -> tensor<8xi32>
$error('shard.all_reduce' op cannot be converted: a generic reduction does not say how elements are combined)
%0 = shard.all_reduce %i on @grid grid_axes = [0] reduction = generic : tensor<8xi32> -> tensor<8xi32>

  // expected-error@below {{'shard.get_sharding' op has no counterpart in commsched}}
  %s = shard.get_sharding %x : tensor<8xf32> -> !shard.sharding

  // expected-error@below {{'shard.broadcast' op cannot be converted: 'root' is known at run time only, and must be constant}}
  %0 = shard.broadcast %x on @grid grid_axes = [0] root = [%r]
      : (tensor<8xf32>, index) -> tensor<8xf32>
  // expected-error@below {{'shard.gather' op cannot be converted: 'root' is known at run time only, and must be constant}}
  %1 = shard.gather %0 on @grid grid_axes = [0] gather_axis = 0 root = [%r]
      : (tensor<8xf32>, index) -> tensor<16xf32>
  // expected-error@below {{'shard.scatter' op cannot be converted: 'root' is known at run time only, and must be constant}}
  %2 = shard.scatter %1 on @grid grid_axes = [0] scatter_axis = 0 root = [%r]
      : (tensor<16xf32>, index) -> tensor<8xf32>
  // expected-error@below {{'shard.reduce' op cannot be converted: 'root' is known at run time only, and must be constant}}
  %3 = shard.reduce %2 on @grid grid_axes = [0] root = [%r]
      : (tensor<8xf32>, index) -> tensor<8xf32>
  // expected-error@below {{'shard.send' op cannot be converted: 'destination' is known at run time only, and must be constant}}
  %4 = shard.send %3 on @grid grid_axes = [0] destination = [%r]
      : (tensor<8xf32>, index) -> tensor<8xf32>
  // expected-error@below {{'shard.recv' op cannot be converted: 'source' is known at run time only, and must be constant}}
  %5 = shard.recv %4 on @grid grid_axes = [0] source = [%r]
      : (tensor<8xf32>, index) -> tensor<8xf32>

  // expected-error@below {{'shard.recv' op cannot be converted: it receives from any device, and 'commsched.recv' from one that it names}}
  %0 = shard.recv %x on @grid grid_axes = [0] : (tensor<8xf32>) -> tensor<8xf32>
