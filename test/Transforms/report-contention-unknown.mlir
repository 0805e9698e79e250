// RUN: commsched-test-opt %s -o /dev/null %remarks \
// RUN:   --commsched-set-costs="exclusive-groups link-sharing" \
// RUN:   --commsched-report="format=json" 2>&1 | FileCheck %s
// RUN: commsched-test-opt %s -o /dev/null %remarks \
// RUN:   --commsched-set-costs="link-sharing" --commsched-report="format=json" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PLACED

// Of a group of another dialect the number of ranks is known, but not which
// they are: it is exclusive with every other. One of a single rank is not.

commsched.group @dp size(8)

// CHECK: remark: [Analysis] UnknownContention | Category:commsched | Function=f
// CHECK-SAME: the ranks of group "c" are not known: it is taken to share devices with every other group and to cross nodes
// CHECK-NOT: remark:
// CHECK: "step_time_ns":60,
// CHECK-SAME: "group":"c",{{[^}]*}}"start_ns":0,"end_ns":30,
// CHECK-SAME: "group":"alone",{{[^}]*}}"start_ns":0,"end_ns":25,
// CHECK-SAME: "group":"dp",{{[^}]*}}"start_ns":30,"end_ns":60,

// Where its ranks are is known: inside a node, as those of @dp.
// PLACED-NOT: remark:
// PLACED: "step_time_ns":60,
// PLACED-SAME: "group":"c",{{[^}]*}}"start_ns":0,"end_ns":60,
// PLACED-SAME: "group":"alone",{{[^}]*}}"start_ns":0,"end_ns":25,
// PLACED-SAME: "group":"dp",{{[^}]*}}"start_ns":0,"end_ns":60,
func.func @f(%x: tensor<16xi8>) {
  %h = commsched_test.exchange %x over "c" ranks(2) {commsched.runtime_ns = 30} : tensor<16xi8>
  %i = commsched_test.exchange %x over "alone" ranks(1) {commsched.runtime_ns = 25} : tensor<16xi8>
  %j = commsched.all_reduce %x on @dp reduction(sum) {commsched.runtime_ns = 30}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %a = commsched_test.finish %h : tensor<16xi8>
  %b = commsched_test.finish %i : tensor<16xi8>
  %c = commsched.wait %j : !commsched.future<tensor<16xi8>>
  return
}
