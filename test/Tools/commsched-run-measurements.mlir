// What was measured stands beside what was predicted: as a table, as JSON, as
// a trace, and as times for other ranks.

// RUN: rm -rf %t && mkdir %t
// RUN: commsched-run %s --ranks 4 --repeat=3 --modelled-times \
// RUN:   --timeline=%t/trace.json --times=%t/times/%%r.json | FileCheck %s

// CHECK: commsched-run-measurements.mlir: @step on 4 ranks, backend local, median of 3 runs after a warm-up
// CHECK-NEXT: {{^}}  simulated: costs pinned in the program (commsched.runtime_ns){{$}}
// CHECK-NEXT: {{^}}  measured: backend local; collectives and operators take as long as the model says{{$}}
// CHECK-EMPTY:
// CHECK-NEXT: {{^}}                         predicted   measured  difference
// CHECK-NEXT: {{^}}  step time              50.000 ms {{.*}} ms  {{.*}} %
// CHECK-NEXT: {{^}}  exposed communication  20.000 ms  20.000 ms      +0.0 %
// CHECK-NEXT: {{^}}  peak memory {{.*}} %
// CHECK-EMPTY:
// CHECK-NEXT: {{^}}  collective {{ *}}kind {{ *}}group {{ *}}predicted start {{ *}}measured {{ *}}predicted duration {{ *}}measured {{ *}}predicted exposed {{ *}}measured
// CHECK-NEXT: {{^}}  weights {{ *}}all_gather  all {{ *}}0 ns {{ *}}0 ns {{ *}}10.000 ms  10.000 ms {{ *}}0 ns {{ *}}0 ns
// CHECK-NEXT: {{^}}  all_reduce_1  all_reduce  halves {{ *}}30.000 ms  30.000 ms {{ *}}20.000 ms  20.000 ms {{ *}}20.000 ms  20.000 ms

// RUN: %prints %python %S/Inputs/check_run.py timeline %t/trace.json 4 '5 processes, threads compute @all @halves'

// RUN: commsched-opt %s -o /dev/null --commsched-report="format=json output=%t/report.json"
// RUN: commsched-run %s --ranks 4 --repeat=3 --modelled-times --format=json \
// RUN:   --output=%t/run.json | count 0
// RUN: %prints %python %S/Inputs/check_run.py measurements %t/run.json %t/report.json --modelled '2 collectives, repeat 3, 4 ranks, backend local'
// RUN: commsched-run %s --ranks 4 --format=json -o %t/run.json
// RUN: %prints %python %S/Inputs/check_run.py measurements %t/run.json %t/report.json '2 collectives, repeat 0, 4 ranks, backend local'

// Progress is printed on request, and not on standard output.
// RUN: commsched-run %s --ranks 4 --repeat=1 --progress 2>&1 -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=PROGRESS
// RUN: commsched-run %s --ranks 4 -o /dev/null 2>&1 | count 0
// PROGRESS: {{^}}commsched-run: compiling '{{.*}}commsched-run-measurements.mlir'
// PROGRESS-NEXT: {{^}}commsched-run: preparing
// PROGRESS-NEXT: {{^}}commsched-run: run 1 of 2 of
// PROGRESS-NEXT: {{^}}commsched-run: run 2 of 2 of
// PROGRESS-NEXT: {{^}}commsched-run: writing

// What was measured is what commsched-align-runtimes reads; what was not has no
// time.
// RUN: FileCheck %s --check-prefix=TIMES --input-file=%t/times/3.json
// TIMES: {"step":{"operations":["commsched.all_gather 'weights'","aten.mm","commsched.wait","commsched.all_reduce","commsched.wait","aten.view"],"runtime_ns":[10000000,30000000,null,20000000,null,null]}}
// RUN: commsched-opt %s --commsched-align-runtimes="ranks=%t/times/0.json,%t/times/1.json,%t/times/2.json,%t/times/3.json" \
// RUN:   | FileCheck %s --check-prefix=ALIGNED
// ALIGNED: commsched.all_gather {{.*}}runtime_ns = 10000000
// ALIGNED: commsched.compute "aten.mm"{{.*}}runtime_ns = 30000000

!t = tensor<4x4xf32>
commsched.group @all size(4)
commsched.group @halves size(2)

func.func @step(%shard: tensor<1x4xf32>, %x: !t) -> (!t, tensor<16xf32>) {
  %gather = commsched.all_gather %shard on @all dim(0)
      {commsched.name = "weights", commsched.runtime_ns = 10000000 : i64}
      : tensor<1x4xf32> -> !commsched.future<!t>
  %y = commsched.compute "aten.mm"(%x, %x) {commsched.runtime_ns = 30000000 : i64} : (!t, !t) -> !t
  %w = commsched.wait %gather : !commsched.future<!t>
  %reduce = commsched.all_reduce %y on @halves reduction(sum)
      {commsched.runtime_ns = 20000000 : i64} : !t -> !commsched.future<!t>
  %sum = commsched.wait %reduce : !commsched.future<!t>
  %flat = commsched.compute "aten.view"(%w)
      {alias = 0 : i64, commsched.runtime_ns = 0 : i64} : (!t) -> tensor<16xf32>
  return %sum, %flat : !t, tensor<16xf32>
}
