// Where nothing fits, other options are tried, and what they give is said: what a
// run with them takes.

// DEFINE: %{run} = commsched-opt %t.mlir -o /dev/null --remarks-filter=commsched --commsched-pipeline=

// RUN: %rows %s > %t.mlir
// RUN: %{run}memory-budget=13MiB > %t.log 2>&1
// RUN: %{run}"memory-budget=13MiB host-memory=8MiB" >> %t.log 2>&1
// RUN: %{run}"memory-budget=13MiB quantize=auto" >> %t.log 2>&1
// RUN: %{run}"memory-budget=13MiB host-memory=4MiB quantize=auto" >> %t.log 2>&1
// RUN: FileCheck %s < %t.log
// RUN: not %{run}"memory-budget=13MiB strict" 2>&1 | FileCheck %s --check-prefix=STRICT

// The warnings are those of the check of the whole step; the remarks are in front.
// CHECK-DAG: MemoryFitted {{.*}}Function=host {{.*}}StepNs=9900000
// CHECK-DAG: MemoryExceeded {{.*}}Function=host {{.*}}; 'host' would fit with host-memory=8MiB in 8100000 ns
// CHECK-DAG: warning: 'host': memory-budget=13MiB cannot be met: the schedule that needs least takes 18874398 bytes, 5242910 over the budget of 13631488; 'host' would fit with host-memory=8MiB in [[#HOST:]] ns instead of 9900000 (-18.2 %), but not with quantize=auto{{$}}
// CHECK-DAG: warning: 'eight_bits': {{.*}}; 'eight_bits' would fit with host-memory=8MiB in [[#COPIED:]] ns instead of 6300000 (+0.0 %) or with quantize=auto in [[#EIGHT:]] ns instead of 6300000 (+0.3 %){{$}}
// CHECK-DAG: warning: 'both': {{.*}}; 'both' would fit with host-memory=4MiB quantize=auto in [[#BOTH:]] ns instead of 700000 (+2.3 %), but not with more host-memory or with quantize=auto{{$}}
// CHECK-DAG: warning: 'step': {{.*}}; 'nothing' would not fit with more host-memory or with quantize=auto or with both{{$}}

// CHECK: MemoryFitted {{.*}}Function=host | AllowedBytes=13631488, {{.*}}PeakBytes=12582942, {{.*}}StepNs=[[#HOST]]{{$}}
// CHECK: MemoryFitted {{.*}}Function=eight_bits {{.*}}with transfers, {{.*}}StepNs=[[#COPIED]]{{$}}
// CHECK: MemoryFitted {{.*}}Function=eight_bits {{.*}}in 8 bits, {{.*}}StepNs=[[#EIGHT]]{{$}}
// CHECK: MemoryFitted {{.*}}Function=both {{.*}}in 8 bits, with transfers, {{.*}}StepNs=[[#BOTH]]{{$}}

// STRICT: error: cannot be fitted: the step that needs least takes 18874398 bytes, {{.*}}; 'host' would fit with host-memory=8MiB in 8100000 ns instead of 9900000 (-18.2 %), but not with quantize=auto

!t = tensor<10xbf16>
!u = tensor<1024x4096xbf16>

// What has to be saved goes to the host, and what was computed again before is
// saved in its place.

func.func @host(%x: tensor<10xi8> $in, %dy: tensor<10xi8> $tangent) -> (tensor<10xi8>, tensor<10xi8>) $joint {
  %a = commsched.compute "aten.mm"(%x) {commsched.name = "a", commsched.recompute = "must_save",
      commsched.runtime_ns = 900000} : (tensor<10xi8>) -> tensor<8388608xi8>
  $take(%b = aten.mm %a in 900000 ns : (tensor<8388608xi8>) -> tensor<10xi8>)
  $take(%c = aten.mm %b in 900000 ns : (tensor<10xi8>) -> tensor<2097152xi8>)
  $take(%d = aten.mm %c in 900000 ns : (tensor<2097152xi8>) -> tensor<10xi8>)
  $take(%t = aten.mm %d in 900000 ns : (tensor<10xi8>) -> tensor<10485760xi8>)
  $take(%y = y %t in 900000 ns : (tensor<10485760xi8>) -> tensor<10xi8>)
  $take(%dt = back %dy in 900000 ns : (tensor<10xi8>) -> tensor<10xi8>)
  $take(%dc = back %dt, %c in 900000 ns : (tensor<10xi8>, tensor<2097152xi8>) -> tensor<10xi8>)
  $take(%da = back %dc, %a in 900000 ns : (tensor<10xi8>, tensor<8388608xi8>) -> tensor<10xi8>)
  return %y, %da : tensor<10xi8>, tensor<10xi8>
}

// Casts take time, transfers of the same do not.

func.func @eight_bits(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %a = commsched.compute "aten.mm"(%x) {commsched.name = "a", commsched.recompute = "must_save",
      commsched.runtime_ns = 900000} : (!t) -> !u
  $take(%b = aten.mm %a in 900000 ns : (!u) -> !t)
  $take(%c = aten.mm %b in 900000 ns : (!t) -> !t)
  $take(%t = aten.mm %c in 900000 ns : (!t) -> !u)
  $take(%y = y %t in 900000 ns : (!u) -> !t)
  $take(%dt = back %dy in 900000 ns : (!t) -> !t)
  $take(%da = back %dt, %a in 900000 ns : (!t, !u) -> !t)
  return %y, %da : !t, !t
}

// The backward hides the transfer of 8 bits only, which alone do not suffice.

func.func @both(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %a = commsched.compute "aten.mm"(%x) {commsched.name = "a", commsched.recompute = "must_save",
      commsched.runtime_ns = 100000} : (!t) -> !u
  $take(%b = aten.mm %a in 100000 ns : (!u) -> !t)
  $take(%c = aten.mm %b in 100000 ns : (!t) -> !t)
  $take(%t = aten.mm %c in 100000 ns : (!t) -> tensor<2048x2560xbf16>)
  $take(%y = y %t in 100000 ns : (tensor<2048x2560xbf16>) -> !t)
  $take(%dt = back %dy in 100000 ns : (!t) -> !t)
  $take(%da = back %dt, %a in 100000 ns : (!t, !u) -> !t)
  return %y, %da : !t, !t
}

// Nothing hides any transfer. A step that calls the function says the same.

func.func @step(%x: tensor<10xi8>, %dy: tensor<10xi8>) -> (tensor<10xi8>, tensor<10xi8>) {
  %y, %da = func.call @nothing(%x, %dy) : (tensor<10xi8>, tensor<10xi8>) -> (tensor<10xi8>, tensor<10xi8>)
  return %y, %da : tensor<10xi8>, tensor<10xi8>
}
func.func private @nothing(%x: tensor<10xi8> $in, %dy: tensor<10xi8> $tangent) -> (tensor<10xi8>, tensor<10xi8>) $joint {
  %a = commsched.compute "aten.mm"(%x) {commsched.name = "a", commsched.recompute = "must_save",
      commsched.runtime_ns = 1000} : (tensor<10xi8>) -> tensor<8388608xi8>
  $take(%t = aten.mm %a in 1000 ns : (tensor<8388608xi8>) -> tensor<10485760xi8>)
  $take(%y = y %t in 1000 ns : (tensor<10485760xi8>) -> tensor<10xi8>)
  $take(%da = back %dy, %a in 1000 ns : (tensor<10xi8>, tensor<8388608xi8>) -> tensor<10xi8>)
  return %y, %da : tensor<10xi8>, tensor<10xi8>
}
