// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --split-input-file --convert-commsched-to-runtime | FileCheck %s

// The implementation of a collective becomes one of the request, and a group of
// its own in the description. What names none is on the plain group.

// CHECK: llvm.mlir.global external constant @commsched_program("{\22groups\22:[
// CHECK-SAME: {\22name\22:\22dp\22,\22size\22:4,\22stride\22:1},
// CHECK-SAME: {\22name\22:\22tp\22,\22size\22:2,\22stride\22:1},
// CHECK-SAME: {\22implementation\22:{\22channels\22:4,\22method\22:\22nccl\22,\22name\22:\22nccl-4\22},\22name\22:\22dp\22,\22size\22:4,\22stride\22:1},
// CHECK-SAME: {\22implementation\22:{\22method\22:\22copy-engine\22,\22name\22:\22copy-engine\22},\22name\22:\22dp\22,\22size\22:4,\22stride\22:1},
// CHECK-SAME: {\22implementation\22:{\22channels\22:4,\22method\22:\22nccl\22,\22name\22:\22nccl-4\22},\22name\22:\22tp\22,\22size\22:2,\22stride\22:1}],
// CHECK-SAME: {\22group\22:2,\22kind\22:\22all_gather\22,{{[^}]*}}\22name\22:\22few\22
// CHECK-SAME: {\22group\22:3,\22kind\22:\22all_gather\22,{{[^}]*}}\22name\22:\22copied\22
// CHECK-SAME: {\22group\22:0,\22kind\22:\22all_gather\22,{{[^}]*}}\22name\22:\22usual\22
// CHECK-SAME: {\22group\22:0,\22kind\22:\22all_gather\22,{{[^}]*}}\22name\22:\22plain\22
// CHECK-SAME: {\22group\22:2,\22kind\22:\22all_gather\22,{{[^}]*}}\22name\22:\22again\22
// CHECK-SAME: {\22group\22:4,\22kind\22:\22barrier\22

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      nccl = {tax = 0.2},
      "nccl-4" = {method = "nccl", channels = 4 : i64},
      "copy-engine" = {latency_us = 1.0, bandwidth_gb_s = 1.0}}>>} {
  commsched.group @dp size(4)
  commsched.group @tp size(2)

  func.func @step(%a: tensor<4xf32>)
      -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>,
          tensor<16xf32>) {
    $run(%few = all_gather %a on @dp dim(0) {commsched.name = "few", commsched.implementation = "nccl-4"} : tensor<4xf32> -> tensor<16xf32>)
    $run(%copied = all_gather %a on @dp dim(0) {commsched.name = "copied", commsched.implementation = "copy-engine"} : tensor<4xf32> -> tensor<16xf32>)
    $run(%usual = all_gather %a on @dp dim(0) {commsched.name = "usual", commsched.implementation = "nccl"} : tensor<4xf32> -> tensor<16xf32>)
    $run(%plain = all_gather %a on @dp dim(0) {commsched.name = "plain"} : tensor<4xf32> -> tensor<16xf32>)
    $run(%again = all_gather %a on @dp dim(0) {commsched.name = "again", commsched.implementation = "nccl-4"} : tensor<4xf32> -> tensor<16xf32>)
    commsched.barrier on @tp {commsched.implementation = "nccl-4"}
    return %few, %copied, %usual, %plain, %again
        : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  }
}

// -----

// Where NCCL has fewer channels, or another stream, this is so for what names no
// implementation. A transfer to the host has none.

// CHECK: \22groups\22:[{\22name\22:\22dp\22,
// CHECK-SAME: {\22implementation\22:{\22channels\22:8,\22method\22:\22nccl\22,\22name\22:\22nccl\22,\22stream\22:\22all\22},\22name\22:\22dp\22,
// CHECK-SAME: {\22group\22:1,\22kind\22:\22all_gather\22

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      nccl = {channels = 8 : i64, stream = "all"}}>>} {
  commsched.group @dp size(4)

  func.func @all(%a: tensor<4xf32>) -> (tensor<16xf32>, tensor<4xf32, #commsched.host>) {
    $run(%whole = all_gather %a on @dp dim(0) : tensor<4xf32> -> tensor<16xf32>)
    $run(%away = offload %a : tensor<4xf32> -> tensor<4xf32, #commsched.host>)
    return %whole, %away : tensor<16xf32>, tensor<4xf32, #commsched.host>
  }
}
