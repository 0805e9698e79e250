// Where the module does not say how many devices there are, the option does, and it
// does not contradict the module.

// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: commsched-opt unknown.mlir --convert-stablehlo-to-commsched="strict devices=8" > %t.out
// RUN: commsched-opt mixed.mlir --convert-stablehlo-to-commsched=devices=8 >> %t.out
// RUN: FileCheck %s < %t.out
// RUN: %errors unknown.txt commsched-opt unknown.mlir --convert-stablehlo-to-commsched={} -o out.mlir
// RUN: %errors both.txt commsched-opt both.mlir --convert-stablehlo-to-commsched={} -o out.mlir
// RUN: %errors one.txt commsched-opt one.mlir --convert-stablehlo-to-commsched={} -o out.mlir

// CHECK: commsched.group @{{.*}} size(8) ranks(dense<{{\[\[}}0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>)
// CHECK: commsched.all_reduce
// CHECK: commsched.group @[[GROUP:.*]] size(8)
// CHECK: commsched.permute {{.*}} on @[[GROUP]] pairs
// CHECK: commsched.permute {{.*}} on @[[GROUP]] pairs

//--- unknown.mlir
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- unknown.txt
strict
lenient=false
  error: 'stablehlo.all_reduce' op is not converted: its empty 'replica_groups' are all devices, whose number is not known: neither the module's attributes 'mhlo.num_replicas' and 'mhlo.num_partitions' nor the option 'devices' says it; without 'strict' it blocks in its place
devices=-1
  error: the option 'devices' is -1, but there are from 1 to 16777216 devices
ranks-per-node=0
  error: the option 'ranks-per-node' is 0, and a node has at least one rank

//--- both.mlir
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 4 : i32} {
}

//--- both.txt
devices=16
  error: the option 'devices' is 16, but the module has 4 replicas ('mhlo.num_replicas') of 2 partitions ('mhlo.num_partitions')

//--- one.mlir
module attributes {mhlo.num_replicas = 4 : i32} {
}

//--- one.txt
devices=6
  error: the option 'devices' is 6, but the module has 4 replicas ('mhlo.num_replicas')

//--- mixed.mlir
// Replicas and partitions are the same devices.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
