//===- Program.cpp - Program descriptions ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Program.h"

#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// JSON with the place of each value
//===----------------------------------------------------------------------===//

namespace {

struct JsonError : std::runtime_error {
  using runtime_error::runtime_error;
};

/// A value and the place where it stands.
class JsonReader {
public:
  using Json = nlohmann::json;

  JsonReader(const Json &value, std::string where)
      : value(value), where(std::move(where)) {}

  template <class... Parts>
  [[noreturn]] void fail(const Parts &...parts) const {
    throw JsonError(concat(where.empty() ? "" : where + ": ", parts...));
  }
  /// Fails unless the value `is` a `what`.
  void expect(bool is, const char *what) const {
    if (!is)
      fail("expected ", what, ", got ",
           value.is_structured() ? value.type_name() : value.dump());
  }

  /// How later errors call this object: "sites[2] 'ag'".
  void addName(const std::string &name) { where += " '" + name + "'"; }

  /// Fails unless this is an object, or has members of other names.
  void expectObject(const std::vector<const char *> &keys) const;

  bool has(const std::string &key) const { return value.contains(key); }
  /// The member of the name, which must be there.
  JsonReader get(const std::string &key) const;
  /// The elements of the member of the name; none if it is not there.
  std::vector<JsonReader> getArray(const char *key) const {
    return has(key) ? get(key).asArray() : std::vector<JsonReader>();
  }

  /// Sets `target` to the member of the name, if it is there.
  void read(const char *key, std::string &target) const {
    if (has(key))
      target = get(key).asString();
  }
  template <class Integer>
  void read(const char *key, Integer &target, int64_t least,
            int64_t most) const {
    if (has(key))
      target = static_cast<Integer>(get(key).asInt(least, most));
  }

  bool isText(const char *text) const { return value == text; }
  std::string asString() const;
  int64_t asInt(int64_t least, int64_t most) const;
  std::vector<int64_t> asInts(int64_t least, int64_t most) const;
  std::vector<JsonReader> asArray() const;

private:
  const Json &value;
  std::string where;
};

} // namespace

void JsonReader::expectObject(const std::vector<const char *> &keys) const {
  expect(value.is_object(), "an object");
  for (const auto &entry : value.items())
    if (std::none_of(keys.begin(), keys.end(),
                     [&](const char *key) { return entry.key() == key; }))
      fail("unknown key '", entry.key(), "'");
}

JsonReader JsonReader::get(const std::string &key) const {
  auto found = value.find(key);
  if (found == value.end())
    fail("'", key, "' is missing");
  return JsonReader(*found, (where.empty() ? "" : where + ": ") + key);
}

std::string JsonReader::asString() const {
  expect(value.is_string(), "a string");
  return value.get<std::string>();
}

int64_t JsonReader::asInt(int64_t least, int64_t most) const {
  expect(value.is_number_integer(), "an integer");
  bool fits = !value.is_number_unsigned() ||
              value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
  int64_t result = fits ? value.get<int64_t>() : INT64_MAX;
  if (!fits || result < least || result > most)
    fail(value.dump(), " is not in [", least, ", ", most, "]");
  return result;
}

std::vector<JsonReader> JsonReader::asArray() const {
  expect(value.is_array(), "an array");
  std::vector<JsonReader> elements;
  for (size_t i = 0; i < value.size(); ++i)
    elements.emplace_back(value[i], concat(where, "[", i, "]"));
  return elements;
}

std::vector<int64_t> JsonReader::asInts(int64_t least, int64_t most) const {
  std::vector<int64_t> result;
  for (const JsonReader &element : asArray())
    result.push_back(element.asInt(least, most));
  return result;
}

//===----------------------------------------------------------------------===//
// Programs and their groups
//===----------------------------------------------------------------------===//

static constexpr int64_t maxRanks = 1 << 24;
static constexpr int64_t maxNs = int64_t(1) << 60;

static ElementType readType(const JsonReader &reader) {
  ElementType element;
  if (Status status = parseElementType(reader.get("type").asString(), element);
      !status)
    reader.fail(status.getMessage());
  return element;
}

static Implementation readImplementation(const JsonReader &reader) {
  reader.expectObject({"name", "method", "channels", "stream"});
  Implementation implementation;
  implementation.name = reader.get("name").asString();
  if (implementation.name.empty())
    reader.fail("'name' is empty");
  std::string method = reader.get("method").asString();
  std::optional<Method> parsed = parseName<Method>(method);
  if (!parsed)
    reader.fail("unknown method '", method,
                "': it is nccl, copy-engine or symmetric");
  implementation.method = *parsed;
  implementation.stream = implementation.name;
  reader.read("stream", implementation.stream);
  if (implementation.stream.empty())
    reader.fail("'stream' is empty");
  if (reader.has("channels") && implementation.method != Method::Nccl)
    reader.fail("method '" + method + "' has no 'channels'");
  reader.read("channels", implementation.channels, 0, INT32_MAX);
  return implementation;
}

/// Fails if another group has the name and the implementation of the last one
/// of `groups`, or its name and other ranks. `firsts` has the first group of
/// each name, `seen` the names with those of implementations, "" for none.
static void checkName(const JsonReader &reader,
                      const std::vector<GroupDescription> &groups,
                      std::map<std::string, size_t> &firsts,
                      std::set<std::pair<std::string, std::string>> &seen) {
  const GroupDescription &group = groups.back();
  size_t index =
      firsts.try_emplace(group.name, groups.size() - 1).first->second;
  const GroupDescription &first = groups[index];
  if (!seen.emplace(group.name,
                    group.implementation ? group.implementation->name : "")
           .second)
    reader.fail("another group has this name",
                group.implementation ? " and this implementation" : "");
  if (first.size != group.size || first.stride != group.stride ||
      first.ranks != group.ranks)
    reader.fail("groups[", index, "] has this name, but other ranks");
}

static GroupDescription readGroup(JsonReader &reader) {
  reader.expectObject({"name", "size", "stride", "ranks", "implementation"});
  GroupDescription group;
  group.name = reader.get("name").asString();
  reader.addName(group.name);
  if (reader.has("implementation"))
    group.implementation = readImplementation(reader.get("implementation"));
  group.size = reader.get("size").asInt(1, maxRanks);
  if (reader.has("stride") && reader.has("ranks"))
    reader.fail("has both 'stride' and 'ranks'");
  reader.read("stride", group.stride, 1, maxRanks);
  if (!reader.has("ranks"))
    return group;
  std::set<int64_t> seen;
  for (const JsonReader &row : reader.get("ranks").asArray()) {
    std::vector<int64_t> ranks = row.asInts(0, maxRanks);
    if (static_cast<int64_t>(ranks.size()) != group.size)
      row.fail("lists ", ranks.size(), " ranks, but 'size' is ", group.size);
    for (int64_t rank : ranks)
      if (!seen.insert(rank).second)
        row.fail("rank ", rank, " is listed twice");
    group.ranks.emplace_back(ranks.begin(), ranks.end());
  }
  if (group.ranks.empty())
    reader.fail("'ranks' has no row");
  return group;
}

static Tensor readTensor(const JsonReader &reader) {
  reader.expectObject({"type", "inputs", "outputs", "row"});
  Tensor tensor;
  tensor.element = readType(reader);
  reader.read("inputs", tensor.inputs, 0, maxElements);
  reader.read("outputs", tensor.outputs, 0, maxElements);
  reader.read("row", tensor.rowElements, 0, maxElements);
  return tensor;
}

/// Reads the splits of one side ("input" or "output") of `site`: one list for
/// each tensor, or equal parts where only the other side lists some. A side
/// whose splits are values has none, and its tensors have no number of
/// elements.
static void readSide(const JsonReader &reader, Site &site, int64_t size,
                     const std::string &side, bool Site::*areValues,
                     int64_t Tensor::*elements,
                     std::vector<int64_t> Tensor::*splits) {
  const std::string key = side + "_splits";
  bool isListed = reader.has(key);
  site.*areValues = isListed && reader.get(key).isText("values");
  std::vector<std::vector<int64_t>> lists;
  if (isListed && !(site.*areValues)) {
    for (const JsonReader &list : reader.get(key).asArray())
      lists.push_back(list.asInts(0, maxElements));
    if (lists.size() != site.tensors.size())
      reader.fail("'", key, "' has ", lists.size(), " lists for ",
                  site.tensors.size(), " tensors");
  }
  for (size_t i = 0; i < site.tensors.size(); ++i) {
    Tensor &tensor = site.tensors[i];
    int64_t count = tensor.*elements;
    if (site.*areValues && count != 0)
      reader.fail("tensor ", i, ": '", side, "s' is ", count, ", but '", key,
                  "' are values");
    if (!isListed && count % size != 0)
      reader.fail(size, " ranks do not divide '", side, "s' = ", count,
                  ", and no splits say how");
    if (!isListed)
      (tensor.*splits).assign(size, count / size);
    else if (!(site.*areValues))
      tensor.*splits = lists[i];
  }
}

static void readAllSplits(const JsonReader &reader, Site &site, int64_t size) {
  if (!reader.has("input_splits") && !reader.has("output_splits"))
    return;
  if (site.kind != COMMSCHED_ALL_TO_ALL)
    reader.fail("only all_to_all has splits");
  readSide(reader, site, size, "input", &Site::inputSplitsAreValues,
           &Tensor::inputs, &Tensor::inputSplits);
  readSide(reader, site, size, "output", &Site::outputSplitsAreValues,
           &Tensor::outputs, &Tensor::outputSplits);
}

static Site readSite(JsonReader &reader, const Program &program) {
  reader.expectObject({"name", "location", "kind", "group", "runtime_ns",
                       "tensors", "reduction", "peer", "tag", "input_splits",
                       "output_splits", "pairs"});
  Site site;
  site.name = reader.get("name").asString();
  reader.addName(site.name);
  reader.read("location", site.location);
  std::string kind = reader.get("kind").asString();
  std::optional<commsched_kind> parsedKind = parseName<commsched_kind>(kind);
  if (!parsedKind)
    reader.fail("unknown kind '" + kind + "'");
  site.kind = *parsedKind;
  int64_t size = 1;
  if (!isTransfer(site.kind)) {
    site.group = static_cast<int32_t>(reader.get("group").asInt(
        0, static_cast<int64_t>(program.groups.size()) - 1));
    size = program.groups[site.group].size;
  } else {
    site.group = -1;
    if (reader.has("group"))
      reader.fail(kind + " has no 'group'");
  }
  if (reader.has("reduction")) {
    std::string reduction = reader.get("reduction").asString();
    site.reduction = parseName<commsched_reduction>(reduction);
    if (!site.reduction)
      reader.fail("unknown reduction '" + reduction + "'");
  }
  reader.read("peer", site.peer, 0, size - 1);
  reader.read("tag", site.tag, 0, INT32_MAX);
  reader.read("runtime_ns", site.runtimeNs, -1, maxNs);
  for (const JsonReader &tensor : reader.getArray("tensors"))
    site.tensors.push_back(readTensor(tensor));
  readAllSplits(reader, site, size);
  for (const JsonReader &pair : reader.getArray("pairs")) {
    std::vector<int64_t> ranks = pair.asInts(0, size - 1);
    if (ranks.size() != 2)
      pair.fail("a pair has a source and a target");
    site.pairs.emplace_back(ranks[0], ranks[1]);
  }
  if (Status status = checkSiteDescription(site, size, reader.has("pairs"));
      !status)
    reader.fail(status.getMessage());
  return site;
}

static std::vector<OperatorBuffer> readBuffers(const JsonReader &reader,
                                               const char *key) {
  std::vector<OperatorBuffer> buffers;
  for (const JsonReader &buffer : reader.getArray(key)) {
    buffer.expectObject({"type", "elements"});
    buffers.push_back(
        {readType(buffer), buffer.get("elements").asInt(0, maxElements)});
  }
  return buffers;
}

static Operator readOperator(JsonReader &reader) {
  reader.expectObject({"name", "location", "inputs", "outputs"});
  Operator op;
  op.name = reader.get("name").asString();
  reader.addName(op.name);
  reader.read("location", op.location);
  op.inputs = readBuffers(reader, "inputs");
  op.outputs = readBuffers(reader, "outputs");
  return op;
}

static Program readProgram(const JsonReader &reader) {
  reader.expectObject({"version", "groups", "sites", "operators", "host_code"});
  Program program;
  // There is one version so far.
  reader.get("version").asInt(1, 1);
  std::map<std::string, size_t> firsts;
  std::set<std::pair<std::string, std::string>> seen;
  for (JsonReader &group : reader.getArray("groups")) {
    program.groups.push_back(readGroup(group));
    checkName(group, program.groups, firsts, seen);
  }
  int32_t numCollectives = 0;
  for (JsonReader &element : reader.getArray("sites")) {
    Site &site = program.sites.emplace_back(readSite(element, program));
    site.index = static_cast<int32_t>(program.sites.size() - 1);
    site.collective = isTransfer(site.kind) ? -1 : numCollectives++;
  }
  for (JsonReader &element : reader.getArray("operators")) {
    Operator &op = program.operators.emplace_back(readOperator(element));
    op.index = static_cast<int32_t>(program.operators.size() - 1);
  }
  reader.read("host_code", program.hostCode);
  return program;
}

Status commsched::runtime::parseProgram(const std::string &json,
                                        Program &program) {
  const std::string prefix = "program description: ";
  try {
    JsonReader::Json document = JsonReader::Json::parse(json);
    program = readProgram(JsonReader(document, ""));
    return Status();
  } catch (const JsonError &error) {
    return prefix + error.what();
  } catch (const JsonReader::Json::exception &error) {
    return prefix + error.what();
  }
}

bool commsched::runtime::isUnevenAllToAll(const Site &site) {
  return !site.hasSplitValues() && !site.tensors.empty() &&
         !site.tensors.front().inputSplits.empty();
}

Status commsched::runtime::expandGroup(const GroupDescription &group,
                                       int64_t numRanks, Rows &rows) {
  const std::string name = "group '" + group.name + "' ";
  const std::string butRun = concat(", but ", numRanks, " run");
  rows.clear();
  if (!group.ranks.empty()) {
    for (const std::vector<int32_t> &row : group.ranks)
      for (int32_t rank : row)
        if (rank >= numRanks)
          return concat(name, "names rank ", rank, butRun);
    rows = group.ranks;
    return Status();
  }
  if (group.size > numRanks)
    return concat(name, "has ", group.size, " ranks", butRun);
  // Every block of size * stride ranks holds `stride` rows.
  int64_t block = group.size * group.stride;
  if (numRanks % block != 0)
    return concat(name, "takes ", group.size, " ranks in steps of ",
                  group.stride, ", thus multiples of ", block, " ranks",
                  butRun);
  for (int64_t begin = 0; begin < numRanks; begin += block)
    for (int64_t first = begin; first < begin + group.stride; ++first) {
      std::vector<int32_t> row;
      for (int64_t i = 0; i < group.size; ++i)
        row.push_back(static_cast<int32_t>(first + i * group.stride));
      rows.push_back(std::move(row));
    }
  return Status();
}
