commsched.group @tp size(8) ranks_per_node(8)
func.func @step(%x: tensor<4096x8192xbf16>, %v: tensor<8192x7168xbf16>,
                %w: tensor<7168x8192xbf16>) -> tensor<4096x8192xbf16> {
  %0 = commsched.all_gather %x on @tp dim(0) {commsched.name = "gather"} : tensor<4096x8192xbf16> -> !commsched.future<tensor<32768x8192xbf16>>
  %1 = commsched.wait %0 : !commsched.future<tensor<32768x8192xbf16>>
  %2 = commsched.compute "mm"(%1, %v) {commsched.name = "up", flops = 3.848e12, split = "m k, k n -> m n"} : (tensor<32768x8192xbf16>, tensor<8192x7168xbf16>) -> tensor<32768x7168xbf16>
  %3 = commsched.compute "silu"(%2) {split = "a b -> a b"} : (tensor<32768x7168xbf16>) -> tensor<32768x7168xbf16>
  %4 = commsched.compute "mm"(%3, %w) {commsched.name = "down", flops = 3.848e12, split = "m k, k n -> m n"} : (tensor<32768x7168xbf16>, tensor<7168x8192xbf16>) -> tensor<32768x8192xbf16>
  %5 = commsched.reduce_scatter %4 on @tp reduction(sum) dim(0) {commsched.name = "scatter"} : tensor<32768x8192xbf16> -> !commsched.future<tensor<4096x8192xbf16>>
  %6 = commsched.wait %5 : !commsched.future<tensor<4096x8192xbf16>>
  return %6 : tensor<4096x8192xbf16>
}
