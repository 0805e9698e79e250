// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

LET $in(ROLE) attributes {commsched.steady_state = {step = @step, role = "ROLE", depth = 2 : i64}}
LET $prologue func.func private @prologue(tensor<4xf32> {commsched.step_argument = 0 : i64, commsched.repetition = 0 : i64})
      -> !commsched.future<tensor<4xf32>> $in(prologue)

commsched.group @dp size(4)
ROW

// -----

func.func private @step(tensor<4xf32>) -> tensor<4xf32>
$prologue
  // expected-error@below {{'func.func' op carries a collective in flight in argument 0 of 'func.func' that is never waited for (C2)}}
func.func @epilogue(
    // expected-note@below {{the future comes from here}}
    %reducing: !commsched.future<tensor<4xf32>>) $in(epilogue) {
  return
}

func.func private @step(tensor<4xf32>) -> tensor<4xf32>
$prologue
func.func @steady(
    // expected-note@below {{the future comes from here}}
    %reducing: !commsched.future<tensor<4xf32>>, %x: tensor<4xf32> {commsched.step_argument = 0 : i64}) -> !commsched.future<tensor<4xf32>> $in(steady) {
  // expected-note@below {{the first wait is here}}
  %0 = commsched.wait %reducing : !commsched.future<tensor<4xf32>>
  // expected-error@below {{'func.return' op hands over the future of argument 0 of 'func.func' a second time (C2)}}
  return %reducing : !commsched.future<tensor<4xf32>>
}

func.func private @step(tensor<4xf32>) -> tensor<4xf32>
$prologue
func.func @steady(
    %reducing: !commsched.future<tensor<4xf32>>, %x: tensor<4xf32> {commsched.step_argument = 0 : i64}) -> !commsched.future<tensor<4xf32>> $in(steady) {
  %0 = commsched.wait %reducing : !commsched.future<tensor<4xf32>>
  // expected-note@below {{the collective starts here}}
  %next = commsched.all_reduce %x on @dp reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-note@below {{the first wait is here}}
  %1 = commsched.wait %next : !commsched.future<tensor<4xf32>>
  // expected-error@below {{'func.return' op hands over the future of 'commsched.all_reduce' a second time (C2)}}
  return %next : !commsched.future<tensor<4xf32>>
}

func.func @loop(%x: tensor<4xf32>, %n: index) {
  %future = commsched.all_reduce %x on @dp reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{'scf.for' op carries a collective in flight in result 0 of 'scf.for' that is never waited for (C2)}}
  // expected-note@below {{the future comes from here}}
  %last = scf.for %i = %n to %n step %n iter_args(%f = %future) -> !commsched.future<tensor<4xf32>> {
    scf.yield %f : !commsched.future<tensor<4xf32>>
  } {commsched.pipelined}
  return
}

func.func @loop(%x: tensor<4xf32>, %n: index) {
  %future = commsched.all_reduce %x on @dp reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{'scf.for' op carries a collective in flight in argument 1 of 'scf.for' that is never waited for (C2)}}
  // expected-note@below {{the future comes from here}}
  %last = scf.for %i = %n to %n step %n iter_args(%f = %future) -> !commsched.future<tensor<4xf32>> {
    %next = commsched.all_reduce %x on @dp reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    scf.yield %next : !commsched.future<tensor<4xf32>>
  } {commsched.pipelined}
  %0 = commsched.wait %last : !commsched.future<tensor<4xf32>>
  return
}

func.func @loop(%x: tensor<4xf32>, %n: index) {
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-note@below {{it is first handed over here}}
  %last = scf.for %i = %n to %n step %n iter_args(%f = %future) -> !commsched.future<tensor<4xf32>> {
    scf.yield %f : !commsched.future<tensor<4xf32>>
  } {commsched.pipelined}
  // expected-error@below {{'commsched.wait' op waits a second time for the future of 'commsched.all_reduce' (C2)}}
  %0 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  %1 = commsched.wait %last : !commsched.future<tensor<4xf32>>
  return
}

// -----

commsched.group @dp size(4)
func.func private @step(tensor<4xf32>) -> tensor<4xf32>
ROW

// -----

  // expected-note@below {{the prologue is here}}
  $prologue
  // expected-error@below {{'func.func' op has type '!commsched.future<tensor<8xf32>>' for argument 0, but the state of the prologue '@prologue' has '!commsched.future<tensor<4xf32>>' (C5)}}
  func.func private @epilogue(!commsched.future<tensor<8xf32>>) $in(epilogue)

  // expected-note@below {{the prologue is here}}
  $prologue
  // expected-error@below {{'func.func' op has 0 results, but the state of the prologue '@prologue' has 1 values (C5)}}
  func.func private @steady(!commsched.future<tensor<4xf32>>) $in(steady)

  // expected-note@below {{the prologue is here}}
  $prologue
  // expected-error@below {{'func.func' op has depth 3, but its prologue has 2}}
  func.func private @epilogue(!commsched.future<tensor<4xf32>>)
      attributes {commsched.steady_state = {step = @step, role = "epilogue", depth = 3 : i64}}

$error('func.func' op is the epilogue of @step, which has no prologue)
func.func private @epilogue(!commsched.future<tensor<4xf32>>) $in(epilogue)

  // expected-note@below {{the first one is here}}
  $prologue
  // expected-error@below {{'func.func' op is a second prologue of @step}}
  func.func private @again() -> !commsched.future<tensor<4xf32>> $in(prologue)

$error('func.func' op argument 0 is behind the state, but lacks 'commsched.step_argument')
func.func private @prologue(tensor<4xf32>) $in(prologue)

$error('func.func' op argument 0 is of repetition 1, but the prologue of depth 2 has 1)
func.func private @prologue(tensor<4xf32> {commsched.step_argument = 0 : i64, commsched.repetition = 1 : i64}) $in(prologue)

  $prologue
  // expected-error@below {{'func.func' op argument 0 is state, but has 'commsched.step_argument'}}
  func.func private @epilogue(!commsched.future<tensor<4xf32>> {commsched.step_argument = 0 : i64}) $in(epilogue)

$error('func.func' op attribute 'commsched.step_argument' of argument 0 needs 'commsched.steady_state' on the function)
func.func private @plain(tensor<4xf32> {commsched.step_argument = 0 : i64})

$error('func.func' op attribute 'commsched.repetition' of result 0 must be an i64 that is not negative, not "last")
func.func private @plain() -> (tensor<4xf32> {commsched.repetition = "last"})

// -----

ROW

// -----

$error('func.func' op attribute 'commsched.steady_state' names the step @step, which is no function of the module)
func.func private @prologue() $in(prologue)

$error('func.func' op attribute 'commsched.steady_state' must be a dictionary, not 2 : i64)
func.func private @steady() attributes {commsched.steady_state = 2 : i64}

$error('func.func' op attribute 'commsched.steady_state' has the unknown key 'way'; it takes 'step', 'role' and 'depth')
func.func private @steady() attributes {commsched.steady_state = {step = @step, role = "steady", depth = 2 : i64, way = 1 : i64}}

$error('func.func' op attribute 'commsched.steady_state' lacks the key 'depth')
func.func private @steady() attributes {commsched.steady_state = {step = @step, role = "steady"}}

$error('func.func' op attribute 'commsched.steady_state' has the step "step", which is no symbol)
func.func private @steady() attributes {commsched.steady_state = {step = "step", role = "steady", depth = 2 : i64}}

$error('func.func' op attribute 'commsched.steady_state' has the role "last", which is none of "prologue", "steady", "epilogue")
func.func private @steady() $in(last)

$error('func.func' op attribute 'commsched.steady_state' has the depth 1 : i64, which is no i64 of at least 2)
func.func private @steady() attributes {commsched.steady_state = {step = @step, role = "steady", depth = 1 : i64}}

$error('builtin.module' op attribute 'commsched.steady_state' belongs on a function)
module attributes {commsched.steady_state} {
}

func.func @f() {
  // expected-error@below {{'func.call' op attribute 'commsched.pipelined' belongs on a loop}}
  call @f() {commsched.pipelined} : () -> ()
  return
}

func.func @f(%n: index) {
  // expected-error@below {{'scf.for' op attribute 'commsched.pipelined' must be a unit attribute, not 2 : i64}}
  scf.for %i = %n to %n step %n {
  } {commsched.pipelined = 2 : i64}
  return
}

// -----

commsched.group @dp size(4)
ROW

// -----

  // expected-note@below {{the step is here}}
  func.func private @step(tensor<4xf32>) -> tensor<4xf32>
  // expected-error@below {{'func.func' op argument 0 has 'commsched.step_argument' 0 and type 'tensor<8xf32>', but that of the step '@step' has type 'tensor<4xf32>'}}
  func.func private @prologue(tensor<8xf32> {commsched.step_argument = 0 : i64}) $in(prologue)

  // expected-note@below {{the step is here}}
  func.func private @step(tensor<4xf32>) -> tensor<4xf32>
  // expected-error@below {{'func.func' op argument 0 has 'commsched.step_argument' 1, but the step '@step' has 1}}
  func.func private @prologue(tensor<4xf32> {commsched.step_argument = 1 : i64}) $in(prologue)

  // expected-note@below {{the step is here}}
  func.func private @step(tensor<4xf32>) -> tensor<4xf32>
  $prologue
  // expected-error@below {{'func.func' op result 0 has 'commsched.step_result' 0 and type 'tensor<8xf32>', but that of the step '@step' has type 'tensor<4xf32>'}}
  func.func private @epilogue(!commsched.future<tensor<4xf32>>) -> (tensor<8xf32> {commsched.step_result = 0 : i64}) $in(epilogue)
