//===- RingProducts.cpp - Products that share a ring with moves -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RingProducts.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/CostModel/ProductWaves.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "ProductPatterns.h"
#include "Sample.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace mlir::commsched;

static RankedTensorType divide(Value value, unsigned dim, int64_t count) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= count;
  return type.clone(shape);
}

static int64_t getBytes(Value value) {
  return getStaticBytes(value.getType()).value_or(0);
}

namespace {

/// Writes what both peers have in common.
class RingWriter {
public:
  RingWriter(Block &block, OperationCosts &costs)
      : block(block), costs(costs), builder(block.getParentOp()) {}
  virtual ~RingWriter() = default;

  /// Emits an error when a cost is not known.
  LogicalResult rewrite(const ProductPatterns &patterns);

protected:
  /// The shards of all ranks, this rank's first, as they arrive.
  virtual SmallVector<Value> moveShards(Value shard, AllGatherOp start) = 0;
  /// What a rank has to do to put `shard`, the `index`-th to arrive, into the
  /// whole: bytes read and written.
  virtual int64_t getPlacedBytes(Value shard, int64_t index) = 0;
  /// What this rank gets of the sum over all ranks of their `parts`, the parts
  /// of a product by rank.
  virtual Value sumParts(ArrayRef<Value> parts, ReduceScatterOp start) = 0;

  /// Sends to the rank that is `distance` ahead in the ring. The moves that
  /// replace a collective take as long as it, together.
  Value move(Value value, FlatSymbolRefAttr group, int64_t distance);
  Value compute(StringRef callee, ValueRange inputs, Type type, int64_t bytes);
  /// Like `compute`, into the last input.
  Value computeInto(StringRef callee, ValueRange inputs, int64_t bytes);
  Value view(Value value, Type type);

  int64_t getNumRanks() const { return numRanks; }

private:
  LogicalResult rewriteGather(GatherPattern pattern);
  LogicalResult rewriteScatter(ScatterPattern pattern);
  void placeShards(WaitOp wait, ArrayRef<Value> shards);
  LogicalResult multiplyShards(const DividedProduct &divided,
                               ArrayRef<Value> shards);
  /// One chunk, into `into` if that is given.
  Value multiply(ComputeOp product, Value left, Value right, Value into,
                 Type type, int64_t chunkNs, int64_t index);
  Value slice(Value value, unsigned dim);
  /// Replaces `start` from here on.
  LogicalResult enter(Operation *start, int64_t numRanks);
  void setFrom(Operation *op);

  Block &block;
  OperationCosts &costs;
  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  int64_t numRanks = 1;
  int64_t moveNs = 0;
};

/// One shard after the other goes from rank to rank.
class WindowedEinsum : public RingWriter {
  using RingWriter::RingWriter;

  SmallVector<Value> moveShards(Value shard, AllGatherOp start) override;
  int64_t getPlacedBytes(Value shard, int64_t) override {
    return 2 * getBytes(shard);
  }
  Value sumParts(ArrayRef<Value> parts, ReduceScatterOp start) override;
};

/// Each rank copies from every other rank.
class MicroPipeline : public RingWriter {
  using RingWriter::RingWriter;

  SmallVector<Value> moveShards(Value shard, AllGatherOp start) override;
  /// The others are copied to where they belong.
  int64_t getPlacedBytes(Value shard, int64_t index) override {
    return index == 0 ? 2 * getBytes(shard) : 0;
  }
  Value sumParts(ArrayRef<Value> parts, ReduceScatterOp start) override;
};

} // namespace

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void RingWriter::setFrom(Operation *op) {
  builder.setInsertionPoint(op);
  loc = op->getLoc();
}

Value RingWriter::compute(StringRef callee, ValueRange inputs, Type type,
                          int64_t bytes) {
  auto op = ComputeOp::create(
      builder, loc, type, inputs,
      ArrayRef<NamedAttribute>{
          builder.getNamedAttr("bytes", builder.getI64IntegerAttr(bytes)),
          builder.getNamedAttr("callee", builder.getStringAttr(callee))});
  if (bytes == 0)
    op->setAttr(runtimeNsAttrName, builder.getI64IntegerAttr(0));
  return op.getResult(0);
}

Value RingWriter::computeInto(StringRef callee, ValueRange inputs,
                              int64_t bytes) {
  Value result = compute(callee, inputs, inputs.back().getType(), bytes);
  auto op = result.getDefiningOp<ComputeOp>();
  int64_t last = static_cast<int64_t>(inputs.size()) - 1;
  op.setAlias(last);
  op.setMutates(ArrayRef<int64_t>{last});
  return result;
}

Value RingWriter::view(Value value, Type type) {
  if (value.getType() == type)
    return value;
  Value result = compute("aten.view", value, type, 0);
  result.getDefiningOp<ComputeOp>().setAlias(0);
  return result;
}

Value RingWriter::slice(Value value, unsigned dim) {
  return view(value, divide(value, dim, numRanks));
}

Value RingWriter::move(Value value, FlatSymbolRefAttr group, int64_t distance) {
  SmallVector<int64_t> pairs;
  for (int64_t rank = 0; rank < numRanks; ++rank)
    pairs.append({rank, (rank + distance) % numRanks});
  auto type = RankedTensorType::get({numRanks, 2}, builder.getI64Type());
  auto start = PermuteOp::create(
      builder, loc, FutureType::get(builder.getContext(), value.getType()),
      value, group, DenseIntElementsAttr::get(type, ArrayRef<int64_t>(pairs)),
      ValueRange());
  start->setAttr(runtimeNsAttrName, builder.getI64IntegerAttr(moveNs));
  return WaitOp::create(builder, loc, start.getFuture()).getResult(0);
}

Value RingWriter::multiply(ComputeOp product, Value left, Value right,
                           Value into, Type type, int64_t chunkNs,
                           int64_t index) {
  Value result = into ? computeInto(product.getCallee(), {left, right, into}, 0)
                      : compute(product.getCallee(), {left, right}, type, 0);
  Operation *op = result.getDefiningOp();
  op->setAttr(runtimeNsAttrName, builder.getI64IntegerAttr(chunkNs));
  if (auto name = product->getAttrOfType<StringAttr>(nameAttrName))
    op->setAttr(nameAttrName, builder.getStringAttr(name.getValue() + ".chunk" +
                                                    Twine(index)));
  return result;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

static void eraseUnused(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (op->use_empty())
      op->erase();
}

LogicalResult RingWriter::rewrite(const ProductPatterns &patterns) {
  for (const GatherPattern &pattern : patterns.gathers)
    if (failed(rewriteGather(pattern)))
      return failure();
  for (const ScatterPattern &pattern : patterns.scatters)
    if (failed(rewriteScatter(pattern)))
      return failure();
  return success();
}

/// What one of `count` chunks of `product` takes: its part of the whole's time,
/// and more where the tiles of a part do not fill the device.
static FailureOr<int64_t> getChunkNs(OperationCosts &costs, ComputeOp product,
                                     ProductAxis axis, int64_t count) {
  OperationPrice whole = costs.price(product);
  if (!whole.isKnown())
    return product.emitOpError("has no known cost");
  ArrayRef<int64_t> left =
      cast<RankedTensorType>(product.getInputs()[0].getType()).getShape();
  ArrayRef<int64_t> right =
      cast<RankedTensorType>(product.getInputs()[1].getType()).getShape();
  cost::ProductShape shape{left[0], right[1], left[1], 1};
  cost::ProductShape chunk = shape;
  (axis == ProductAxis::Rows ? chunk.m : chunk.k) /= count;
  double slowdown =
      cost::getChunkSlowdown(costs.getTarget(), shape, chunk, count);
  return static_cast<int64_t>(std::ceil(static_cast<double>(whole.timeNs) /
                                        static_cast<double>(count) * slowdown));
}

LogicalResult RingWriter::multiplyShards(const DividedProduct &divided,
                                         ArrayRef<Value> shards) {
  ComputeOp product = divided.product;
  FailureOr<int64_t> chunkNs =
      getChunkNs(costs, product, divided.axis, numRanks);
  if (failed(chunkNs))
    return failure();
  setFrom(product);
  bool isSum = divided.axis == ProductAxis::Sum;
  auto type = cast<RankedTensorType>(product.getResult(0).getType());
  Value whole;
  if (!isSum)
    whole = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                    type.getElementType());
  for (auto [index, shard] : llvm::enumerate(shards)) {
    SmallVector<Value, 2> factors(product.getInputs());
    for (unsigned operand = 0; operand < 2; ++operand) {
      unsigned dim = operand == 0 && isSum ? 1 : 0;
      if (operand == divided.operand)
        factors[operand] = view(shard, divide(factors[operand], dim, numRanks));
      else if (isSum)
        factors[operand] = slice(factors[operand], dim);
    }
    whole = multiply(product, factors[0], factors[1], whole, type, *chunkNs,
                     static_cast<int64_t>(index));
  }
  product.getResult(0).replaceAllUsesWith(whole);
  product.erase();
  return success();
}

void RingWriter::placeShards(WaitOp wait, ArrayRef<Value> shards) {
  builder.setInsertionPoint(wait);
  auto type = cast<RankedTensorType>(wait.getResult(0).getType());
  Value whole = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  for (auto [index, shard] : llvm::enumerate(shards))
    whole = computeInto("aten.copy_", {shard, whole},
                        getPlacedBytes(shard, static_cast<int64_t>(index)));
  wait.getResult(0).replaceAllUsesWith(whole);
}

LogicalResult RingWriter::enter(Operation *start, int64_t size) {
  OperationPrice whole = costs.price(start);
  if (!whole.isKnown())
    return start->emitOpError("has no known cost");
  numRanks = size;
  moveNs = (whole.timeNs + size - 2) / (size - 1);
  return success();
}

LogicalResult RingWriter::rewriteGather(GatherPattern pattern) {
  if (failed(enter(pattern.start, pattern.numRanks)))
    return failure();
  WaitOp wait = pattern.wait;
  setFrom(wait);
  SmallVector<Value> shards =
      moveShards(pattern.start.getInputs()[0], pattern.start);
  for (const DividedProduct &product : pattern.products)
    if (failed(multiplyShards(product, shards)))
      return failure();
  eraseUnused(pattern.views);
  if (!wait.use_empty())
    placeShards(wait, shards);
  eraseUnused({wait, pattern.start});
  return success();
}

LogicalResult RingWriter::rewriteScatter(ScatterPattern pattern) {
  if (failed(enter(pattern.start, pattern.numRanks)))
    return failure();
  ComputeOp product = pattern.product;
  FailureOr<int64_t> chunkNs =
      getChunkNs(costs, product, ProductAxis::Rows, numRanks);
  if (failed(chunkNs))
    return failure();
  setFrom(product);
  SmallVector<Value> parts;
  for (int64_t index = 0; index < numRanks; ++index)
    parts.push_back(multiply(
        product, slice(product.getInputs()[0], 0), product.getInputs()[1],
        Value(), divide(product.getResult(0), 0, numRanks), *chunkNs, index));
  WaitOp wait = pattern.wait;
  Value sum = sumParts(parts, pattern.start);
  wait.getResult(0).replaceAllUsesWith(view(sum, wait.getResult(0).getType()));
  eraseUnused({wait, pattern.start});
  eraseUnused(pattern.views);
  product.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Peers
//===----------------------------------------------------------------------===//

SmallVector<Value> WindowedEinsum::moveShards(Value shard, AllGatherOp start) {
  SmallVector<Value> shards = {shard};
  for (int64_t index = 1; index < getNumRanks(); ++index)
    shards.push_back(move(shards.back(), start.getGroupAttr(), 1));
  return shards;
}

Value WindowedEinsum::sumParts(ArrayRef<Value> parts, ReduceScatterOp start) {
  Value sum = parts.front();
  for (Value part : parts.drop_front())
    sum = computeInto("aten.add_", {move(sum, start.getGroupAttr(), 1), part},
                      3 * getBytes(part));
  return sum;
}

SmallVector<Value> MicroPipeline::moveShards(Value shard, AllGatherOp start) {
  SmallVector<Value> shards = {shard};
  // Into memory that the other ranks can read.
  Value shared =
      compute("symm_mem.copy_in", shard, shard.getType(), 2 * getBytes(shard));
  for (int64_t distance = 1; distance < getNumRanks(); ++distance)
    shards.push_back(move(shared, start.getGroupAttr(), distance));
  return shards;
}

Value MicroPipeline::sumParts(ArrayRef<Value> parts, ReduceScatterOp start) {
  SmallVector<Value> received = {parts.front()};
  for (auto [index, part] : llvm::enumerate(parts.drop_front()))
    received.push_back(
        move(part, start.getGroupAttr(), static_cast<int64_t>(index) + 1));
  return compute("aten.sum.dim_IntList", received, parts.front().getType(),
                 (getNumRanks() + 1) * getBytes(parts.front()));
}

template <typename Writer>
static FailureOr<PeerRun> divideAndRun(LoneFunction &function, bool withSums,
                                       StringRef pipeline) {
  CostAnalysis analysis(function.getModule());
  if (!analysis.getCosts())
    return failure();
  LogicalResult result = failure();
  std::string note;
  Sample sample = takeSample([&] {
    ProductPatterns patterns =
        findProductPatterns(function.getBlock(), withSums);
    note = llvm::formatv("{0} gathers and {1} scatters divided",
                         patterns.gathers.size(), patterns.scatters.size())
               .str();
    Writer writer(function.getBlock(), *analysis.getCosts());
    result = writer.rewrite(patterns);
  });
  if (failed(result))
    return failure();
  FailureOr<PeerRun> run = runPipeline(function, pipeline);
  if (failed(run))
    return failure();
  run->scheduleMs += static_cast<double>(sample.timeNs) / 1e6;
  run->note = note;
  return run;
}

FailureOr<PeerRun> mlir::commsched::windowEinsums(LoneFunction &function,
                                                  StringRef pipeline) {
  return divideAndRun<WindowedEinsum>(function, /*withSums=*/true, pipeline);
}

FailureOr<PeerRun> mlir::commsched::pipelineProducts(LoneFunction &function,
                                                     StringRef pipeline) {
  return divideAndRun<MicroPipeline>(function, /*withSums=*/false, pipeline);
}
