//===- SplitFunction.cpp - Split of a joint function ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitFunction.h"
#include "../Step/InlinedCalls.h"
#include "../Step/JoinedFunction.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::JointGraph;
using partition::JointNodeKind;
using partition::NodeId;
using partition::Split;

//===----------------------------------------------------------------------===//
// States of random operators
//===----------------------------------------------------------------------===//

/// The bytes of a counter-based generator's state: a seed and an offset.
static constexpr int64_t stateBytes = 16;

static bool isRecomputedAtRandom(ComputeOp op) {
  auto policy = dyn_cast_if_present<StringAttr>(
      op->getDiscardableAttr(recomputeAttrName));
  return policy && policy.getValue() == "must_recompute" &&
         op.getOperatorClass() == OperatorClass::Random;
}

/// The state that `op` starts from. It belongs where `op` does.
static Value createState(ComputeOp op) {
  OpBuilder builder(op);
  auto type = RankedTensorType::get({stateBytes}, builder.getI8Type());
  auto state = ComputeOp::create(
      builder, op.getLoc(), TypeRange(type), getStateCallee, ValueRange(),
      /*flops=*/{}, /*bytes=*/{}, /*alias=*/{}, /*mutates=*/{},
      /*random=*/true, /*split=*/{});
  for (StringRef kept : {moduleAttrName, partitionAttrName})
    if (Attribute value = op->getDiscardableAttr(kept))
      state->setDiscardableAttr(kept, value);
  if (StringRef name = getStableName(op); !name.empty())
    state->setDiscardableAttr(nameAttrName,
                              builder.getStringAttr(name + ".rng_state"));
  state->setDiscardableAttr(recomputeAttrName,
                            builder.getStringAttr("must_save"));
  return state.getResult(0);
}

RandomStates::RandomStates(func::FuncOp joint) {
  for (auto op : joint.getOps<ComputeOp>())
    if (isRecomputedAtRandom(op))
      threaded.push_back({op, op.getRandom()});
  for (auto [op, isRandom] : threaded) {
    op.getInputsMutable().append(createState(op));
    op.setRandom(false);
  }
}

RandomStates::~RandomStates() {
  for (auto [op, isRandom] : threaded) {
    MutableOperandRange inputs = op.getInputsMutable();
    unsigned last = inputs.size() - 1;
    Operation *state = op.getInputs()[last].getDefiningOp();
    inputs.erase(last);
    op.setRandom(isRandom);
    state->erase();
  }
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

PartitionNames mlir::commsched::getPartitionNames(func::FuncOp joint) {
  std::string name = joint.getSymName().str();
  return {name, name + "_forward", name + "_backward"};
}

LogicalResult mlir::commsched::checkPartitionSymbols(
    func::FuncOp joint, const PartitionNames &names, SymbolTable &symbols,
    const SymbolUserMap &users) {
  for (StringRef half : {names.forward, names.backward})
    if (Operation *other = symbols.lookup(half))
      return emitOpErrorWithNote(joint, other->getLoc(), "it is here")
             << "is to become '@" << names.forward << "' and '@"
             << names.backward << "', but there is a '@" << half << "'";
  for (Operation *user : users.getUsers(joint))
    if (!isa<func::CallOp>(user))
      return emitOpErrorWithNote(joint, user->getLoc(), "here")
             << "is to become '@" << names.forward << "' and '@"
             << names.backward
             << "', but something other than a call refers "
                "to it";
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The arguments of a joint function that one of its halves takes as its own.
/// As in torch/_functorch/partitioners.py, the seeds of a half come last.
static SmallVector<BlockArgument> getOwnArguments(func::FuncOp joint,
                                                  bool ofBackward) {
  SmallVector<BlockArgument> arguments, seeds;
  for (BlockArgument argument : joint.getArguments()) {
    StringRef role = getRole(argument);
    bool isSeed = role == forwardRngStateRole || role == backwardRngStateRole;
    if ((role == tangentRole || role == backwardRngStateRole) == ofBackward)
      (isSeed ? seeds : arguments).push_back(argument);
  }
  arguments.append(seeds);
  return arguments;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Calls both halves in place of the joint function, which would take `given`,
/// and be inlined or not. Returns what it would return.
static SmallVector<Value> callHalves(OpBuilder &builder, Location location,
                                     func::FuncOp joint, ValueRange given,
                                     PartitionHalves halves,
                                     bool noInline = false) {
  auto addOwn = [&](bool ofBackward, SmallVectorImpl<Value> &operands) {
    for (BlockArgument argument : getOwnArguments(joint, ofBackward))
      operands.push_back(given[argument.getArgNumber()]);
  };
  SmallVector<Value> operands;
  addOwn(/*ofBackward=*/false, operands);
  auto forward =
      func::CallOp::create(builder, location, halves.forward, operands);
  operands.assign(forward.result_begin() + halves.numForwardOutputs,
                  forward.result_end());
  addOwn(/*ofBackward=*/true, operands);
  auto backward =
      func::CallOp::create(builder, location, halves.backward, operands);
  forward.setNoInline(noInline);
  backward.setNoInline(noInline);
  SmallVector<Value> results(
      forward.getResults().take_front(halves.numForwardOutputs));
  llvm::append_range(results, backward.getResults());
  return results;
}

void mlir::commsched::replaceJoint(func::FuncOp joint,
                                   ArrayRef<Operation *> users,
                                   PartitionHalves halves) {
  for (func::FuncOp half : {halves.forward, halves.backward})
    half.setPrivate();
  for (Operation *user : users) {
    auto call = cast<func::CallOp>(user);
    OpBuilder builder(call);
    call->replaceAllUsesWith(callHalves(builder, call.getLoc(), joint,
                                        call.getOperands(), halves,
                                        call.getNoInline()));
    call.erase();
  }
  if (!users.empty())
    return joint.erase();
  Block &body = joint.getBody().front();
  body.clear();
  auto builder = OpBuilder::atBlockEnd(&body);
  func::ReturnOp::create(
      builder, joint.getLoc(),
      callHalves(builder, joint.getLoc(), joint, body.getArguments(), halves));
  joint->setDiscardableAttrs(
      dropWholeAttributes(joint->getDiscardableAttrDictionary())
          .getDictionary(joint.getContext()));
}

OwningOpRef<func::FuncOp> mlir::commsched::joinHalves(func::FuncOp joint,
                                                      PartitionHalves halves,
                                                      bool mayRename) {
  OpBuilder builder(joint);
  OwningOpRef<func::FuncOp> step =
      cast<func::FuncOp>(builder.cloneWithoutRegions(*joint));
  Block *body = step->addEntryBlock();
  builder.setInsertionPointToEnd(body);
  func::ReturnOp::create(
      builder, joint.getLoc(),
      callHalves(builder, joint.getLoc(), joint, body->getArguments(), halves));
  BodyInliner inliner =
      mayRename ? BodyInliner(*step) : BodyInliner(joint.getContext());
  for (func::CallOp call : llvm::to_vector(body->getOps<func::CallOp>()))
    inliner.inlineCall(call,
                       call.getCallee() == halves.forward.getSymName()
                           ? halves.forward
                           : halves.backward,
                       call.getCallee());
  renumberCollectives(*step);
  return step;
}

/// The call whose last results `call` takes as its first operands, and how many
/// there are. Null if there is none.
static std::pair<func::CallOp, unsigned> findSavingCall(func::CallOp call) {
  if (call.getNumOperands() == 0)
    return {};
  auto first = dyn_cast<OpResult>(call.getOperand(0));
  auto forward = first ? dyn_cast<func::CallOp>(first.getOwner()) : nullptr;
  if (!forward)
    return {};
  ResultRange saved = forward.getResults().drop_front(first.getResultNumber());
  if (saved.size() > call.getNumOperands() ||
      !llvm::equal(saved, call.getOperands().take_front(saved.size())))
    return {};
  return {forward, saved.size()};
}

std::vector<CalledHalves> mlir::commsched::findCalledHalves(ModuleOp module) {
  SymbolTableCollection symbols;
  llvm::MapVector<std::tuple<func::FuncOp, func::FuncOp, unsigned>,
                  CalledHalves>
      found;
  module.walk([&](func::CallOp call) {
    auto [saving, numSaved] = findSavingCall(call);
    auto lookUp = [&](func::CallOp of) {
      return symbols.lookupNearestSymbolFrom<func::FuncOp>(of,
                                                           of.getCalleeAttr());
    };
    func::FuncOp forward = saving ? lookUp(saving) : func::FuncOp();
    func::FuncOp backward = forward ? lookUp(call) : func::FuncOp();
    if (!backward)
      return;
    auto isBackward = [](func::FuncOp function) {
      return llvm::any_of(
          llvm::seq(function.getNumArguments()), [&](unsigned argument) {
            StringRef role = getRole(function, argument);
            return role == savedActivationRole || role == tangentRole;
          });
    };
    if (isBackward(forward) || !isBackward(backward))
      return;
    unsigned numOutputs = forward.getNumResults() - numSaved;
    CalledHalves &called = found[{forward, backward, numOutputs}];
    called.halves = {forward, backward, numOutputs};
    called.calls.push_back({saving, call});
  });
  std::vector<CalledHalves> result;
  for (auto &[key, called] : found)
    result.push_back(std::move(called));
  return result;
}

//===----------------------------------------------------------------------===//
// One half
//===----------------------------------------------------------------------===//

namespace {

struct Half {
  bool isForward;
  StringRef name;
  SmallVector<FunctionPort> arguments;
  SmallVector<FunctionPort> results;
  /// By node: whether this half computes it.
  const std::vector<char> *computes;
};

} // namespace

static void cloneOperation(OpBuilder &builder, Operation *op, bool ofForward,
                           IRMapping &mapping) {
  std::optional<int64_t> dimension = getStaticDimension(op);
  if (!dimension) {
    Operation *clone = builder.clone(*op, mapping);
    // What the backward computes again is no mark of a joint function.
    if (auto half = clone->getAttrOfType<StringAttr>(partitionAttrName);
        !ofForward && half && half.getValue().ends_with("forward"))
      clone->removeDiscardableAttr(partitionAttrName);
    return;
  }
  auto constant =
      arith::ConstantIndexOp::create(builder, op->getLoc(), *dimension);
  constant->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  mapping.map(op->getResult(0), constant.getResult());
}

/// The attributes of the joint function that hold for each half: not the ones
/// that say something of its results, its values or its memory. Profiles know
/// the operations by the graph that they were in.
static DictionaryAttr getHalfAttributes(func::FuncOp joint) {
  NamedAttrList attrs =
      dropWholeAttributes(joint->getDiscardableAttrDictionary());
  if (!attrs.get(graphAttrName))
    attrs.set(graphAttrName, joint.getSymNameAttr());
  return attrs.getDictionary(joint.getContext());
}

static func::FuncOp createHalf(OpBuilder &builder, const JointFunction &joint,
                               const Half &half) {
  func::FuncOp whole = joint.getFunction();
  IRMapping mapping;
  func::FuncOp function = createFunction(whole.getLoc(), half.name,
                                         half.arguments, half.results, mapping);
  function->setDiscardableAttrs(getHalfAttributes(whole));
  function.setNoInline(whole.getNoInline());
  builder.insert(function);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&function.getBody().front());
  const JointGraph &graph = joint.getGraph();
  for (NodeId node = 0; node < graph.size(); ++node)
    if (graph[node].kind == JointNodeKind::Operation && (*half.computes)[node])
      cloneOperation(builder, joint.getOperation(node), half.isForward,
                     mapping);
  SmallVector<Value> results =
      llvm::map_to_vector(half.results, [&](const FunctionPort &port) {
        return mapping.lookup(port.value);
      });
  Operation *end = whole.getBody().front().getTerminator();
  auto returnOp = func::ReturnOp::create(builder, end->getLoc(), results);
  returnOp->setDiscardableAttrs(end->getDiscardableAttrDictionary());
  return function;
}

//===----------------------------------------------------------------------===//
// Both halves
//===----------------------------------------------------------------------===//

DenseI64ArrayAttr mlir::commsched::getSizeHints(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  auto sized = dyn_cast<ShapedType>(getSizedType(value));
  if (!type || !type.hasRank() || type.hasStaticShape() || !sized ||
      !sized.hasStaticShape())
    return {};
  SmallVector<int64_t> hints;
  for (auto [size, hint] : llvm::zip_equal(type.getShape(), sized.getShape()))
    if (ShapedType::isDynamic(size))
      hints.push_back(hint);
  return DenseI64ArrayAttr::get(value.getContext(), hints);
}

/// `attrs`, which may be null, with the name of the saved value `node`.
static NamedAttrList addName(const JointFunction &joint, NodeId node,
                             DictionaryAttr attrs) {
  NamedAttrList named(attrs);
  func::FuncOp function = joint.getFunction();
  named.set(nameAttrName,
            StringAttr::get(function.getContext(), joint.getName(node)));
  return named;
}

/// Returns the attributes of the backward's argument for the saved value
/// `node`.
static DictionaryAttr getSavedArgumentAttrs(const JointFunction &joint,
                                            NodeId node) {
  func::FuncOp function = joint.getFunction();
  MLIRContext *context = function.getContext();
  if (auto argument = dyn_cast<BlockArgument>(joint.getValue(node)))
    return addName(joint, node,
                   function.getArgAttrDict(argument.getArgNumber()))
        .getDictionary(context);
  NamedAttrList attrs = addName(joint, node, {});
  attrs.set(roleAttrName, StringAttr::get(context, savedActivationRole));
  // In the backward there is no operation that has them.
  if (DenseI64ArrayAttr hints = getSizeHints(joint.getValue(node)))
    attrs.set(sizeHintsAttrName, hints);
  return attrs.getDictionary(context);
}

/// Adds the arguments and results of the halves other than saved values.
static void addOwnPorts(const JointFunction &joint, Half &forward,
                        Half &backward) {
  func::FuncOp function = joint.getFunction();
  const JointGraph &graph = joint.getGraph();
  for (auto [half, ofBackward] :
       {std::pair(&forward, false), std::pair(&backward, true)})
    for (BlockArgument argument : getOwnArguments(function, ofBackward))
      half->arguments.push_back(
          {argument, function.getArgAttrDict(argument.getArgNumber())});
  unsigned index = 0;
  for (NodeId node : graph.getForwardResults())
    forward.results.push_back(
        {joint.getValue(node), function.getResultAttrDict(index++)});
  for (NodeId node : graph.getBackwardResults())
    backward.results.push_back(
        {joint.getValue(node), function.getResultAttrDict(index++)});
}

OwnedHalves mlir::commsched::splitFunction(const JointFunction &joint,
                                           const Split &split,
                                           const PartitionNames &names) {
  func::FuncOp function = joint.getFunction();
  MLIRContext *context = function.getContext();
  OpBuilder builder(context);
  builder.setInsertionPointAfter(function);

  Half forward = {/*isForward=*/true, names.forward, {}, {}, &split.inForward};
  Half backward = {
      /*isForward=*/false, names.backward, {}, {}, &split.inBackward};
  for (NodeId node : split.saved)
    backward.arguments.push_back(
        {joint.getValue(node), getSavedArgumentAttrs(joint, node)});
  addOwnPorts(joint, forward, backward);
  for (NodeId node : split.saved)
    forward.results.push_back(
        {joint.getValue(node),
         addName(joint, node, {}).getDictionary(context)});

  OwnedHalves pair;
  pair.forward = createHalf(builder, joint, forward);
  pair.backward = createHalf(builder, joint, backward);
  pair.numForwardOutputs = joint.getNumForwardOutputs();
  return pair;
}
