//===- ProgramJson.cpp - Programs and problems as JSON --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ProgramJson.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ScopedPrinter.h"
#include <cmath>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The version of the format.
static constexpr int64_t programVersion = 1;

/// Constants with more elements than this are written without them.
static constexpr int64_t maxPrintedElements = 16;

namespace {

/// Writes one module.
class ProgramWriter {
public:
  ProgramWriter(raw_ostream &os, ModuleOp module)
      : json(os), module(module),
        asmState(module.getContext(), OpPrintingFlags().elideLargeElementsAttrs(
                                          maxPrintedElements)) {}

  void write();

private:
  void writeString(StringRef text) { json.value(llvm::json::fixUTF8(text)); }
  void writeText(Attribute attr);
  /// Writes nothing for no attribute.
  void writeText(StringRef key, Attribute attr);
  void writeShape(StringRef kind, ShapedType type);
  void writeType(Type type);
  void writeInteger(IntegerAttr attr);
  void writeAttribute(Attribute attr);
  void writeAttributes(ArrayRef<NamedAttribute> attrs,
                       ArrayRef<StringRef> except);
  void writeName(Operation *op);
  /// Writes what a pass made the operation of.
  void writeOrigin(Operation *op);
  void writeValues(StringRef key, ValueRange values);
  void writeGroup(GroupOp group);
  void writeArgument(FunctionOpInterface function, BlockArgument argument);
  void writeResult(Value result);
  void writeRegions(Operation &op);
  void writeOperation(Operation &op);
  void writeBody(FunctionOpInterface function);
  void writeFunction(FunctionOpInterface function);

  llvm::json::OStream json;
  ModuleOp module;
  AsmState asmState;
  /// By value of the current function: its number.
  DenseMap<Value, int64_t> ids;
};

} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

void ProgramWriter::writeText(Attribute attr) {
  std::string text;
  llvm::raw_string_ostream os(text);
  attr.print(os, asmState);
  writeString(text);
}

void ProgramWriter::writeText(StringRef key, Attribute attr) {
  if (!attr)
    return;
  json.attributeBegin(key);
  writeText(attr);
  json.attributeEnd();
}

/// Writes what types of both kinds have into the current object.
void ProgramWriter::writeShape(StringRef kind, ShapedType type) {
  json.attribute("kind", kind);
  json.attributeArray("shape", [&] {
    for (int64_t size : type.getShape())
      json.value(ShapedType::isDynamic(size) ? llvm::json::Value(nullptr)
                                             : llvm::json::Value(size));
  });
  json.attribute("element",
                 llvm::json::fixUTF8(llvm::to_string(type.getElementType())));
}

void ProgramWriter::writeType(Type type) {
  json.object([&] {
    llvm::TypeSwitch<Type>(type)
        .Case([&](RankedTensorType tensor) {
          writeShape("tensor", tensor);
          writeText("encoding", tensor.getEncoding());
        })
        .Case([&](MemRefType memref) {
          writeShape("memref", memref);
          if (!memref.getLayout().isIdentity())
            writeText("layout", memref.getLayout());
          writeText("memory_space", memref.getMemorySpace());
        })
        .Case([&](FutureType future) {
          json.attribute("kind", "future");
          json.attributeArray("values", [&] {
            for (Type value : future.getTypes())
              writeType(value);
          });
        })
        .Default([&](Type other) {
          json.attribute("kind", "other");
          json.attribute("text", llvm::json::fixUTF8(llvm::to_string(other)));
        });
  });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

void ProgramWriter::writeInteger(IntegerAttr attr) {
  const APInt &value = attr.getValue();
  if (attr.getType().isInteger(1))
    json.value(value.getBoolValue());
  else if (attr.getType().isUnsignedInteger() && value.isIntN(64))
    json.value(value.getZExtValue());
  else if (!attr.getType().isUnsignedInteger() && value.isSignedIntN(64))
    json.value(value.getSExtValue());
  else
    writeText(attr);
}

void ProgramWriter::writeAttribute(Attribute attr) {
  llvm::TypeSwitch<Attribute>(attr)
      .Case([&](UnitAttr) { json.value(true); })
      .Case([&](IntegerAttr integer) { writeInteger(integer); })
      .Case([&](FloatAttr number) {
        double value = number.getValueAsDouble();
        if (number.getType().getIntOrFloatBitWidth() <= 64 &&
            std::isfinite(value))
          json.value(value);
        else
          writeText(number);
      })
      .Case([&](StringAttr string) { writeString(string.getValue()); })
      // A name that needs quotes in MLIR text needs none here.
      .Case([&](FlatSymbolRefAttr symbol) {
        writeString(("@" + symbol.getValue()).str());
      })
      .Case([&](ArrayAttr array) {
        json.array([&] {
          for (Attribute element : array)
            writeAttribute(element);
        });
      })
      .Case<DenseI64ArrayAttr, DenseI32ArrayAttr, DenseBoolArrayAttr>(
          [&](auto array) {
            json.value(llvm::json::Array(array.asArrayRef()));
          })
      .Case([&](DictionaryAttr dictionary) {
        json.object([&] { writeAttributes(dictionary.getValue(), {}); });
      })
      .Default([&](Attribute other) { writeText(other); });
}

/// Writes `attrs` into the current object.
void ProgramWriter::writeAttributes(ArrayRef<NamedAttribute> attrs,
                                    ArrayRef<StringRef> except) {
  for (NamedAttribute attr : attrs) {
    StringRef name = attr.getName().getValue();
    if (llvm::is_contained(except, name))
      continue;
    json.attributeBegin(llvm::json::fixUTF8(name));
    writeAttribute(attr.getValue());
    json.attributeEnd();
  }
}

//===----------------------------------------------------------------------===//
// Groups, functions and operations
//===----------------------------------------------------------------------===//

void ProgramWriter::writeName(Operation *op) {
  if (StringRef name = getStableName(op); !name.empty())
    json.attribute("name", llvm::json::fixUTF8(name));
}

void ProgramWriter::writeOrigin(Operation *op) {
  SmallVector<SmallVector<StringRef, 2>> origin = getOrigin(op);
  if (origin.empty())
    return;
  json.attributeArray("origin", [&] {
    for (ArrayRef<StringRef> names : origin)
      json.array([&] {
        for (StringRef name : names)
          writeString(name);
      });
  });
}

void ProgramWriter::writeValues(StringRef key, ValueRange values) {
  json.attributeArray(key, [&] {
    for (Value value : values)
      json.value(ids.at(value));
  });
}

void ProgramWriter::writeGroup(GroupOp group) {
  json.object([&] {
    json.attribute("name", llvm::json::fixUTF8(group.getSymName()));
    json.attribute("size", static_cast<int64_t>(group.getSize()));
    json.attribute("ranks_per_node", group.getProcessGroup().ranksPerNode);
    if (std::optional<uint64_t> stride = group.getStride())
      json.attribute("stride", static_cast<int64_t>(*stride));
    if (std::optional<DenseIntElementsAttr> ranks = group.getRanks())
      json.attributeArray("ranks", [&] {
        auto values = llvm::to_vector(ranks->getValues<int64_t>());
        int64_t columns = ranks->getShapedType().getDimSize(1);
        for (size_t begin = 0; begin < values.size(); begin += columns)
          json.value(llvm::json::Array(ArrayRef(values).slice(begin, columns)));
      });
    json.attributeObject("attributes", [&] {
      writeAttributes(group->getDiscardableAttrDictionary().getValue(), {});
    });
  });
}

void ProgramWriter::writeArgument(FunctionOpInterface function,
                                  BlockArgument argument) {
  json.object([&] {
    json.attribute("id", ids.at(argument));
    auto attrs = function.getArgAttrDict(argument.getArgNumber());
    if (attrs)
      if (auto name = attrs.getAs<StringAttr>(nameAttrName))
        json.attribute("name", llvm::json::fixUTF8(name.getValue()));
    json.attributeBegin("type");
    writeType(argument.getType());
    json.attributeEnd();
    if (StringRef role = getRole(argument); !role.empty())
      json.attribute("role", role);
    json.attributeObject("attributes", [&] {
      if (attrs)
        writeAttributes(attrs.getValue(), {nameAttrName, roleAttrName});
    });
  });
}

void ProgramWriter::writeResult(Value result) {
  int64_t id = static_cast<int64_t>(ids.size());
  ids[result] = id;
  json.object([&] {
    json.attribute("id", id);
    json.attributeBegin("type");
    writeType(result.getType());
    json.attributeEnd();
  });
}

/// Writes that `op` has regions, and the values of the function that they use.
void ProgramWriter::writeRegions(Operation &op) {
  if (op.getNumRegions() == 0)
    return;
  json.attribute("regions", static_cast<int64_t>(op.getNumRegions()));
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegions(), captured);
  writeValues("captures", captured.getArrayRef());
}

/// The attributes of `op`, with those that are stored as properties.
static NamedAttrList getAttributes(Operation &op) {
  NamedAttrList attrs(op.getAttrDictionary());
  // The dictionary of an unregistered operation is without them.
  if (!op.isRegistered())
    if (auto properties =
            dyn_cast_if_present<DictionaryAttr>(op.getPropertiesAsAttribute()))
      for (NamedAttribute attr : properties)
        if (!attrs.get(attr.getName()))
          attrs.push_back(attr);
  return attrs;
}

void ProgramWriter::writeOperation(Operation &op) {
  json.object([&] {
    json.attribute("op", llvm::json::fixUTF8(op.getName().getStringRef()));
    writeName(&op);
    writeOrigin(&op);
    writeValues("operands", op.getOperands());
    writeRegions(op);
    json.attributeArray("results", [&] {
      for (Value result : op.getResults())
        writeResult(result);
    });
    json.attributeObject("attributes", [&] {
      writeAttributes(getAttributes(op), {nameAttrName, originAttrName});
    });
  });
}

void ProgramWriter::writeBody(FunctionOpInterface function) {
  Block &block = function.getFunctionBody().front();
  json.attributeArray("operations", [&] {
    for (Operation &op : block.without_terminator())
      writeOperation(op);
  });
  writeValues("results", block.getTerminator()->getOperands());
}

void ProgramWriter::writeFunction(FunctionOpInterface function) {
  ids.clear();
  json.object([&] {
    json.attribute("name", llvm::json::fixUTF8(function.getName()));
    json.attributeObject("attributes", [&] {
      writeAttributes(function->getAttrDictionary().getValue(),
                      {SymbolTable::getSymbolAttrName(), "function_type",
                       "arg_attrs", "res_attrs"});
    });
    int64_t numBlocks =
        static_cast<int64_t>(function.getFunctionBody().getBlocks().size());
    json.attribute("blocks", numBlocks);
    if (numBlocks != 1)
      return;
    for (BlockArgument argument : function.getArguments())
      ids.try_emplace(argument, ids.size());
    json.attributeArray("arguments", [&] {
      for (BlockArgument argument : function.getArguments())
        writeArgument(function, argument);
    });
    writeBody(function);
  });
}

void ProgramWriter::write() {
  json.object([&] {
    json.attribute("version", programVersion);
    json.attributeObject("attributes", [&] {
      writeAttributes(module->getAttrDictionary().getValue(),
                      {SymbolTable::getSymbolAttrName()});
    });
    json.attributeArray("groups", [&] {
      for (auto group : module.getOps<GroupOp>())
        writeGroup(group);
    });
    json.attributeArray("functions", [&] {
      for (auto function : module.getOps<FunctionOpInterface>())
        writeFunction(function);
    });
  });
}

void mlir::commsched::writeProgram(raw_ostream &os, ModuleOp module) {
  ProgramWriter(os, module).write();
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

/// The version of the format.
static constexpr int64_t problemVersion = 1;

NamedProblem mlir::commsched::nameProblem(StringRef function,
                                          const BlockProblem &block) {
  NamedProblem named;
  named.function = function.str();
  named.problem = block.getProblem();
  for (NodeId node = 0; node < named.problem.numNodes(); ++node) {
    Operation *op = block.getOperation(node);
    StringRef name = getStableName(op);
    if (name.empty())
      name = op->getName().getStringRef();
    named.names.push_back(name.str());
  }
  for (Attribute key : block.getStreams())
    named.streams.push_back(llvm::to_string(key));
  return named;
}

static void writeNodes(llvm::json::OStream &json, const NamedProblem &named) {
  const Problem &problem = named.problem;
  json.attributeArray("names", [&] {
    for (const std::string &name : named.names)
      json.value(llvm::json::fixUTF8(name));
  });
  json.attributeArray("nodes", [&] {
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      json.value(llvm::json::Array{schedule::toString(problem.kind(node)),
                                   problem.costNs(node), problem.stream(node),
                                   problem.isExpensive(node),
                                   problem.startOf(node)});
  });
}

static void writeDependences(llvm::json::OStream &json,
                             const Problem &problem) {
  json.attributeArray("dependences", [&] {
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      for (DependenceEnd from : problem.predecessors(node))
        json.value(
            llvm::json::Array{from.node, node, schedule::toString(from.kind)});
  });
}

static void writeBuffers(llvm::json::OStream &json, const Problem &problem) {
  json.attributeArray("buffers", [&] {
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      json.value(llvm::json::Array{buffer.bytes, buffer.producer, buffer.freed,
                                   llvm::json::Array(problem.users(id))});
    }
  });
}

void mlir::commsched::writeConstraints(llvm::json::OStream &json,
                                       const Problem &problem) {
  writeDependences(json, problem);
  writeBuffers(json, problem);
}

void mlir::commsched::writeProblem(llvm::json::OStream &json,
                                   const NamedProblem &problem) {
  json.attributeArray("streams", [&] {
    for (const std::string &stream : problem.streams)
      json.value(llvm::json::fixUTF8(stream));
  });
  writeNodes(json, problem);
  writeConstraints(json, problem.problem);
}

void mlir::commsched::writeCosts(llvm::json::OStream &json,
                                 const StepReport &report) {
  json.attribute("step_time_ns", report.stepTimeNs);
  json.attribute("exposed_comm_ns", report.exposedCommNs);
  json.attribute("peak_memory_bytes", report.peakMemoryBytes);
}

void mlir::commsched::writeProblems(raw_ostream &os,
                                    ArrayRef<NamedProblem> problems) {
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("version", problemVersion);
    json.attributeArray("functions", [&] {
      for (const NamedProblem &problem : problems)
        json.object([&] {
          json.attribute("function", llvm::json::fixUTF8(problem.function));
          writeProblem(json, problem);
        });
    });
  });
  os << "\n";
}
