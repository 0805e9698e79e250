// RUN: %rows %s | commsched-opt --commsched-bucket-all-gather=mode=copy | FileCheck %s
// RUN: %rows %s | commsched-opt --commsched-bucket-all-gather=mode=coalesced | FileCheck %s --check-prefix=COALESCED

// One implementation carries out a bucket. One that is named by default is the
// same as none; the bucket then keeps the name.

!t = tensor<1024xf32>
!u = tensor<256xf32>

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      "copy-engine" = {latency_us = 5.0, bandwidth_gb_s = 100.0}}>>} {
  commsched.group @dp size(4)

  // CHECK-LABEL: @bucket
  // CHECK: commsched.all_gather %{{.+}} into %{{.+}} {commsched.implementation = "copy-engine"} : tensor<512xf32>
  // CHECK: commsched.all_gather %{{.+}} into %{{.+}} {commsched.implementation = "nccl"} : tensor<512xf32>
  // CHECK-NOT: commsched.all_gather
  // COALESCED-LABEL: @bucket
  // COALESCED: commsched.all_gather %arg0, %arg2 {{.*}}{commsched.implementation = "copy-engine"}
  // COALESCED: commsched.all_gather %arg1, %arg3 {{.*}}{commsched.implementation = "nccl"}
  // COALESCED-NOT: commsched.all_gather
  func.func @bucket(%a: !u, %b: !u, %c: !u, %d: !u) -> (!t, !t, !t, !t) {
    $run(%w4 = all_gather %a on @dp dim(0) {commsched.implementation = "copy-engine"} : !u -> tensor<1024xf32>)
    $run(%w5 = all_gather %b on @dp dim(0) : !u -> tensor<1024xf32>)
    $run(%w6 = all_gather %c on @dp dim(0) {commsched.implementation = "copy-engine"} : !u -> tensor<1024xf32>)
    $run(%w7 = all_gather %d on @dp dim(0) {commsched.implementation = "nccl"} : !u -> tensor<1024xf32>)
    return %w4, %w5, %w6, %w7 : !t, !t, !t, !t
  }
}
