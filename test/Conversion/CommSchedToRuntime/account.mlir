// RUN: commsched-opt %s --test-convert-commsched-to-requests | FileCheck %s
// RUN: commsched-opt %s --convert-commsched-to-runtime | FileCheck %s --check-prefix=CALLS

// What the program does itself is accounted for with what it is predicted to
// take: once where it stands, in loops too, and not for what is free.

!t = tensor<8xf32>
commsched.group @g size(4)

// CALLS: \22inputs\22:[],\22location\22:\22{{[^"]*}}\22,\22name\22:\22linalg.add\22,\22outputs\22:[]
// CALLS-LABEL: func.func @own_work
// CALLS: call @commsched_account(%c0_i32{{.*}}, %c9_i64

// CHECK-LABEL: func.func @own_work
// CHECK-NOT: account
// CHECK: commsched_rt.account "linalg.add" 9
// CHECK-NEXT: linalg.add
// CHECK-NOT: account
// CHECK: commsched_rt.compute "mm" 500
// CHECK-NOT: account
// CHECK: scf.for
// CHECK: commsched_rt.account "linalg.exp" 7
// CHECK-NEXT: linalg.exp
// CHECK-NOT: account
// CHECK: commsched_rt.account "commsched.chunk_cat" 5
// CHECK: commsched_rt.copy
// CHECK: scf.forall
// CHECK-NOT: account
// CHECK: return
func.func @own_work(%x: !t, %n: index) -> (!t, !t) {
  %e = tensor.empty() : !t
  %y = linalg.add {commsched.runtime_ns = 9} ins(%x, %x : !t, !t) outs(%e : !t) -> !t
  %m = commsched.compute "mm"(%y) {commsched.runtime_ns = 500} : (!t) -> !t
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %s = scf.for %i = %zero to %n step %one iter_args(%a = %m) -> !t {
    %b = linalg.exp {commsched.runtime_ns = 7} ins(%a : !t) outs(%e : !t) -> !t
    scf.yield %b : !t
  }
  %c = commsched.chunk_cat %s on @g {commsched.runtime_ns = 5} : !t -> !t
  %f = scf.forall (%i) in (2) shared_outs(%o = %c) -> !t {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[0] [8] [1] : !t into !t
    }
  }
  return %s, %f : !t, !t
}
