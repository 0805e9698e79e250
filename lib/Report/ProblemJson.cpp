//===- ProblemJson.cpp - Scheduling problems as JSON ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ProblemJson.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Support/Json.h"

using namespace mlir;
using namespace mlir::commsched;
using llvm::json::Path;
using schedule::Buffer;
using schedule::BufferId;
using schedule::DependenceEnd;
using schedule::DependenceKind;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::Problem;

/// The version of the format.
static constexpr int64_t problemVersion = 1;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

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
  for (Attribute key : block.getStreams()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    key.print(os);
    named.streams.push_back(std::move(text));
  }
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
      json.array([&] {
        json.value(schedule::toString(problem.kind(node)));
        json.value(problem.costNs(node));
        json.value(problem.stream(node));
        json.value(problem.isExpensive(node));
        json.value(problem.startOf(node));
      });
  });
}

static void writeDependences(llvm::json::OStream &json,
                             const Problem &problem) {
  json.attributeArray("dependences", [&] {
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      for (DependenceEnd from : problem.predecessors(node))
        json.array([&] {
          json.value(from.node);
          json.value(node);
          json.value(schedule::toString(from.kind));
        });
  });
}

static void writeBuffers(llvm::json::OStream &json, const Problem &problem) {
  json.attributeArray("buffers", [&] {
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      json.array([&] {
        json.value(buffer.bytes);
        json.value(buffer.producer);
        json.value(buffer.freed);
        json.array([&] {
          for (NodeId user : problem.users(id))
            json.value(user);
        });
      });
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

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

/// Reads one JSON object, every field of which has to be asked for.
class ObjectReader {
public:
  ObjectReader(const llvm::json::Value &value, Path path)
      : object(value.getAsObject()), path(path) {
    if (!object)
      path.report("expected object");
  }

  /// False if there is no object, or no such field.
  const llvm::json::Value *find(StringLiteral name) {
    if (!object)
      return nullptr;
    known.push_back(name);
    const llvm::json::Value *value = object->get(name);
    if (!value)
      path.field(name).report("missing field");
    return value;
  }

  template <typename T> bool read(StringLiteral name, T &result) {
    const llvm::json::Value *value = find(name);
    return value && llvm::json::fromJSON(*value, result, path.field(name));
  }

  /// Calls `readElement` with each element of an array, and its path.
  bool
  readArray(StringLiteral name,
            function_ref<bool(const llvm::json::Value &, Path)> readElement) {
    const llvm::json::Value *value = find(name);
    if (!value)
      return false;
    const llvm::json::Array *array = value->getAsArray();
    Path field = path.field(name);
    if (!array) {
      field.report("expected array");
      return false;
    }
    for (auto [index, element] : llvm::enumerate(*array))
      if (!readElement(element, field.index(index)))
        return false;
    return true;
  }

  /// Whether there is no field that nothing has asked for.
  bool finish() {
    if (!object)
      return false;
    for (const auto &field : *object)
      if (!llvm::is_contained(known, StringRef(field.first))) {
        path.field(field.first).report("unknown field");
        return false;
      }
    return true;
  }

private:
  const llvm::json::Object *object;
  Path path;
  SmallVector<StringRef> known;
};

} // namespace

static std::optional<NodeKind> parseNodeKind(StringRef text) {
  for (NodeKind kind :
       {NodeKind::Compute, NodeKind::Start, NodeKind::Wait, NodeKind::Blocking})
    if (text == schedule::toString(kind))
      return kind;
  return std::nullopt;
}

static std::optional<DependenceKind> parseDependenceKind(StringRef text) {
  for (DependenceKind kind : {DependenceKind::Data, DependenceKind::Memory,
                              DependenceKind::Order, DependenceKind::Barrier})
    if (text == schedule::toString(kind))
      return kind;
  return std::nullopt;
}

/// Reads the elements of an array that stands for a record of `size` entries.
static const llvm::json::Array *getRecord(const llvm::json::Value &value,
                                          size_t size, Path path) {
  const llvm::json::Array *record = value.getAsArray();
  if (!record || record->size() != size) {
    path.report("expected array of another length");
    return nullptr;
  }
  return record;
}

static bool readNode(const llvm::json::Value &value, Path path,
                     NamedProblem &named) {
  const llvm::json::Array *record = getRecord(value, 5, path);
  std::string kindText;
  int64_t costNs = 0;
  schedule::StreamId stream = schedule::noStream;
  bool isExpensive = false;
  NodeId start = schedule::noNode;
  if (!record || !fromJSON((*record)[0], kindText, path.index(0)) ||
      !fromJSON((*record)[1], costNs, path.index(1)) ||
      !fromJSON((*record)[2], stream, path.index(2)) ||
      !fromJSON((*record)[3], isExpensive, path.index(3)) ||
      !fromJSON((*record)[4], start, path.index(4)))
    return false;
  std::optional<NodeKind> kind = parseNodeKind(kindText);
  Problem &problem = named.problem;
  if (!kind) {
    path.index(0).report("expected compute, start, wait or blocking");
    return false;
  }
  if (stream < schedule::noStream ||
      stream >= static_cast<int64_t>(named.streams.size())) {
    path.index(2).report("expected the index of a stream, or -1");
    return false;
  }
  if (*kind == NodeKind::Wait) {
    if (start < 0 || start >= problem.numNodes()) {
      path.index(4).report("expected an earlier node");
      return false;
    }
    if (costNs != 0 || stream != schedule::noStream) {
      path.report("a wait has neither a cost nor a stream");
      return false;
    }
    problem.addWait(start);
  } else {
    if (start != schedule::noNode) {
      path.index(4).report("only a wait completes a start");
      return false;
    }
    problem.addNode(*kind, costNs, stream);
  }
  if (isExpensive)
    problem.setExpensive(problem.numNodes() - 1);
  return true;
}

static bool readDependence(const llvm::json::Value &value, Path path,
                           Problem &problem) {
  const llvm::json::Array *record = getRecord(value, 3, path);
  NodeId from = 0, to = 0;
  std::string kindText;
  if (!record || !fromJSON((*record)[0], from, path.index(0)) ||
      !fromJSON((*record)[1], to, path.index(1)) ||
      !fromJSON((*record)[2], kindText, path.index(2)))
    return false;
  std::optional<DependenceKind> kind = parseDependenceKind(kindText);
  if (!kind) {
    path.index(2).report("expected data, memory, order or barrier");
    return false;
  }
  // addWait() has added the dependence of a wait on its start.
  bool isOfWait = to >= 0 && to < problem.numNodes() &&
                  problem.startOf(to) == from && *kind == DependenceKind::Data;
  if (!isOfWait)
    problem.addDependence(from, to, *kind);
  return true;
}

static bool readBuffer(const llvm::json::Value &value, Path path,
                       Problem &problem) {
  const llvm::json::Array *record = getRecord(value, 4, path);
  int64_t bytes = 0;
  NodeId producer = schedule::noNode;
  bool isFreed = false;
  std::vector<NodeId> users;
  if (!record || !fromJSON((*record)[0], bytes, path.index(0)) ||
      !fromJSON((*record)[1], producer, path.index(1)) ||
      !fromJSON((*record)[2], isFreed, path.index(2)) ||
      !fromJSON((*record)[3], users, path.index(3)))
    return false;
  BufferId buffer = problem.addBuffer(bytes, producer, isFreed);
  for (NodeId user : users)
    problem.addUse(buffer, user);
  return true;
}

static bool readFunction(const llvm::json::Value &value, Path path,
                         NamedProblem &named) {
  ObjectReader reader(value, path);
  if (!reader.read("function", named.function) ||
      !reader.read("streams", named.streams) ||
      !reader.read("names", named.names) ||
      !reader.readArray("nodes",
                        [&](const llvm::json::Value &element, Path path) {
                          return readNode(element, path, named);
                        }) ||
      !reader.readArray("dependences",
                        [&](const llvm::json::Value &element, Path path) {
                          return readDependence(element, path, named.problem);
                        }) ||
      !reader.readArray("buffers",
                        [&](const llvm::json::Value &element, Path path) {
                          return readBuffer(element, path, named.problem);
                        }))
    return false;
  if (named.names.size() != static_cast<size_t>(named.problem.numNodes())) {
    path.field("names").report("expected a name for each node");
    return false;
  }
  return reader.finish();
}

llvm::Expected<std::vector<NamedProblem>>
mlir::commsched::parseProblems(StringRef text) {
  llvm::Expected<llvm::json::Value> file = parseJson(text);
  if (!file)
    return file.takeError();
  std::vector<NamedProblem> problems;
  Path::Root root("problem");
  ObjectReader reader(*file, root);
  int64_t version = 0;
  bool isRead = reader.read("version", version);
  if (isRead && version != problemVersion)
    return llvm::createStringError("version %lld is not supported, only %lld",
                                   static_cast<long long>(version),
                                   static_cast<long long>(problemVersion));
  isRead = isRead &&
           reader.readArray("functions",
                            [&](const llvm::json::Value &element, Path path) {
                              return readFunction(element, path,
                                                  problems.emplace_back());
                            }) &&
           reader.finish();
  if (!isRead)
    return root.getError();
  for (NamedProblem &named : problems)
    if (Status status = named.problem.finalize(); !status)
      return llvm::createStringError("function '" + named.function +
                                     "': " + status.error());
  return problems;
}
