// Three layers in a dialect that is made up here, and that CommSched knows from
// ring.json alone: each layer begins to gather its weights, waits for them, and
// computes.
func.func @step(%x: tensor<8192x4096xbf16>, %shard0: tensor<512x4096xbf16>,
                %shard1: tensor<512x4096xbf16>, %shard2: tensor<512x4096xbf16>)
    -> tensor<8192x4096xbf16> {
  %pending0 = "ring.begin_gather"(%shard0) <{axis = "data", devices = 8 : i64}>
      : (tensor<512x4096xbf16>) -> !ring.pending<4096x4096xbf16>
  %w0 = "ring.end_gather"(%pending0)
      : (!ring.pending<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %y0 = "ring.matmul"(%x, %w0)
      : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
  %z0 = "ring.gelu"(%y0) : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %pending1 = "ring.begin_gather"(%shard1) <{axis = "data", devices = 8 : i64}>
      : (tensor<512x4096xbf16>) -> !ring.pending<4096x4096xbf16>
  %w1 = "ring.end_gather"(%pending1)
      : (!ring.pending<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %y1 = "ring.matmul"(%z0, %w1)
      : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
  %z1 = "ring.gelu"(%y1) : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %pending2 = "ring.begin_gather"(%shard2) <{axis = "data", devices = 8 : i64}>
      : (tensor<512x4096xbf16>) -> !ring.pending<4096x4096xbf16>
  %w2 = "ring.end_gather"(%pending2)
      : (!ring.pending<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %y2 = "ring.matmul"(%z1, %w2)
      : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
  %z2 = "ring.gelu"(%y2) : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  return %z2 : tensor<8192x4096xbf16>
}
