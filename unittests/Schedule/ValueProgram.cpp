//===- ValueProgram.cpp - Programs of values for tests --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ValueProgram.h"
#include "../Testing.h"

#include <algorithm>
#include <set>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::testing;
using namespace mlir::commsched::schedule::testing;

//===----------------------------------------------------------------------===//
// The problem of a program
//===----------------------------------------------------------------------===//

ValueId ValueProgram::findRoot(ValueId value) const {
  while (value >= 0 && operations[value].isView)
    value = operations[value].operands[0].value;
  return value;
}

std::map<ValueId, BufferId> ValueProgram::findBuffers() const {
  std::map<ValueId, BufferId> buffers;
  for (size_t i = 0; i < argumentBytes.size(); ++i)
    buffers[-1 - static_cast<ValueId>(i)] = static_cast<BufferId>(i);
  for (size_t i = 0; i < operations.size(); ++i)
    if (!operations[i].isView)
      buffers.insert(
          {static_cast<ValueId>(i), static_cast<BufferId>(buffers.size())});
  return buffers;
}

Problem ValueProgram::makeProblem() const {
  Problem problem;
  std::map<ValueId, BufferId> buffers = findBuffers();
  std::set<ValueId> kept;
  for (size_t i = 0; i < operations.size(); ++i)
    if (operations[i].isReturned)
      kept.insert(findRoot(static_cast<ValueId>(i)));
  for (int64_t bytes : argumentBytes)
    problem.addBuffer(bytes, noNode, /*freed=*/false);
  for (size_t i = 0; i < operations.size(); ++i)
    if (!operations[i].isView)
      problem.addBuffer(operations[i].bytes, static_cast<NodeId>(i),
                        kept.count(static_cast<ValueId>(i)) == 0);
  for (const ValueOperation &op : operations) {
    if (op.kind == NodeKind::Wait) {
      ValueId start = op.operands[0].value;
      NodeId wait = problem.addWait(start);
      problem.addUse(buffers[start], wait);
      for (const ValueOperation::Operand &operand : operations[start].operands)
        problem.addUse(buffers[findRoot(operand.value)], wait);
      continue;
    }
    NodeId node = problem.addNode(op.kind, op.costNs, op.stream);
    for (const ValueOperation::Operand &operand : op.operands) {
      if (operand.value >= 0)
        problem.addDependence(operand.value, node, DependenceKind::Data);
      problem.addUse(buffers[findRoot(operand.value)], node);
    }
  }
  for (const Dependence &edge : others)
    problem.addDependence(edge.from, edge.to, edge.kind);
  problem.finalize();
  return problem;
}

//===----------------------------------------------------------------------===//
// Random programs
//===----------------------------------------------------------------------===//

namespace {

class ValueWriter {
public:
  explicit ValueWriter(uint64_t seed) : random(seed) {}

  ValueProgram write(int32_t maxOperations);

private:
  ValueId drawValue();
  Way drawWay(ValueId value, int32_t region);
  void addOperation();
  void addWait();
  void addOthers();
  bool isCopiedView(ValueId value) const;
  void drawReturned();

  Random random;
  ValueProgram program;
  std::vector<ValueId> pending;
  int32_t region = -1;
};

} // namespace

ValueId ValueWriter::drawValue() {
  auto &operations = program.operations;
  int64_t numArguments = static_cast<int64_t>(program.argumentBytes.size());
  int64_t size = static_cast<int64_t>(operations.size());
  while (true) {
    // Mostly recent values.
    int64_t range = random.percent(70) ? std::min<int64_t>(size, 4) : size;
    int64_t drawn = random.below(range + (range < size ? 0 : numArguments));
    ValueId value = drawn < range ? static_cast<ValueId>(size - 1 - drawn)
                                  : static_cast<ValueId>(range - 1 - drawn);
    if (value < 0 || operations[value].kind != NodeKind::Start)
      return value;
    if (random.percent(50))
      return -1;
  }
}

Way ValueWriter::drawWay(ValueId value, int32_t region) {
  if (region < 0 || value < 0 || program.operations[value].region != region)
    return region >= 0 && random.percent(50) ? Way::Copied : Way::Free;
  int64_t dice = random.below(100);
  return dice < 75 ? Way::Chunk : dice < 93 ? Way::Whole : Way::WholeCopied;
}

void ValueWriter::addOperation() {
  ValueOperation op;
  op.label = std::to_string(program.operations.size());
  if (random.percent(30))
    region = static_cast<int32_t>(random.below(3)) - 1;
  op.region = region;
  op.kind = random.percent(30) ? NodeKind::Start : NodeKind::Compute;
  if (op.kind == NodeKind::Start)
    op.stream = static_cast<StreamId>(random.below(2));
  op.costNs = random.below(20);
  op.chunkCostNs = random.below(10);
  op.bytes = random.below(100);
  op.chunkBytes = random.below(50);
  op.isView = op.kind == NodeKind::Compute && random.percent(35);
  std::set<ValueId> values;
  int64_t numOperands = op.isView ? 1 : 1 + random.below(3);
  for (; numOperands > 0; --numOperands)
    values.insert(drawValue());
  for (ValueId value : values)
    op.operands.push_back({value, drawWay(value, region)});
  program.operations.push_back(op);
  if (op.kind == NodeKind::Start)
    pending.push_back(static_cast<ValueId>(program.operations.size()) - 1);
}

void ValueWriter::addWait() {
  size_t drawn = random.below(static_cast<int64_t>(pending.size()));
  ValueId start = pending[drawn];
  pending.erase(pending.begin() + static_cast<ptrdiff_t>(drawn));
  ValueOperation op;
  op.label = std::to_string(program.operations.size());
  op.kind = NodeKind::Wait;
  op.isView = true;
  op.region = program.operations[start].region;
  op.operands = {{start, op.region < 0 ? Way::Free : Way::Chunk}};
  program.operations.push_back(op);
}

/// Adds the order of collectives and dependences through memory.
void ValueWriter::addOthers() {
  bool keepsOrder = random.percent(30);
  NodeId last[2] = {noNode, noNode};
  for (size_t i = 0; i < program.operations.size(); ++i) {
    NodeId node = static_cast<NodeId>(i);
    const ValueOperation &op = program.operations[i];
    if (op.stream != noStream && keepsOrder) {
      if (last[op.stream] != noNode)
        program.others.push_back(
            {last[op.stream], node, DependenceKind::Order});
      last[op.stream] = node;
    }
    if (node == 0 || !random.percent(8))
      continue;
    // A wait follows on its start anyway.
    NodeId from = static_cast<NodeId>(random.below(node));
    if (op.kind != NodeKind::Wait || op.operands[0].value != from)
      program.others.push_back({from, node, DependenceKind::Memory});
  }
}

/// Whether splitting returns a copy where a view of a value from outside of a
/// region is returned: SplitProblem leaves that value alone.
bool ValueWriter::isCopiedView(ValueId value) const {
  ValueId root = program.findRoot(value);
  int32_t region = root < 0 ? -1 : program.operations[root].region;
  for (; value != root; value = program.operations[value].operands[0].value)
    if (program.operations[value].region >= 0 &&
        program.operations[value].region != region)
      return true;
  return false;
}

void ValueWriter::drawReturned() {
  for (size_t i = 0; i < program.operations.size(); ++i)
    program.operations[i].isReturned =
        program.operations[i].kind != NodeKind::Start && random.percent(15) &&
        !isCopiedView(static_cast<ValueId>(i));
}

ValueProgram ValueWriter::write(int32_t maxOperations) {
  for (int64_t count = 1 + random.below(3); count > 0; --count)
    program.argumentBytes.push_back(random.below(100));
  int64_t size = 1 + random.below(maxOperations);
  while (static_cast<int64_t>(program.operations.size()) < size)
    if (!pending.empty() && random.percent(30))
      addWait();
    else
      addOperation();
  while (!pending.empty())
    addWait();
  addOthers();
  drawReturned();
  return program;
}

ValueProgram schedule::testing::makeRandomValueProgram(uint64_t seed,
                                                       int32_t maxOperations) {
  return ValueWriter(seed).write(maxOperations);
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

static bool isWhole(Way way) {
  return way == Way::Whole || way == Way::WholeCopied;
}

/// The operations that read `value` whole.
static std::vector<NodeId> findWholeUsers(const ValueProgram &program,
                                          ValueId value) {
  std::vector<NodeId> users;
  int32_t region = program.operations[value].region;
  for (size_t i = 0; i < program.operations.size(); ++i)
    for (const ValueOperation::Operand &operand :
         program.operations[i].operands)
      if (operand.value == value &&
          (program.operations[i].region != region || isWhole(operand.way)))
        users.push_back(static_cast<NodeId>(i));
  return users;
}

static bool needsWhole(const ValueProgram &program, ValueId value) {
  const ValueOperation &op = program.operations[value];
  return op.region >= 0 && op.kind != NodeKind::Start &&
         (op.isReturned || !findWholeUsers(program, value).empty());
}

namespace {

class ValueSplitter {
public:
  ValueSplitter(const ValueProgram &program, const std::vector<int32_t> &chunks)
      : program(program), chunks(chunks) {}

  ValueProgram split();

private:
  ValueId add(const ValueOperation &op) {
    result.operations.push_back(op);
    return static_cast<ValueId>(result.operations.size()) - 1;
  }
  ValueId findOutside(ValueId value) const;
  ValueId slice(ValueId value, int32_t region, int32_t chunk);
  void addChunks(ValueId value);
  void addOthers();

  const ValueProgram &program;
  const std::vector<int32_t> &chunks;
  ValueProgram result;
  /// By operation: the ones that replace it.
  std::map<ValueId, std::vector<ValueId>> copies;
  std::map<ValueId, ValueId> wholes;
  std::map<std::array<int32_t, 3>, ValueId> slices;
};

} // namespace

/// What an operation that is not of the region of `value` reads.
ValueId ValueSplitter::findOutside(ValueId value) const {
  if (value < 0)
    return value;
  auto whole = wholes.find(value);
  return whole == wholes.end() ? copies.at(value).front() : whole->second;
}

ValueId ValueSplitter::slice(ValueId value, int32_t region, int32_t chunk) {
  auto [it, isNew] = slices.insert({{value, region, chunk}, 0});
  if (!isNew)
    return it->second;
  ValueOperation op;
  op.label = "s" + std::to_string(value) + "." + std::to_string(region) + "." +
             std::to_string(chunk);
  op.operands = {{findOutside(value)}};
  op.costNs = PartCost::costNs(value);
  op.bytes = PartCost::sliceBytes(value);
  return it->second = add(op);
}

void ValueSplitter::addChunks(ValueId value) {
  const ValueOperation &op = program.operations[value];
  for (int32_t chunk = 0; chunk < chunks[op.region]; ++chunk) {
    ValueOperation copy = op;
    copy.label += "." + std::to_string(chunk);
    copy.costNs = op.chunkCostNs;
    copy.bytes = op.chunkBytes;
    copy.isReturned = false;
    for (ValueOperation::Operand &operand : copy.operands) {
      if (operand.way == Way::Chunk)
        operand.value = copies[operand.value][chunk];
      else if (operand.way == Way::Copied || operand.way == Way::WholeCopied)
        operand.value = slice(operand.value, op.region, chunk);
      else
        operand.value = findOutside(operand.value);
    }
    copies[value].push_back(add(copy));
  }
  if (!needsWhole(program, value))
    return;
  ValueOperation whole;
  whole.label = "w" + op.label;
  whole.costNs = PartCost::costNs(value);
  whole.bytes = PartCost::wholeBytes(value);
  whole.isReturned = op.isReturned;
  for (ValueId copy : copies[value])
    whole.operands.push_back({copy});
  wholes[value] = add(whole);
}

void ValueSplitter::addOthers() {
  for (const Dependence &edge : program.others) {
    int32_t region = program.operations[edge.from].region;
    bool isByChunk = edge.kind == DependenceKind::Order && region >= 0 &&
                     region == program.operations[edge.to].region;
    const std::vector<ValueId> &from = copies[edge.from], &to = copies[edge.to];
    for (size_t i = 0; i < from.size(); ++i)
      for (size_t j = 0; j < to.size(); ++j)
        if (!isByChunk || i == j)
          result.others.push_back({from[i], to[j], edge.kind});
  }
}

ValueProgram ValueSplitter::split() {
  result.argumentBytes = program.argumentBytes;
  for (size_t i = 0; i < program.operations.size(); ++i) {
    ValueId value = static_cast<ValueId>(i);
    if (program.operations[i].region >= 0) {
      addChunks(value);
      continue;
    }
    ValueOperation op = program.operations[i];
    for (ValueOperation::Operand &operand : op.operands)
      operand.value = findOutside(operand.value);
    copies[value] = {add(op)};
  }
  addOthers();
  return result;
}

ValueProgram
schedule::testing::splitValues(const ValueProgram &program,
                               const std::vector<int32_t> &chunks) {
  return ValueSplitter(program, chunks).split();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// The labels of the operations in whose buffers returned values are.
static std::set<std::string> findKept(const ValueProgram &program) {
  std::set<std::string> kept;
  for (size_t i = 0; i < program.operations.size(); ++i)
    if (program.operations[i].isReturned)
      if (ValueId root = program.findRoot(static_cast<ValueId>(i)); root >= 0)
        kept.insert(program.operations[root].label);
  return kept;
}

static void addSlices(const ValueProgram &program, int32_t region,
                      SplitSpec &spec) {
  std::map<ValueId, std::vector<NodeId>> users;
  for (size_t i = 0; i < program.operations.size(); ++i)
    for (const ValueOperation::Operand &operand :
         program.operations[i].operands)
      if (program.operations[i].region == region &&
          (operand.way == Way::Copied || operand.way == Way::WholeCopied))
        users[operand.value].push_back(static_cast<NodeId>(i));
  for (const auto &[value, nodes] : users)
    spec.slices.push_back({value < 0 ? noNode : value,
                           program.findBuffers().at(program.findRoot(value)),
                           PartCost::costNs(value), PartCost::sliceBytes(value),
                           nodes});
}

std::vector<SplitSpec>
schedule::testing::makeSpecs(const ValueProgram &program,
                             const std::vector<int32_t> &chunks) {
  std::vector<SplitSpec> specs(chunks.size());
  std::map<ValueId, BufferId> buffers = program.findBuffers();
  std::set<std::string> kept = findKept(splitValues(program, chunks));
  for (size_t region = 0; region < chunks.size(); ++region) {
    SplitSpec &spec = specs[region];
    spec.chunks = chunks[region];
    for (size_t i = 0; i < program.operations.size(); ++i) {
      const ValueOperation &op = program.operations[i];
      ValueId value = static_cast<ValueId>(i);
      if (op.region != static_cast<int32_t>(region))
        continue;
      spec.members.push_back({value, op.chunkCostNs});
      if (!op.isView)
        spec.buffers.push_back({buffers[value], op.chunkBytes});
      if (needsWhole(program, value))
        spec.wholes.push_back(
            {value, buffers[program.findRoot(value)], PartCost::costNs(value),
             PartCost::wholeBytes(value), kept.count("w" + op.label) == 0,
             findWholeUsers(program, value)});
    }
    addSlices(program, static_cast<int32_t>(region), spec);
  }
  return specs;
}

std::string schedule::testing::labelOf(const SplitProblem &split,
                                       const std::vector<SplitSpec> &specs,
                                       NodeId node,
                                       const ValueProgram &program) {
  const SplitProblem::Origin &origin = split.originOf(node);
  std::string chunk = "." + std::to_string(origin.chunk);
  switch (origin.role) {
  case SplitProblem::Role::Kept:
    return std::to_string(origin.node);
  case SplitProblem::Role::Chunk:
    return std::to_string(origin.node) + chunk;
  case SplitProblem::Role::Whole:
    return "w" +
           std::to_string(specs[origin.spec].wholes[origin.index].producer);
  case SplitProblem::Role::Storage:
    return "b" +
           std::to_string(specs[origin.spec].wholes[origin.index].producer);
  case SplitProblem::Role::Slice:
    break;
  }
  const SplitSpec::Slice &slice = specs[origin.spec].slices[origin.index];
  ValueId value = slice.producer;
  if (value == noNode)
    for (auto [root, buffer] : program.findBuffers())
      if (buffer == slice.source)
        value = root;
  return "s" + std::to_string(value) + "." + std::to_string(origin.spec) +
         chunk;
}
