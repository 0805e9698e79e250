// RUN: %rows %s | commsched-opt --commsched-pipeline-loops="memory-budget=100%% max-depth=4" \
// RUN:   | %orders | FileCheck %s
// RUN: %rows %s | commsched-opt --mlir-disable-threading -o /dev/null \
// RUN:   --commsched-pipeline-loops="memory-budget=100%% max-depth=4" --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: %rows %s | sed 's/: i8/: i3/g' | commsched-opt --mlir-disable-threading -o /dev/null \
// RUN:   --commsched-pipeline-loops="memory-budget=100%% max-depth=4" --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NARROW
// RUN: %rows %s | commsched-opt --commsched-pipeline-loops=memory-budget=100%% \
// RUN:   --commsched-report="format=json output=%t" -o %t.mlir
// RUN: FileCheck %s --check-prefix=HINTED < %t
// RUN: commsched-opt %t.mlir --commsched-pipeline-loops=memory-budget=100%% -o /dev/null \
// RUN:   --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=AGAIN

// The gather of the next iteration hides under the computation of this one.

commsched.group @dp size(8)
commsched.group @g size(4)
commsched.group @h size(2)

// REMARK: LoopPipelined | {{.*}}Function=gather | BudgetBytes={{[0-9]+}}, Depth=2, PeakBytesAfter=786432, PeakBytesBefore=524288, PeriodBoundNs=50, PeriodNsAfter=50, PeriodNsBefore=80, Remark="an iteration takes 50 ns instead of 80, of at least 50, with 2 iterations in progress, and 786432 bytes instead of 524288, for a budget of {{[0-9]+}}", RunNsAfter=1630, RunNsBefore=2560
// CHECK-LABEL: func.func @gather(
// CHECK-NEXT: // order: {{.*}}tensor.extract_slice gather.prologue.0 wait {{.*}}scf.for { arith.addi tensor.extract_slice gather mm wait scf.yield } mm{{$}}
func.func @gather(%x: tensor<128x256xf32>, %stacked: tensor<32x32x256xf32>) -> tensor<128x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %y = scf.for %i = %c0 to %c32 step %c1 iter_args(%a = %x) -> tensor<128x256xf32> {
    %shard = tensor.extract_slice %stacked[%i, 0, 0] [1, 32, 256] [1, 1, 1] {commsched.runtime_ns = 0 : i64} : tensor<32x32x256xf32> to tensor<32x256xf32>
    $run(%w = all_gather %shard on @dp dim(0) {commsched.runtime_ns = 30 : i64, commsched.name = "gather"} : tensor<32x256xf32> -> tensor<256x256xf32>)
    %b = commsched.compute "mm"(%a, %w) {commsched.runtime_ns = 50 : i64} : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
    scf.yield %b : tensor<128x256xf32>
  }
  return %y : tensor<128x256xf32>
}

// What is fused into its users is in no buffer: each stage computes it for
// itself, and only what it reads is carried. The last gather is carried once.

// CHECK-LABEL: func.func @fused(
// CHECK-NEXT: // order: {{.*}}tensor.extract_slice cast gather.prologue.0 wait {{.*}}scf.for { arith.addi tensor.extract_slice cast gather cast mm wait scf.yield } cast mm{{$}}
// CHECK: scf.for {{.*}} -> (tensor<128x256xf32>, tensor<256x256xf32>, tensor<32x256xbf16>)
func.func @fused(%x: tensor<128x256xf32>, %stacked: tensor<32x32x256xbf16>, %first: tensor<256x256xf32>) -> (tensor<128x256xf32>, tensor<256x256xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %y:2 = scf.for %i = %c0 to %c32 step %c1 iter_args(%a = %x, %last = %first) -> (tensor<128x256xf32>, tensor<256x256xf32>) {
    %shard = tensor.extract_slice %stacked[%i, 0, 0] [1, 32, 256] [1, 1, 1] {commsched.runtime_ns = 0 : i64} : tensor<32x32x256xbf16> to tensor<32x256xbf16>
    %wide = commsched.compute "cast"(%shard) {commsched.fused = 0 : i64, commsched.runtime_ns = 0 : i64} : (tensor<32x256xbf16>) -> tensor<32x256xf32>
    $run(%w = all_gather %wide on @dp dim(0) {commsched.runtime_ns = 30 : i64, commsched.name = "gather"} : tensor<32x256xf32> -> tensor<256x256xf32>)
    %b = commsched.compute "mm"(%a, %w, %wide) {commsched.runtime_ns = 50 : i64} : (tensor<128x256xf32>, tensor<256x256xf32>, tensor<32x256xf32>) -> tensor<128x256xf32>
    scf.yield %b, %w : tensor<128x256xf32>, tensor<256x256xf32>
  }
  return %y#0, %y#1 : tensor<128x256xf32>, tensor<256x256xf32>
}

// With one iteration at a time, a loop is what it was, in another order.

// REMARK: LoopPipelined | {{.*}}Function=reordered | {{.*}}Depth=1, {{.*}}PeriodNsAfter=50, PeriodNsBefore=80,
// CHECK-LABEL: func.func @reordered(
// CHECK-NEXT: // order: {{.*}}scf.for { all_reduce f wait scf.yield loop{{$}}
// CHECK:         } {commsched.module = "layers", commsched.name = "loop"}
func.func @reordered(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> tensor<8xf32> {
    %b = commsched.compute "f"(%a) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    $run(%w = all_reduce %x on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> tensor<8xf32>)
    scf.yield %b : tensor<8xf32>
  } {commsched.module = "layers", commsched.name = "loop"}
  return %y : tensor<8xf32>
}

// REMARK: LoopPipelined | {{.*}}Function=any_count | {{.*}}Depth=1, {{.*}}Remark="{{.*}}, for a budget of 224"{{$}}
// CHECK-LABEL: func.func @any_count(
// CHECK-NEXT: // order: {{.*}}scf.for { all_reduce f wait g scf.yield }{{$}}
func.func @any_count(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<8xf32> {
    %b = commsched.compute "f"(%a) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    $run(%w = all_reduce %a on @dp reduction(sum) {commsched.runtime_ns = 80 : i64} : tensor<8xf32> -> tensor<8xf32>)
    %c = commsched.compute "g"(%b, %w) {commsched.runtime_ns = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %c : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// A loop whose number of iterations is not known: in its schedule where it has
// as many as are in progress at once, else as it was.

// REMARK: LoopPipelined | {{.*}}Function=counted | {{.*}}Depth=2, LeastCount=2, {{.*}}Remark="an iteration takes 50 ns instead of 80, of at least 50, with 2 iterations in progress, {{.*}}, where it has 2 iterations or more"
// HINTED: "function":"counted",{{.*}}"step_time_ns":830,{{.*}}"assumed_ops":{{[1-9]}}
// CHECK-LABEL: func.func @counted(
// CHECK-NEXT: // order: {{.*}}arith.cmpi {{.*}}arith.subi {{.*}}arith.cmpi arith.andi scf.if { {{.*}}tensor.extract_slice gather.prologue.0 wait arith.subi scf.for { arith.addi tensor.extract_slice gather mm wait scf.yield } {commsched.assumed_trip_count = 15 : i64} mm scf.yield } else { scf.for { tensor.extract_slice gather.few wait mm scf.yield } {commsched.assumed_trip_count = 1 : i64} scf.yield }{{$}}
func.func @counted(%x: tensor<128x256xf32>, %stacked: tensor<32x32x256xf32>, %n: index)
    -> tensor<128x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<128x256xf32> {
    %shard = tensor.extract_slice %stacked[%i, 0, 0] [1, 32, 256] [1, 1, 1] {commsched.runtime_ns = 0 : i64} : tensor<32x32x256xf32> to tensor<32x256xf32>
    $run(%w = all_gather %shard on @dp dim(0) {commsched.runtime_ns = 30 : i64, commsched.name = "gather"} : tensor<32x256xf32> -> tensor<256x256xf32>)
    %b = commsched.compute "mm"(%a, %w) {commsched.runtime_ns = 50 : i64} : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
    scf.yield %b : tensor<128x256xf32>
  }
  return %y : tensor<128x256xf32>
}

// A hint says how often the schedule is expected to run; the loop for fewer runs less
// often, so that reports count what the schedule takes, and another run leaves it.

// HINTED: "function":"hinted",{{.*}}"step_time_ns":530
// AGAIN: LoopKept | {{.*}}Function=hinted | Remark="the loop keeps its iterations apart: it is shorter only from 2 iterations on, and 'commsched.trip_count' is 1"
func.func @hinted(%x: tensor<128x256xf32>, %stacked: tensor<32x32x256xf32>, %n: index)
    -> tensor<128x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<128x256xf32> {
    %shard = tensor.extract_slice %stacked[%i, 0, 0] [1, 32, 256] [1, 1, 1] {commsched.runtime_ns = 0 : i64} : tensor<32x32x256xf32> to tensor<32x256xf32>
    $run(%w = all_gather %shard on @dp dim(0) {commsched.runtime_ns = 30 : i64, commsched.name = "gather"} : tensor<32x256xf32> -> tensor<256x256xf32>)
    %b = commsched.compute "mm"(%a, %w) {commsched.runtime_ns = 50 : i64} : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
    scf.yield %b : tensor<128x256xf32>
  } {commsched.trip_count = 10 : i64}
  return %y : tensor<128x256xf32>
}

// Bounds and step are any values; a small type does not overflow. Each collective is one
// of another iteration, and so is the computation.

// REMARK: LoopPipelined | {{.*}}Function=bounds | {{.*}}Depth=4, LeastCount=4
// NARROW: LoopKept | {{.*}}Function=bounds | {{.*}}: it is shorter only from 4 iterations on, and its counter is of type i3"
// CHECK-LABEL: func.func @bounds(
// CHECK-SAME:      %[[LOW:[^:]+]]: i8, %[[HIGH:[^:]+]]: i8, %[[STEP:[^:]+]]: i8)
// CHECK:         %[[SOME:.+]] = arith.cmpi slt, %[[LOW]], %[[HIGH]] : i8
// CHECK:         %[[DIFFERENCE:.+]] = arith.subi %[[HIGH]], %[[LOW]] : i8
// CHECK:         %[[LAST:.+]] = arith.subi %[[DIFFERENCE]], %{{.+}} : i8
// CHECK:         %[[OTHERS:.+]] = arith.divui %[[LAST]], %[[STEP]] : i8
// CHECK:         arith.cmpi uge, %[[OTHERS]], %{{.+}} : i8
// CHECK:         scf.if
// CHECK:           scf.for %{{.+}} = %[[LOW]] to %{{.+}} step %[[STEP]]
// CHECK:         else
// CHECK:           scf.for %{{.+}} = %[[LOW]] to %[[HIGH]] step %[[STEP]]
func.func @bounds(%x: tensor<64xf32>, %s: tensor<8xf32>, %low: i8, %high: i8, %step: i8) -> tensor<64xf32> {
  %y = scf.for %i = %low to %high step %step iter_args(%a = %x) -> (tensor<64xf32>) : i8 {
    $run(%r = all_reduce %s on @dp reduction(sum) {commsched.runtime_ns = 50 : i64} : tensor<8xf32> -> tensor<8xf32>)
    $run(%q = all_reduce %r on @g reduction(sum) {commsched.runtime_ns = 50 : i64} : tensor<8xf32> -> tensor<8xf32>)
    $run(%p = all_reduce %q on @h reduction(sum) {commsched.runtime_ns = 50 : i64} : tensor<8xf32> -> tensor<8xf32>)
    %b = commsched.compute "f"(%a, %p) {commsched.runtime_ns = 10 : i64} : (tensor<64xf32>, tensor<8xf32>) -> tensor<64xf32>
    scf.yield %b : tensor<64xf32>
  }
  return %y : tensor<64xf32>
}

// A loop with a condition that counts, as compilers write scans over layers: it
// carries its counter, and passes the stacked parameters on.

// REMARK: LoopPipelined | {{.*}}Function=scan | {{.*}}Depth=2, {{.*}}PeriodNsAfter=50, PeriodNsBefore=80
// CHECK-LABEL: func.func @scan(
// CHECK-NEXT: // order: {{.*}}tensor.extract_slice all_gather wait {{.*}}scf.for { arith.addi tensor.extract_slice all_gather mm wait scf.yield } mm{{$}}
func.func @scan(%x: tensor<128x256xf32>, %stacked: tensor<32x32x256xf32>)
    -> (tensor<128x256xf32>, tensor<32x32x256xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %n, %y, %p = scf.while (%i = %c0, %a = %x, %s = %stacked)
      : (index, tensor<128x256xf32>, tensor<32x32x256xf32>) -> (index, tensor<128x256xf32>, tensor<32x32x256xf32>) {
    %goes_on = arith.cmpi slt, %i, %c32 : index
    scf.condition(%goes_on) %i, %a, %s : index, tensor<128x256xf32>, tensor<32x32x256xf32>
  } do {
  ^bb0(%i: index, %a: tensor<128x256xf32>, %s: tensor<32x32x256xf32>):
    %shard = tensor.extract_slice %s[%i, 0, 0] [1, 32, 256] [1, 1, 1] {commsched.runtime_ns = 0 : i64} : tensor<32x32x256xf32> to tensor<32x256xf32>
    $run(%w = all_gather %shard on @dp dim(0) {commsched.runtime_ns = 30 : i64} : tensor<32x256xf32> -> tensor<256x256xf32>)
    %b = commsched.compute "mm"(%a, %w) {commsched.runtime_ns = 50 : i64} : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %b, %s : index, tensor<128x256xf32>, tensor<32x32x256xf32>
  }
  return %y, %p : tensor<128x256xf32>, tensor<32x32x256xf32>
}

// A period begins behind the first wait of an iteration. "finish" and "prepare" of
// the next iteration are in one period, so that the state is not carried. Nor is a
// counter that nothing reads.

// REMARK: LoopPipelined | {{.*}}Function=rotated | {{.*}}Depth=2
// CHECK-LABEL: func.func @rotated(
// CHECK-SAME:      %{{[^:]+}}: {{.*}}, %[[ZERO:[^:]+]]: tensor<f32>)
// CHECK:         scf.for {{.*}} iter_args(%{{.+}} = %[[ZERO]], %{{[^,]+}} = %{{[^,]+}}) ->
func.func @rotated(%x: tensor<256xf32>, %zero: tensor<f32>) -> (tensor<256xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %y:3 = scf.for %i = %c0 to %c8 step %c1 iter_args(%state = %x, %sum = %zero, %count = %c0) -> (tensor<256xf32>, tensor<f32>, index) {
    %p = commsched.compute "prepare"(%state) {commsched.runtime_ns = 300 : i64} : (tensor<256xf32>) -> tensor<256xf32>
    $run(%v = all_reduce %p on @dp reduction(sum) {commsched.runtime_ns = 300 : i64} : tensor<256xf32> -> tensor<256xf32>)
    %n = commsched.compute "norm"(%v) {commsched.runtime_ns = 10 : i64} : (tensor<256xf32>) -> tensor<f32>
    $run(%m = all_reduce %n on @dp reduction(sum) {commsched.runtime_ns = 500 : i64} : tensor<f32> -> tensor<f32>)
    %t = commsched.compute "add"(%sum, %m) {commsched.runtime_ns = 10 : i64} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %next = commsched.compute "finish"(%v) {commsched.runtime_ns = 300 : i64} : (tensor<256xf32>) -> tensor<256xf32>
    %more = arith.addi %count, %c1 : index
    scf.yield %next, %t, %more : tensor<256xf32>, tensor<f32>, index
  }
  return %y#0, %y#1 : tensor<256xf32>, tensor<f32>
}

// Two iterations one after the other take 2 * 27 ns. With both in progress a period
// takes 22, and the first gather, which nothing hides, 15 more.

// REMARK: LoopPipelined | {{.*}}Function=few | {{.*}}Depth=1, {{.*}}PeriodBoundNs=22, PeriodNsAfter=27, PeriodNsBefore=37, {{.*}}RunNsAfter=54, RunNsBefore=74
func.func @few(%x: tensor<16xf32>, %w: tensor<4xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x) -> tensor<16xf32> {
    $run(%g = all_gather %w on @g dim(0) {commsched.runtime_ns = 15 : i64} : tensor<4xf32> -> tensor<16xf32>)
    %b = commsched.compute "use"(%a, %g) {commsched.runtime_ns = 12 : i64} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %c = commsched.compute "own"(%a) {commsched.runtime_ns = 10 : i64} : (tensor<16xf32>) -> tensor<16xf32>
    %d = commsched.compute "add"(%b, %c) {commsched.runtime_ns = 0 : i64} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    scf.yield %d : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}

// Of micro-batches around layers the loop of the layers is first. What it has peeled
// off, the gather of the first layer, then is one of each micro-batch, and hides
// under the micro-batch before.

// REMARK: LoopPipelined | {{.*}}Function=nested | {{.*}}Depth=2, {{.*}}PeriodNsAfter=50, PeriodNsBefore=80,
// REMARK: LoopPipelined | {{.*}}Function=nested | {{.*}}Depth=2, {{.*}}PeriodNsAfter=240, PeriodNsBefore=270,
func.func @nested(%x: tensor<16xf32>, %w: tensor<3x4xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %sum = scf.for %m = %c0 to %c8 step %c1 iter_args(%s = %x) -> tensor<16xf32> {
    %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<16xf32> {
      %shard = tensor.extract_slice %w[%i, 0] [1, 4] [1, 1] {commsched.runtime_ns = 0 : i64} : tensor<3x4xf32> to tensor<4xf32>
      $run(%g = all_gather %shard on @g dim(0) {commsched.runtime_ns = 30 : i64} : tensor<4xf32> -> tensor<16xf32>)
      %b = commsched.compute "mm"(%a, %g) {commsched.runtime_ns = 50 : i64} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
      scf.yield %b : tensor<16xf32>
    }
    %t = commsched.compute "add"(%s, %y) {commsched.runtime_ns = 90 : i64} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    scf.yield %t : tensor<16xf32>
  }
  return %sum : tensor<16xf32>
}
