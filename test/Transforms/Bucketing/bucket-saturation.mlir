// DEFINE: %{merge} = %rows %s | commsched-opt --commsched-bucket-all-reduce=

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
  $run(%wa = all_reduce %x on @node reduction(sum) {commsched.name = "a"} : !x -> !x)
  $run(%wb = all_reduce %x on @node reduction(sum) {commsched.name = "b"} : !x -> !x)
  $run(%wc = all_reduce %x on @node reduction(sum) {commsched.name = "c"} : !x -> !x)
  $run(%wd = all_reduce %x on @node reduction(sum) {commsched.name = "d"} : !x -> !x)
  return
}
}
