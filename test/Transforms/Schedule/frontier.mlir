// RUN: %rows %s > %t.mlir
// RUN: rm -rf %t && mkdir %t
// RUN: commsched-opt %t.mlir > %t/input.mlir
// RUN: commsched-opt %t.mlir --commsched-frontier=file=%t/out.csv | diff %t/input.mlir -
// RUN: FileCheck %s --check-prefix=CSV --match-full-lines < %t/out.csv

// Other formats hold the same, whether or not functions are scheduled at once.
// RUN: commsched-opt %t.mlir --commsched-frontier=file=%t/out.json -o /dev/null
// RUN: %python %S/Inputs/compare_frontiers.py %t/out.csv %t/out.json
// RUN: commsched-opt %t.mlir --commsched-frontier -o /dev/null | diff %t/out.csv -
// RUN: commsched-opt %t.mlir --commsched-frontier=file=%t/out.csv \
// RUN:   --mlir-disable-threading -o %t/out.mlir
// RUN: FileCheck %s --check-prefix=CSV --match-full-lines < %t/out.csv

// The budget that is asked for is among those that are tried. The points are
// what commsched-schedule makes of the budgets.
// RUN: commsched-opt %t.mlir -o /dev/null \
// RUN:   --commsched-frontier="memory-budget=1101 file=%t/asked.csv"
// RUN: FileCheck %s --check-prefix=CSV --match-full-lines < %t/asked.csv
// RUN: commsched-opt %t.mlir -o %t/with.mlir --commsched-schedule=memory-budget=1101
// RUN: %prints commsched-opt %t/with.mlir --commsched-report=format=json -o /dev/null '"function":"step"{{.*}}"step_time_ns":350,{{.*}}"peak_memory_bytes":1101,'

// Percentages stay those of the first input.
// RUN: commsched-opt %t/with.mlir -o /dev/null --commsched-frontier=file=%t/again.csv
// RUN: FileCheck %s --check-prefix=AGAIN --match-full-lines < %t/again.csv

// A function that fails keeps the file from being written.
// RUN: %fails commsched-opt %S/unknown.mlir -split-input-file -o /dev/null --commsched-frontier=file=%t/failed.csv 'error: {{.*}}takes 1 ns, which together with the operations before it does not fit 64 bits'
// RUN: not grep '^too_long,' %t/failed.csv

// The points of each function, in the order of the module: from the least
// memory to the most, only where more memory makes the step shorter.
// CSV: function,budget_bytes,peak_bytes,step_time_ns,lower_bound_ns,exposed_comm_ns,num_collectives
// CSV-NEXT: step,1001,1001,450,250,200,2
// CSV-NEXT: step,1101,1101,350,250,100,2
// CSV-NEXT: step,1201,1201,250,250,0,2
// CSV-NEXT: "with,comma and ""quotes""",2,2,10,10,10,1
// CSV-NOT: {{.}}
// AGAIN: step,1201,1201,250,250,0,2

!t = tensor<100xi8>
commsched.group @g size(2)

func.func private @declared(tensor<1xi8>)

func.func @step(%x: !t) -> (!t, !t, tensor<1xi8>) {
  %l = commsched.compute "large"(%x) {commsched.runtime_ns = 200} : (!t) -> tensor<900xi8>
  %s = commsched.compute "small"(%l) {commsched.runtime_ns = 50} : (tensor<900xi8>) -> tensor<1xi8>
  $run(%w0 = all_reduce %x on @g reduction(max) {commsched.runtime_ns = 100} : !t -> !t)
  $run(%w1 = all_reduce %x on @g reduction(min) {commsched.runtime_ns = 100} : !t -> !t)
  return %w0, %w1, %s : !t, !t, tensor<1xi8>
}

func.func @no_collective(%x: tensor<1xi8>) -> tensor<1xi8> {
  return %x : tensor<1xi8>
}

func.func @"with,comma and \22quotes\22"(%x: tensor<1xi8>) -> tensor<1xi8> {
  $run(%w = all_reduce %x on @g reduction(max) {commsched.runtime_ns = 10} : tensor<1xi8> -> tensor<1xi8>)
  return %w : tensor<1xi8>
}
