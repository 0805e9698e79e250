// Two gathers on a machine that can carry them out with NCCL's kernels, which
// slow computation down, or with copy engines, which take longer to begin. The
// first gather is exposed and stays with NCCL; the second is hidden behind
// computation, which copy engines leave alone.
//
//   commsched-opt examples/implementations.mlir --commsched-pipeline
//       --commsched-report --remarks-filter=commsched
//
//   step  354.8 us with NCCL's kernels only, 338.9 us with the choice
//
// The figures of the machine are examples (docs/guide/implementations.md).
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.preset" = "h100",
    "commsched.implementations" = {
      nccl = {tax = 0.3, latency_us = 20.0, bandwidth_gb_s = 300.0},
      "copy-engine" = {latency_us = 60.0, bandwidth_gb_s = 300.0}}>>} {
  commsched.group @dp size(8)

  func.func @step(%a: tensor<512x2048xbf16>, %b: tensor<512x2048xbf16>,
                  %x: tensor<4096x4096xbf16>)
      -> (tensor<4096x2048xbf16>, tensor<4096x2048xbf16>) {
    %first = commsched.all_gather %a on @dp dim(0) {commsched.name = "first"}
        : tensor<512x2048xbf16> -> !commsched.future<tensor<4096x2048xbf16>>
    %0 = commsched.wait %first : !commsched.future<tensor<4096x2048xbf16>>
    %y = commsched.compute "layer0"(%x, %0) {commsched.runtime_ns = 150000 : i64}
        : (tensor<4096x4096xbf16>, tensor<4096x2048xbf16>)
          -> tensor<4096x2048xbf16>
    %second = commsched.all_gather %b on @dp dim(0) {commsched.name = "second"}
        : tensor<512x2048xbf16> -> !commsched.future<tensor<4096x2048xbf16>>
    %1 = commsched.wait %second : !commsched.future<tensor<4096x2048xbf16>>
    %z = commsched.compute "layer1"(%y, %1) {commsched.runtime_ns = 120000 : i64}
        : (tensor<4096x2048xbf16>, tensor<4096x2048xbf16>)
          -> tensor<4096x2048xbf16>
    return %y, %z : tensor<4096x2048xbf16>, tensor<4096x2048xbf16>
  }
}
