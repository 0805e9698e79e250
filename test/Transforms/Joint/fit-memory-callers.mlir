// What callers hold beside a joint function is taken off its budget, and what the
// function counts more often than they hold is added: the halves fit where the step
// does, to the byte.

// DEFINE: %{run} = commsched-opt %t.mlir -o /dev/null --remarks-filter=commsched 2>&1 \
// DEFINE:   --commsched-pipeline=
// DEFINE: %{report} = --commsched-report=format=json

// RUN: %rows %s > %t.mlir
// RUN: %{run}memory-budget=2416 %{report} | FileCheck %s --check-prefix=FITS
// RUN: %{run}memory-budget=2415 %{report} | FileCheck %s --check-prefix=OVER

// One micro-batch of 400 bytes is four arguments, three of the forward, and a view of
// the batch, of 800 bytes. The halves count 1600 bytes for them, and the forward 1200.

// FITS-NOT: MemoryExceeded
// FITS-NOT: warning
// FITS: "function":"step",{{.*}}"peak_memory_bytes":2416,
// OVER: MemoryExceeded {{.*}}Function=joint | AllowedBytes=3199, LeastBytes=3200, {{.*}}takes 3200 bytes, 1 more than
// OVER: warning: 'step': {{.*}}takes 2416 bytes, 1 over the budget of 2415;

commsched.group @g size(2)
func.func @step(%x: tensor<200xf32> $in) -> tensor<4xf32> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %c100 = arith.constant 100 : index
  %c200 = arith.constant 200 : index
  %sum = scf.for %i = %c0 to %c200 step %c100 iter_args(%s = %zero) -> tensor<4xf32> {
    %b = tensor.extract_slice %x[%i] [100] [1] : tensor<200xf32> to tensor<100xf32>
    %y, %g = func.call @joint(%b, %b, %b, %b) : (tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %both = arith.addf %y, %g : tensor<4xf32>
    %more = arith.addf %s, %both : tensor<4xf32>
    scf.yield %more : tensor<4xf32>
  }
  return %sum : tensor<4xf32>
}
func.func private @joint(%w: tensor<100xf32> $in, %x: tensor<100xf32> $in, %z: tensor<100xf32> $in, %dy: tensor<100xf32> $tangent) -> (tensor<4xf32>, tensor<4xf32>) $joint {
  $run(%p = all_gather %w on @g dim(0) : tensor<100xf32> -> tensor<200xf32>)
  $take(%a = aten.mm %p, %x, %z in 10 ns : (tensor<200xf32>, tensor<100xf32>, tensor<100xf32>) -> tensor<200xf32>)
  $take(%y = y %a in 10 ns : (tensor<200xf32>) -> tensor<4xf32>)
  $take(%g = back %dy, %a in 10 ns : (tensor<100xf32>, tensor<200xf32>) -> tensor<4xf32>)
  return %y, %g : tensor<4xf32>, tensor<4xf32>
}
