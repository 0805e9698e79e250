// RUN: commsched-opt %s -o /dev/null --commsched-set-costs="exclusive-groups" \
// RUN:   --commsched-report="format=json" | FileCheck %s --check-prefix=EXCLUSIVE
// RUN: commsched-opt %s -o /dev/null --commsched-set-costs="link-sharing" \
// RUN:   --commsched-report="format=json" | FileCheck %s --check-prefix=LINKS
// RUN: commsched-opt %s -o /dev/null \
// RUN:   --commsched-set-costs="exclusive-groups link-sharing compute-slowdown=0.25" \
// RUN:   --commsched-report | FileCheck %s --check-prefix=TABLE --strict-whitespace

// The same program with and without what operations that run at once take from
// each other. All collectives of @step are issued at 0, and 400 ns of
// computation follow.

// @node is inside a node; the others cross nodes. @all has two ranks and more
// of both others; those share at most one.
!t = tensor<64xi8>
!future = !commsched.future<!t>
commsched.group @node size(8)
commsched.group @across size(8) ranks_per_node(1) stride(8)
commsched.group @all size(64)

// @all waits for both others.
// EXCLUSIVE: "function":"step"{{.*}}"step_time_ns":400,
// EXCLUSIVE-SAME: "name":"node",{{[^}]*}}"start_ns":0,"end_ns":100,
// EXCLUSIVE-SAME: "name":"across",{{[^}]*}}"start_ns":0,"end_ns":120,
// EXCLUSIVE-SAME: "name":"all",{{[^}]*}}"start_ns":120,"end_ns":200,

// @across and @all share the network until @all has its 80 at 160; 40 of
// @across are left.
// LINKS: "function":"step"{{.*}}"step_time_ns":400,
// LINKS-SAME: "name":"node",{{[^}]*}}"start_ns":0,"end_ns":100,
// LINKS-SAME: "name":"across",{{[^}]*}}"start_ns":0,"end_ns":200,
// LINKS-SAME: "name":"all",{{[^}]*}}"start_ns":0,"end_ns":160,

// All together: @all waits for @across, so nobody shares a link, but
// computation gets on by 200 / 1.25 = 160 only until 200.
//      TABLE:function @step
//      TABLE:  step time                       440 ns
// TABLE-NEXT:  computation                     400 ns  90.9 % of the step
// TABLE-NEXT:  slowed down by                   40 ns  10.0 % of the computation
// TABLE-NEXT:  communication                   300 ns
// TABLE-NEXT:  exposed communication            40 ns  9.1 % of the step
// TABLE-NEXT:  lower bound                     400 ns  the step is 10.0 % above it
func.func @step(%x: !t) -> !t {
  %node = commsched.all_reduce %x on @node reduction(sum)
      {commsched.name = "node", commsched.runtime_ns = 100} : !t -> !future
  %across = commsched.all_reduce %x on @across reduction(sum)
      {commsched.name = "across", commsched.runtime_ns = 120} : !t -> !future
  %all = commsched.all_reduce %x on @all reduction(sum)
      {commsched.name = "all", commsched.runtime_ns = 80} : !t -> !future
  %y = commsched.compute "aten.mm"(%x) {commsched.runtime_ns = 400} : (!t) -> !t
  %a = commsched.wait %node : !future
  %b = commsched.wait %across : !future
  %c = commsched.wait %all : !future
  return %y : !t
}
