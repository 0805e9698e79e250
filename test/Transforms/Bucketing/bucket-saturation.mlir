// DEFINE: %{merge} = commsched-opt %s --commsched-bucket-all-reduce=

// RUN: %{merge}saturation | FileCheck %s --check-prefix=SATURATED
// The smaller limit counts: 95 bytes for the first bucket, then saturation.
// RUN: %{merge}"saturation cap-mb=0.00009,1" | FileCheck %s --check-prefix=CAPPED
// RUN: %{merge}cap-mb=1 | FileCheck %s --check-prefix=FULL

// No bucket is larger than what saturates its group. The links are so slow that
// some 136 bytes do.

!x = tensor<64xi8>

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.nvls" = 0,
    "commsched.intra_channels" = 1,
    "commsched.intra_channel_gb_s" = 0.001 : f64,
    "commsched.local_reduce_gb_s" = 0.0 : f64,
    "commsched.collective_launch_us" = 0.0 : f64>>} {

commsched.group @node size(2)

// SATURATED: "a+b"
// SATURATED: "c+d"
// CAPPED: "a"
// CAPPED: "b+c"
// CAPPED: "d"
// FULL: "a+b+c+d"
func.func @in_a_node(%x: !x) {
  %a = commsched.all_reduce %x on @node reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %b = commsched.all_reduce %x on @node reduction(sum) {commsched.name = "b"} : !x -> !commsched.future<!x>
  %c = commsched.all_reduce %x on @node reduction(sum) {commsched.name = "c"} : !x -> !commsched.future<!x>
  %d = commsched.all_reduce %x on @node reduction(sum) {commsched.name = "d"} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  %wc = commsched.wait %c : !commsched.future<!x>
  %wd = commsched.wait %d : !commsched.future<!x>
  return
}
}
