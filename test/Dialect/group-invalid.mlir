// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics -allow-unregistered-dialect

commsched.group @one size(1)
commsched.group "private" @grid size(4) ranks_per_node(2) stride(4)
commsched.group @listed size(2) ranks_per_node(1) ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>)

func.func @barrier() {
  commsched.barrier on @one
  return
}

// A group is visible in the symbol table that declares it.
module @nested {
  commsched.group @inner size(2)
  func.func @barrier() {
    commsched.barrier on @inner
    return
  }
}

// -----

ROW

// -----

func.func @group_c1() {
  // expected-error@below {{'commsched.group' op symbol's parent must have the SymbolTable trait}}
  commsched.group @dp size(2)
  return
}

"foreign.program"() ({
  // expected-error@below {{'commsched.group' op must be declared at module level, not inside 'foreign.program' (C1)}}
  commsched.group @dp size(2)
}) : () -> ()
$error('commsched.group' op size(0) must be at least 1 (C2))
commsched.group @dp size(0)
$error('commsched.group' op size(-8) must be at least 1 (C2))
commsched.group @dp size(-8)
$error('commsched.group' op ranks_per_node(9) must be in [1, 8] (C3))
commsched.group @dp size(8) ranks_per_node(9)
$error('commsched.group' op ranks_per_node(0) must be in [1, 8] (C3))
commsched.group @dp size(8) ranks_per_node(0)
$error('commsched.group' op stride(0) must be at least 1 (C4))
commsched.group @dp size(8) stride(0)
$error('commsched.group' op has both 'stride' and 'ranks' (C4))
commsched.group @dp size(2) stride(2) ranks(dense<[[0, 1]]> : tensor<1x2xi64>)
$error('commsched.group' op 'ranks' must have the shape Nx3 for a group of size 3, not 'tensor<1x2xi64>' (C5))
commsched.group @dp size(3) ranks(dense<[[0, 1]]> : tensor<1x2xi64>)
$error('commsched.group' op 'ranks' must have the shape Nx2 for a group of size 2, not 'tensor<2xi64>' (C5))
commsched.group @dp size(2) ranks(dense<[0, 1]> : tensor<2xi64>)
$error('commsched.group' op 'ranks' must have the shape Nx2 for a group of size 2, not 'tensor<0x2xi64>' (C5))
commsched.group @dp size(2) ranks(dense<> : tensor<0x2xi64>)
$error('commsched.group' op 'ranks' lists the negative rank -1 (C6))
commsched.group @dp size(2) ranks(dense<[[0, -1]]> : tensor<1x2xi64>)
$error('commsched.group' op 'ranks' lists rank 1 twice (C6))
commsched.group @dp size(2) ranks(dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>)

  // expected-note@below {{see existing symbol definition here}}
  commsched.group @dp size(2)
  // expected-error@below {{redefinition of symbol named 'dp'}}
  commsched.group @dp size(4)

func.func @barrier_c1() {
  // expected-error@below {{'commsched.barrier' op names the group @dp, which does not exist (C1)}}
  commsched.barrier on @dp
  return
}

commsched.group @dp size(2)
module {
  func.func @barrier_c1_outer_symbol_table() {
    // expected-error@below {{'commsched.barrier' op names the group @dp, which does not exist (C1)}}
    commsched.barrier on @dp
    return
  }
}

// expected-note@below {{the symbol is defined here}}
func.func @rank_c1() -> index {
  // expected-error@below {{'commsched.rank' op names @rank_c1 as its group, which is a 'func.func' (C1)}}
  %0 = commsched.rank on @rank_c1 : index
  return %0 : index
}

  commsched.group @g size(2)
  // An operation that is not registered and has one region may be a symbol table.
  func.func @unregistered(%x: tensor<4xf32>) {
    "other.region"(%x) ({
    ^bb0(%a: tensor<4xf32>):
      // expected-error@below {{'commsched.all_reduce' op names the group @g, which cannot be looked up in a region of 'other.region': that is not registered, and may have symbols of its own (C1)}}
      $run(%w = all_reduce %a on @g reduction(sum) : tensor<4xf32> -> tensor<4xf32>)
      "other.yield"(%w) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> ()
    return
  }
