// What a schedule promises is what the program takes when it is put back and read
// again: the copies of each kind of bucket are priced as the concatenations and
// slices that they become, with what is fused into them.

// RUN: %rows %s > %t.mlir
// DEFINE: %{program} = %t.mlir
// DEFINE: %{schedule} =
// DEFINE: %{read} = --convert-stablehlo-to-commsched --commsched-set-costs="assume-fusion target=h100"
// DEFINE: %{check} = commsched-opt %{program} %{read} --emit-bytecode -o %t.read \
// DEFINE:   --commsched-report="format=json output=%t.before" && \
// DEFINE:   commsched-opt %t.read %{schedule} --emit-bytecode -o %t.scheduled \
// DEFINE:   --commsched-report="format=json output=%t.promised" && \
// DEFINE:   commsched-opt %t.scheduled --convert-commsched-to-stablehlo --emit-bytecode -o %t.back && \
// DEFINE:   commsched-opt %t.back %{read} --commsched-report="format=json output=%t.made" -o /dev/null && \
// DEFINE:   %python %S/Inputs/check_promise.py %t.before %t.promised %t.made

// REDEFINE: %{schedule} = --commsched-bucket-all-gather --commsched-assume-fusion=renew
// RUN: %{check}
// REDEFINE: %{schedule} = --commsched-bucket-reduce-scatter --commsched-assume-fusion=renew
// RUN: %{check}
// REDEFINE: %{schedule} = --commsched-bucket-all-reduce --commsched-assume-fusion=renew
// RUN: %{check}
// REDEFINE: %{schedule} = --commsched-pipeline=memory-budget=200%%
// RUN: %{check}
// Also where the number of partitions is not known.
// REDEFINE: %{program} = %t.partitions.mlir
// RUN: sed 's/^module attributes .*/module {/' %t.mlir > %{program}
// RUN: %{check}
// REDEFINE: %{program} = %examples/jax/llama3-tiny-fsdp2.mlirbc
// RUN: %{check}
// A copy-in stands where the schedule has it, which may be long before the
// collective.
// RUN: commsched-opt %t.scheduled | FileCheck %s --check-prefix=COPY
// COPY: %[[SLICE:[^ ,]+]], %{{.*}} = commsched.all_gather_copy_in
// COPY: commsched.all_gather %[[SLICE]]
// COPY: %[[APART:[^ ,]+]], %{{.*}} = commsched.all_gather_copy_in
// COPY: stablehlo.broadcast_in_dim
// COPY: commsched.all_gather %[[APART]]
// REDEFINE: %{schedule} = --commsched-pipeline="memory-budget=200%% bitwise"
// RUN: %{check}

LET $group channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids
LET $dot <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}>
LET $sum ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  })

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
func.func @step(%w0: tensor<256x1024xf32>, %w1: tensor<256x1024xf32>, %w2: tensor<256x1024xf32>, %w3: tensor<256x1024xf32>, %v0: tensor<1024x256xbf16>, %v1: tensor<1024x256xbf16>, %s0: tensor<1024xf32>, %s1: tensor<1024xf32>, %s2: tensor<1024xf32>, %x: tensor<1024x1024xbf16>) -> (tensor<256x1024xf32>, tensor<256x1024xf32>, tensor<256x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024x1024xbf16>) {
  %c0 = "stablehlo.convert"(%w0) : (tensor<256x1024xf32>) -> tensor<256x1024xbf16>
  %g0 = "stablehlo.all_gather"(%c0) <{all_gather_dim = 0 : i64, $group}> : (tensor<256x1024xbf16>) -> tensor<1024x1024xbf16>
  %c1 = "stablehlo.convert"(%w1) : (tensor<256x1024xf32>) -> tensor<256x1024xbf16>
  %g1 = "stablehlo.all_gather"(%c1) <{all_gather_dim = 0 : i64, $group}> : (tensor<256x1024xbf16>) -> tensor<1024x1024xbf16>
  %c2 = "stablehlo.convert"(%w2) : (tensor<256x1024xf32>) -> tensor<256x1024xbf16>
  %g2 = "stablehlo.all_gather"(%c2) <{all_gather_dim = 0 : i64, $group}> : (tensor<256x1024xbf16>) -> tensor<1024x1024xbf16>
  %c3 = "stablehlo.convert"(%w3) : (tensor<256x1024xf32>) -> tensor<256x1024xbf16>
  %g3 = "stablehlo.all_gather"(%c3) <{all_gather_dim = 0 : i64, $group}> : (tensor<256x1024xbf16>) -> tensor<1024x1024xbf16>
  %h0 = "stablehlo.all_gather"(%v0) <{all_gather_dim = 1 : i64, $group}> : (tensor<1024x256xbf16>) -> tensor<1024x1024xbf16>
  %h1 = "stablehlo.all_gather"(%v1) <{all_gather_dim = 1 : i64, $group}> : (tensor<1024x256xbf16>) -> tensor<1024x1024xbf16>
  // Products read slices that are stored, and pointwise operations compute them.
  %d0 = "stablehlo.dot_general"(%x, %g0) $dot : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %d1 = "stablehlo.dot_general"(%d0, %g1) $dot : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %m0 = "stablehlo.multiply"(%d1, %g2) : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %m1 = "stablehlo.add"(%m0, %g3) : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %d2 = "stablehlo.dot_general"(%m1, %h0) $dot : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %m2 = "stablehlo.multiply"(%d2, %h1) : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %y0 = "stablehlo.dot_general"(%m2, %m1) $dot : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %z0 = "stablehlo.convert"(%y0) : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
  %r0 = "stablehlo.reduce_scatter"(%z0) <{scatter_dimension = 0 : i64, $group}> $sum : (tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  %y1 = "stablehlo.dot_general"(%m2, %d0) $dot : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %z1 = "stablehlo.convert"(%y1) : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
  %r1 = "stablehlo.reduce_scatter"(%z1) <{scatter_dimension = 0 : i64, $group}> $sum : (tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  %y2 = "stablehlo.dot_general"(%d1, %m1) $dot : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %z2 = "stablehlo.convert"(%y2) : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
  %r2 = "stablehlo.reduce_scatter"(%z2) <{scatter_dimension = 0 : i64, $group}> $sum : (tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  %y3 = "stablehlo.dot_general"(%d1, %d0) $dot : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %z3 = "stablehlo.convert"(%y3) : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
  %r3 = "stablehlo.reduce_scatter"(%z3) <{scatter_dimension = 0 : i64, $group}> $sum : (tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  %q0 = "stablehlo.multiply"(%s0, %s0) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %t0 = "stablehlo.all_reduce"(%q0) <{$group}> $sum : (tensor<1024xf32>) -> tensor<1024xf32>
  %q1 = "stablehlo.multiply"(%s1, %s1) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %t1 = "stablehlo.all_reduce"(%q1) <{$group}> $sum : (tensor<1024xf32>) -> tensor<1024xf32>
  %q2 = "stablehlo.multiply"(%s2, %s2) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %t2 = "stablehlo.all_reduce"(%q2) <{$group}> $sum : (tensor<1024xf32>) -> tensor<1024xf32>
  %u0 = "stablehlo.subtract"(%w0, %r0) : (tensor<256x1024xf32>, tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %u1 = "stablehlo.subtract"(%w1, %r1) : (tensor<256x1024xf32>, tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %u2 = "stablehlo.subtract"(%w2, %r2) : (tensor<256x1024xf32>, tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %p = "stablehlo.add"(%t0, %t1) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %u0, %u1, %u2, %r3, %p, %t2, %m2 : tensor<256x1024xf32>, tensor<256x1024xf32>, tensor<256x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024x1024xbf16>
}
}
