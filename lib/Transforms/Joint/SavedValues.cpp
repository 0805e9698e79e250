//===- SavedValues.cpp - Choice of the values to save ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SavedValues.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Report/RankTimes.h"
#include "CommSched/Support/Json.h"
#include "mlir/IR/Builders.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::JointGraph;
using partition::NodeId;
using partition::PartitionConflict;

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

static Location getLoc(const JointFunction &joint, NodeId node) {
  if (Operation *op = joint.getOperation(node))
    return op->getLoc();
  return joint.getValue(node).getLoc();
}

FailureOr<std::vector<NodeId>>
mlir::commsched::readSavedValues(const JointFunction &joint) {
  std::vector<NodeId> saved;
  func::FuncOp function = joint.getFunction();
  auto names = function->getAttrOfType<ArrayAttr>(savedValuesAttrName);
  const JointGraph &graph = joint.getGraph();
  llvm::StringMap<NodeId> nodes;
  for (NodeId node = 0; node < graph.size(); ++node)
    nodes[joint.getName(node)] = node;

  auto emitError = [&](StringRef name) {
    return function.emitOpError() << "attribute '" << savedValuesAttrName
                                  << "' names \"" << name << "\"";
  };
  std::vector<char> isSaved(graph.size(), 0);
  for (StringAttr attr : names.getAsRange<StringAttr>()) {
    StringRef name = attr.getValue();
    auto it = nodes.find(name);
    if (it == nodes.end())
      return emitError(name) << ", but no value of the function has this name";
    NodeId node = it->second;
    if (!graph[node].isSaveable) {
      InFlightDiagnostic diag = emitError(name)
                                << ", which is no value that can be saved";
      diag.attachNote(getLoc(joint, node)) << "it is here";
      return diag;
    }
    if (isSaved[node])
      return emitError(name) << " twice";
    isSaved[node] = 1;
  }
  for (NodeId node = 0; node < graph.size(); ++node)
    if (isSaved[node])
      saved.push_back(node);
  return saved;
}

InFlightDiagnostic
mlir::commsched::emitConflict(const JointFunction &joint,
                              const PartitionConflict &conflict) {
  if (conflict.node == partition::noNode)
    return joint.getFunction().emitOpError(conflict.reason);
  InFlightDiagnostic diag = emitError(getLoc(joint, conflict.node));
  diag << "'" << joint.getName(conflict.node) << "' " << conflict.reason;
  if (conflict.other != partition::noNode)
    diag.attachNote(getLoc(joint, conflict.other))
        << "'" << joint.getName(conflict.other) << "' " << conflict.otherReason;
  if (conflict.reader != partition::noNode)
    diag.attachNote(getLoc(joint, conflict.reader))
        << "'" << joint.getName(conflict.reader) << "' reads it";
  return diag;
}

//===----------------------------------------------------------------------===//
// Proposals
//===----------------------------------------------------------------------===//

namespace json = llvm::json;

static constexpr StringLiteral functionKey = "function";
static constexpr StringLiteral valuesKey = "values";
static constexpr StringLiteral nameKey = "name";
static constexpr StringLiteral bytesKey = "bytes";
static constexpr StringLiteral savedKey = "saved";
static constexpr StringLiteral savedBytesKey = "saved_bytes";

int64_t Proposal::getBytes(const std::vector<int32_t> &saved) const {
  int64_t bytes = 0;
  for (int32_t index : saved)
    bytes += values[index].bytes;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static void printProposal(const Proposal &proposal, raw_ostream &os) {
  json::OStream stream(os);
  stream.object([&] {
    stream.attribute(functionKey, toFileText(proposal.function));
    stream.attributeArray(valuesKey, [&] {
      for (const Proposal::SaveableValue &value : proposal.values)
        stream.object([&] {
          stream.attribute(nameKey, toFileText(value.name));
          stream.attribute(bytesKey, value.bytes);
        });
    });
    stream.attributeArray(savedKey, [&] {
      for (int32_t index : proposal.saved)
        stream.value(toFileText(proposal.values[index].name));
    });
    stream.attribute(savedBytesKey, proposal.getBytes(proposal.saved));
  });
  os << "\n";
}

LogicalResult mlir::commsched::writeProposals(Location loc, StringRef path,
                                              ArrayRef<Proposal> proposals) {
  return writeOutputFile(loc, path, "the proposals", [&](raw_ostream &os) {
    for (const Proposal &proposal : proposals)
      printProposal(proposal, os);
  });
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Fails on the first key, in alphabetical order, that is none of `known`.
static llvm::Error checkKeys(const json::Object &object,
                             ArrayRef<StringRef> known) {
  std::optional<StringRef> unknown;
  for (const auto &[key, value] : object)
    if (!llvm::is_contained(known, StringRef(key)) &&
        (!unknown || StringRef(key) < *unknown))
      unknown = key;
  if (unknown)
    return llvm::createStringError("unknown key '" + *unknown + "'");
  return llvm::Error::success();
}

static llvm::Error readValues(const json::Array &array, Proposal &proposal,
                              llvm::StringMap<int32_t> &indices) {
  int64_t total = 0;
  proposal.values.reserve(array.size());
  for (auto [index, entry] : llvm::enumerate(array)) {
    const json::Object *object = entry.getAsObject();
    std::optional<StringRef> name =
        object ? object->getString(nameKey) : std::nullopt;
    std::optional<int64_t> bytes =
        object ? object->getInteger(bytesKey) : std::nullopt;
    if (!name || !bytes)
      return llvm::createStringError(
          "value " + Twine(index) + " must be an object with a string '" +
          nameKey + "' and an integer '" + bytesKey + "'");
    if (llvm::Error error = checkKeys(*object, {nameKey, bytesKey}))
      return error;
    if (*bytes < 0)
      return llvm::createStringError("the bytes of '" + *name +
                                     "' must not be negative, but are " +
                                     Twine(*bytes));
    if (llvm::AddOverflow(total, *bytes, total))
      return llvm::createStringError("the bytes of '" + *name +
                                     "' and those of the values before it do "
                                     "not fit 64 bits");
    auto [it, inserted] =
        indices.try_emplace(*name, static_cast<int32_t>(index));
    if (!inserted)
      return llvm::createStringError("value " + Twine(index) + ", '" + *name +
                                     "', has the name of value " +
                                     Twine(it->second));
    proposal.values.push_back({name->str(), *bytes});
  }
  return llvm::Error::success();
}

static llvm::Error readSaved(const json::Array &array, Proposal &proposal,
                             const llvm::StringMap<int32_t> &indices) {
  for (auto [index, entry] : llvm::enumerate(array)) {
    std::optional<StringRef> name = entry.getAsString();
    if (!name)
      return llvm::createStringError("saved value " + Twine(index) +
                                     " must be a string");
    auto it = indices.find(*name);
    if (it == indices.end())
      return llvm::createStringError("the saved value '" + *name +
                                     "' is none of the values");
    proposal.saved.push_back(it->second);
  }
  llvm::sort(proposal.saved);
  auto twice = std::adjacent_find(proposal.saved.begin(), proposal.saved.end());
  if (twice != proposal.saved.end())
    return llvm::createStringError(
        "the value '" + proposal.values[*twice].name + "' is saved twice");
  return llvm::Error::success();
}

static llvm::Expected<Proposal> parseProposal(StringRef text) {
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value)
    return llvm::createStringError("is not JSON: " +
                                   llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError("must be an object");
  if (llvm::Error error =
          checkKeys(*object, {functionKey, valuesKey, savedKey, savedBytesKey}))
    return error;
  std::optional<StringRef> function = object->getString(functionKey);
  const json::Array *values = object->getArray(valuesKey);
  const json::Array *saved = object->getArray(savedKey);
  std::optional<int64_t> savedBytes = object->getInteger(savedBytesKey);
  if (!function || !values || !saved || !savedBytes)
    return llvm::createStringError(
        "must have a string '" + functionKey + "', the lists '" + valuesKey +
        "' and '" + savedKey + "', and an integer '" + savedBytesKey + "'");

  Proposal proposal;
  proposal.function = function->str();
  llvm::StringMap<int32_t> indices;
  auto explain = [&](llvm::Error error) {
    return llvm::createStringError("function '" + *function +
                                   "': " + llvm::toString(std::move(error)));
  };
  if (llvm::Error error = readValues(*values, proposal, indices))
    return explain(std::move(error));
  if (llvm::Error error = readSaved(*saved, proposal, indices))
    return explain(std::move(error));
  if (int64_t sum = proposal.getBytes(proposal.saved); sum != *savedBytes)
    return explain(llvm::createStringError(
        "says that it saves " + Twine(*savedBytes) +
        " bytes, but the values that it saves take " + Twine(sum)));
  return proposal;
}

/// Reads what writeProposals() wrote, in the order of the file. Fails, with a
/// text that names the file and the line, when the file cannot be read, is not
/// JSON of that form, or contradicts itself: a function or a value twice, a
/// saved value that is none of the values, another sum of bytes.
static llvm::Expected<std::vector<Proposal>> readProposals(StringRef path) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &message);
  if (!buffer)
    return llvm::createStringError(message);
  std::vector<Proposal> proposals;
  llvm::StringSet<> functions;
  StringRef rest = buffer->getBuffer();
  for (int64_t number = 1; !rest.empty(); ++number) {
    auto [line, following] = rest.split('\n');
    rest = following;
    if (line.trim().empty())
      continue;
    auto fail = [&, number](const Twine &reason) {
      return llvm::createStringError("'" + path + "', line " + Twine(number) +
                                     ": " + reason);
    };
    llvm::Expected<Proposal> proposal = parseProposal(line);
    if (!proposal)
      return fail(llvm::toString(proposal.takeError()));
    if (!functions.insert(proposal->function).second)
      return fail("function '" + proposal->function + "' is there twice");
    proposals.push_back(std::move(*proposal));
  }
  return proposals;
}

namespace {

/// The files of all ranks.
using Files = std::vector<std::vector<Proposal>>;

/// A rank whose proposal all follow.
struct Choice {
  size_t rank = 0;
  /// By proposal: its bytes on the rank where it takes most.
  SmallVector<int64_t> worstBytes;
};

} // namespace

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static FailureOr<Files> readFiles(ModuleOp module,
                                  ArrayRef<std::string> paths) {
  Files files;
  for (StringRef path : paths) {
    llvm::Expected<std::vector<Proposal>> file = readProposals(path);
    if (!file)
      return emitError(module.getLoc(), "cannot read proposals: ")
             << llvm::toString(file.takeError());
    files.push_back(std::move(*file));
  }
  return files;
}

/// Checks that every function of the files is one of `functions`.
static LogicalResult checkFunctions(ModuleOp module,
                                    ArrayRef<std::string> paths,
                                    const Files &files,
                                    ArrayRef<func::FuncOp> functions) {
  llvm::StringSet<> names;
  for (func::FuncOp function : functions)
    names.insert(toFileText(function.getSymName()));
  for (auto [path, file] : llvm::zip(paths, files))
    for (const Proposal &proposal : file)
      if (!names.contains(proposal.function))
        return emitError(module.getLoc(), "'")
               << path << "' proposes what @" << proposal.function
               << " saves, but the module has no joint function of that name";
  return success();
}

/// The proposals of all ranks for `function`.
static FailureOr<SmallVector<const Proposal *>>
findProposals(func::FuncOp function, ArrayRef<std::string> paths,
              const Files &files) {
  SmallVector<const Proposal *> ranks;
  std::string name = toFileText(function.getSymName());
  for (auto [path, file] : llvm::zip(paths, files)) {
    auto it = llvm::find_if(
        file, [&](const Proposal &it) { return it.function == name; });
    if (it == file.end())
      return function.emitError("'") << path << "' does not propose what @"
                                     << function.getSymName() << " saves";
    ranks.push_back(&*it);
  }
  return ranks;
}

/// Checks that all ranks can save the same values.
static LogicalResult checkSameValues(func::FuncOp function,
                                     ArrayRef<std::string> paths,
                                     ArrayRef<const Proposal *> ranks) {
  const Proposal &first = *ranks.front();
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    const Proposal &other = *ranks[rank];
    auto emitDifference = [&] {
      return function.emitError("@")
             << function.getSymName() << " is not the same program in '"
             << paths[0] << "' and '" << paths[rank] << "': ";
    };
    size_t count = std::min(first.values.size(), other.values.size());
    for (size_t index = 0; index < count; ++index)
      if (first.values[index].name != other.values[index].name)
        return emitDifference() << "value " << index << " is '"
                                << first.values[index].name << "' in one and '"
                                << other.values[index].name << "' in the other";
    if (first.values.size() != other.values.size())
      return emitDifference() << first.values.size() << " values in one, "
                              << other.values.size() << " in the other";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// The proposal that takes least on the rank where it takes most, of equal ones
/// the first rank's.
static Choice choose(ArrayRef<const Proposal *> ranks) {
  Choice choice;
  for (const Proposal *proposing : ranks) {
    int64_t &bytes = choice.worstBytes.emplace_back(0);
    for (const Proposal *rank : ranks)
      bytes = std::max(bytes, rank->getBytes(proposing->saved));
  }
  choice.rank =
      llvm::min_element(choice.worstBytes) - choice.worstBytes.begin();
  return choice;
}

static void remarkChoice(func::FuncOp function, const Choice &choice,
                         ArrayRef<const Proposal *> ranks) {
  if (!areRemarksEnabled(function))
    return;
  const Proposal &chosen = *ranks[choice.rank];
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "@" << function.getSymName() << " saves what rank " << choice.rank
     << " proposes: " << chosen.saved.size() << " values of at most "
     << choice.worstBytes[choice.rank] << " bytes (of all ranks' proposals: ";
  llvm::interleaveComma(choice.worstBytes, os);
  os << ")";
  remark::passed(function.getLoc(),
                 makeRemark("SavedValuesAgreed", function.getSymName()))
      << text << remark::metric("Rank", choice.rank)
      << remark::metric("WorstBytes", choice.worstBytes[choice.rank])
      << remark::metric("OwnBytes", chosen.getBytes(chosen.saved));
}

static ArrayAttr getSavedNames(MLIRContext *context, const Proposal &chosen) {
  SmallVector<Attribute> names;
  for (int32_t index : chosen.saved)
    names.push_back(StringAttr::get(context, chosen.values[index].name));
  return ArrayAttr::get(context, names);
}

LogicalResult
mlir::commsched::agreeOnSavedValues(ModuleOp module,
                                    ArrayRef<func::FuncOp> functions,
                                    ArrayRef<std::string> paths) {
  FailureOr<Files> files = readFiles(module, paths);
  if (failed(files) || failed(checkFunctions(module, paths, *files, functions)))
    return failure();
  for (func::FuncOp function : functions) {
    if (!findCollective(function)) {
      remark::missed(function.getLoc(),
                     makeRemark("NothingToAgreeOn", function.getSymName()))
          << ("@" + function.getSymName() +
              " has no collectives: ranks may save what they like")
                 .str();
      continue;
    }
    FailureOr<SmallVector<const Proposal *>> ranks =
        findProposals(function, paths, *files);
    if (failed(ranks) || failed(checkSameValues(function, paths, *ranks)))
      return failure();
    Choice choice = choose(*ranks);
    remarkChoice(function, choice, *ranks);
    function->setDiscardableAttr(
        savedValuesAttrName,
        getSavedNames(module.getContext(), *(*ranks)[choice.rank]));
  }
  return success();
}
