// An activation that leaves the device between the forward and the backward: the
// offload copies it to the host beside the computation that follows, and the
// reload fetches it before the computation that needs it. The host tensor takes
// no memory of the device.
//
//   commsched-opt examples/offload.mlir --commsched-report=format=table
//   commsched-opt examples/offload.mlir --commsched-schedule --commsched-report

func.func @step(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>)
    -> tensor<4096x4096xbf16> {
  %activation = commsched.compute "layer0"(%x, %w)
      {flops = 1.4e11 : f64, commsched.name = "activation"}
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>)
        -> tensor<4096x4096xbf16>
  %sent = commsched.offload %activation {commsched.name = "to_host"}
      : tensor<4096x4096xbf16>
        -> !commsched.future<tensor<4096x4096xbf16, #commsched.host>>
  %host = commsched.wait %sent
      : !commsched.future<tensor<4096x4096xbf16, #commsched.host>>
  %y0 = commsched.compute "layer1"(%x, %w) {flops = 1.4e12 : f64}
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>)
        -> tensor<4096x4096xbf16>
  %y1 = commsched.compute "layer2"(%y0, %w) {flops = 1.4e12 : f64}
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>)
        -> tensor<4096x4096xbf16>
  %fetched = commsched.reload %host {commsched.name = "to_device"}
      : tensor<4096x4096xbf16, #commsched.host>
        -> !commsched.future<tensor<4096x4096xbf16>>
  %again = commsched.wait %fetched
      : !commsched.future<tensor<4096x4096xbf16>>
  %z = commsched.compute "layer0_backward"(%again, %y1) {flops = 1.4e11 : f64}
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>)
        -> tensor<4096x4096xbf16>
  return %z : tensor<4096x4096xbf16>
}
