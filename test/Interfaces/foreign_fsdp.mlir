// RUN: commsched-test-opt %s --test-commsched-annotate-fsdp %remarks 2>%t.remarks \
// RUN:   --allow-unregistered-dialect | grep "fsdp = " | not grep -vE 'commsched.fsdp = ("[a-z_]+").* test.fsdp = \1'
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Collectives of any dialect shard parameters: the interfaces say their kind,
// what they send and which operation waits for them.

// REMARK: GradientReduces=1, GradientScatters=1, ParameterGathers=1
// REMARK: commsched_test.total 'activation': gathers argument 1, which is no parameter
// REMARK: commsched_test.total 'computed': gathers what commsched_test.work makes
// REMARK: commsched_test.total 'loss': reduces what no gradient scatter gives
// REMARK-NOT: NotFsdp
func.func @step(%p: tensor<4xf32> {commsched.role = "parameter"},
                %x: tensor<4xf32> {commsched.role = "input"},
                %a: tensor<16xf32>) -> tensor<4xf32> {
  %h0 = commsched_test.total %p over "shard" ranks(4)
      {kind = "all_gather", delivers = tensor<16xf32>, test.fsdp = "parameter_gather"} : tensor<4xf32>
  %w0 = commsched_test.finish %h0 : tensor<16xf32>
  %h1 = commsched_test.total %a over "shard" ranks(4)
      {kind = "reduce_scatter", delivers = tensor<4xf32>, test.fsdp = "gradient_scatter"} : tensor<16xf32>
  %w1 = commsched_test.finish %h1 : tensor<4xf32>
  %h2 = commsched_test.total %w1 over "replicate" ranks(2) {test.fsdp = "gradient_reduce"} : tensor<4xf32>
  %w2 = commsched_test.finish %h2 : tensor<4xf32>

  %h3 = commsched_test.total %x over "shard" ranks(4)
      {commsched.name = "activation", kind = "all_gather",
       delivers = tensor<16xf32>} : tensor<4xf32>
  %w3 = commsched_test.finish %h3 : tensor<16xf32>
  // An operation's own word that it is expensive counts.
  %0 = commsched_test.work 9(%p) {expensive} : (tensor<4xf32>) -> tensor<4xf32>
  %h6 = commsched_test.total %0 over "shard" ranks(4)
      {commsched.name = "computed", kind = "all_gather",
       delivers = tensor<16xf32>} : tensor<4xf32>
  %w6 = commsched_test.finish %h6 : tensor<16xf32>
  %h4 = commsched_test.exchange %p over "ring" ranks(4) : tensor<4xf32>
  %w4 = commsched_test.finish %h4 : tensor<4xf32>
  %h5 = commsched_test.total %x over "shard" ranks(4) {commsched.name = "loss"} : tensor<4xf32>
  %w5 = commsched_test.finish %h5 : tensor<4xf32>
  return %w2 : tensor<4xf32>
}
