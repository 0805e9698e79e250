//===- Implementations.cpp - Implementations of collectives ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Implementations.h"
#include "CommSched/CostModel/Target.h"
#include "TableRow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include "llvm/Support/ScopedPrinter.h"
#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

static constexpr std::pair<ImplementationMethod, llvm::StringLiteral>
    methodNames[] = {{ImplementationMethod::Nccl, "nccl"},
                     {ImplementationMethod::CopyEngine, "copy-engine"},
                     {ImplementationMethod::Symmetric, "symmetric"}};

llvm::StringRef
cost::stringifyImplementationMethod(ImplementationMethod method) {
  return methodNames[static_cast<size_t>(method)].second;
}

std::optional<ImplementationMethod>
cost::symbolizeImplementationMethod(llvm::StringRef name) {
  for (const auto &[method, methodName] : methodNames)
    if (methodName == name)
      return method;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// CollectiveKinds
//===----------------------------------------------------------------------===//

CollectiveKinds CollectiveKinds::all() {
  CollectiveKinds kinds = none();
  for (CollectiveKind kind : allCollectiveKinds)
    if (!isHostTransfer(kind))
      kinds.add(kind);
  return kinds;
}

CollectiveKinds CollectiveKinds::of(ImplementationMethod method) {
  CollectiveKinds kinds = none();
  switch (method) {
  case ImplementationMethod::Nccl:
    return all();
  case ImplementationMethod::CopyEngine:
    kinds.add(CollectiveKind::AllGather);
    kinds.add(CollectiveKind::AllToAll);
    return kinds;
  case ImplementationMethod::Symmetric:
    kinds.add(CollectiveKind::AllGather);
    kinds.add(CollectiveKind::ReduceScatter);
    kinds.add(CollectiveKind::AllReduce);
    return kinds;
  }
  return kinds;
}

std::string CollectiveKinds::toString() const {
  std::string text;
  for (CollectiveKind kind : allCollectiveKinds)
    if (has(kind)) {
      text += text.empty() ? "" : ", ";
      text += stringifyCollectiveKind(kind);
    }
  return text;
}

//===----------------------------------------------------------------------===//
// Implementation
//===----------------------------------------------------------------------===//

Implementation Implementation::makeDefault() {
  Implementation result;
  result.name = result.stream = Implementations::defaultName;
  return result;
}

std::optional<std::string>
Implementation::getObstacle(const CollectiveQuery &query) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!collectives.has(query.kind))
    os << "carries out " << collectives.toString() << ", not "
       << stringifyCollectiveKind(query.kind);
  else if (query.nodes() > maxNodes)
    os << "takes groups on at most " << maxNodes
       << (maxNodes == 1 ? " node" : " nodes") << ", not on " << query.nodes();
  else
    return std::nullopt;
  return text;
}

/// What the bytes take by the linear time, not rounded.
static double computeTransferNs(const Implementation::LinearTime &linear,
                                const CollectiveQuery &query) {
  double received = static_cast<double>(std::max<int64_t>(query.bytes, 0)) *
                    (query.ranks - 1) / query.ranks;
  if (query.kind == CollectiveKind::AllReduce)
    received *= 2;
  // A GB/s is a byte each nanosecond.
  return received / linear.bandwidthGBs;
}

int64_t cost::computeLinearTimeNs(const Implementation::LinearTime &linear,
                                  const CollectiveQuery &query) {
  bool isBarrier = query.kind == CollectiveKind::Barrier;
  if (query.ranks <= 1 || (query.bytes <= 0 && !isBarrier))
    return 0;
  return roundToNs(1000 * linear.latencyUs * std::max(query.tensors, 1) +
                   computeTransferNs(linear, query));
}

double cost::getShareableNs(const Implementation::LinearTime &linear,
                            const CollectiveQuery &query) {
  if (query.ranks <= 1 || query.bytes <= 0)
    return 0;
  double ns = 1000 * linear.latencyUs + computeTransferNs(linear, query);
  return std::max(ns - 1, 0.0);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace {

/// Reads the fields of one implementation.
class ImplementationReader {
public:
  ImplementationReader(llvm::StringRef name, const llvm::json::Object &object)
      : name(name), object(object),
        fields(object, "implementation '" + name + "'") {}

  llvm::Expected<Implementation> read();

private:
  bool fail(const llvm::Twine &what) { return fields.fail(what); }
  bool checkFields();
  bool readNumber(llvm::StringRef field, double minimum, double maximum,
                  std::optional<double> &result);
  bool readCount(llvm::StringRef field, int64_t minimum, int64_t maximum,
                 int64_t &result);
  bool readText(llvm::StringRef field, std::string &result);
  bool readMethod(Implementation &result);
  bool readTime(Implementation &result);
  bool readCollectives(Implementation &result);
  bool readLimits(Implementation &result);

  llvm::StringRef name;
  const llvm::json::Object &object;
  JsonFields fields;
};

} // namespace

static constexpr llvm::StringLiteral implementationFields[] = {
    "method",      "channels",  "tax",       "latency_us", "bandwidth_gb_s",
    "collectives", "min_bytes", "max_bytes", "max_nodes",  "stream"};

bool ImplementationReader::checkFields() {
  // The order of a JSON object is not fixed.
  std::vector<llvm::StringRef> unknown;
  for (const auto &entry : object)
    if (!llvm::is_contained(implementationFields, llvm::StringRef(entry.first)))
      unknown.push_back(entry.first);
  if (unknown.empty())
    return true;
  return fail(
      "unknown field '" + *llvm::min_element(unknown) + "'; there are " +
      llvm::join(llvm::ArrayRef<llvm::StringLiteral>(implementationFields),
                 ", "));
}

bool ImplementationReader::readNumber(llvm::StringRef field, double minimum,
                                      double maximum,
                                      std::optional<double> &result) {
  const llvm::json::Value *value = fields.get(field);
  if (!value)
    return true;
  std::optional<double> number = value->getAsNumber();
  // Written so that a NaN fails, too.
  if (!number || !(*number >= minimum && *number <= maximum))
    return fail(
        "field '" + field + "' must be a number " +
        llvm::to_string(llvm::format("from %g to %g", minimum, maximum)));
  result = number;
  return true;
}

bool ImplementationReader::readCount(llvm::StringRef field, int64_t minimum,
                                     int64_t maximum, int64_t &result) {
  const llvm::json::Value *value = fields.get(field);
  if (!value)
    return true;
  std::optional<int64_t> integer = value->getAsInteger();
  if (!integer || *integer < minimum || *integer > maximum)
    return fail("field '" + field + "' must be an integer from " +
                llvm::Twine(minimum) + " to " + llvm::Twine(maximum));
  result = *integer;
  return true;
}

bool ImplementationReader::readText(llvm::StringRef field,
                                    std::string &result) {
  const llvm::json::Value *value = fields.get(field);
  if (!value)
    return true;
  std::optional<llvm::StringRef> text = value->getAsString();
  if (!text || text->empty())
    return fail("field '" + field + "' must be a string that is not empty");
  result = text->str();
  return true;
}

bool ImplementationReader::readMethod(Implementation &result) {
  std::string method = name.str();
  if (!readText("method", method))
    return false;
  std::optional<ImplementationMethod> known =
      symbolizeImplementationMethod(method);
  auto names = llvm::map_range(methodNames,
                               [](const auto &entry) { return entry.second; });
  if (!known && !fields.get("method"))
    return fail("needs the field 'method', one of " + llvm::join(names, ", "));
  if (!known)
    return fail("unknown method '" + method + "'; there are " +
                llvm::join(names, ", "));
  result.method = *known;
  bool isNccl = *known == ImplementationMethod::Nccl;
  if (name == Implementations::defaultName && !isNccl)
    return fail("carries out what names no implementation: its method is nccl");
  int64_t channels = 0;
  constexpr int64_t mostChannels = 64;
  if (!readCount("channels", 1, mostChannels, channels))
    return false;
  if (channels != 0 && !isNccl)
    return fail("field 'channels' is for the method nccl, not for " + method);
  result.channels = static_cast<int32_t>(channels);
  result.collectives = CollectiveKinds::of(*known);
  if (!isNccl)
    result.maxNodes = 1;
  return true;
}

bool ImplementationReader::readTime(Implementation &result) {
  std::optional<double> tax, latency, bandwidth;
  constexpr double most = 1e9;
  if (!readNumber("tax", 0, Implementations::mostTax, tax) ||
      !readNumber("latency_us", 0, most, latency) ||
      !readNumber("bandwidth_gb_s", 1e-6, most, bandwidth))
    return false;
  if (latency.has_value() != bandwidth.has_value())
    return fail("has only one of 'latency_us' and 'bandwidth_gb_s'");
  if (latency)
    result.linear = {*latency, *bandwidth};
  if (result.linear && result.channels != 0)
    return fail("has 'channels', for NCCL's model, and 'bandwidth_gb_s'");
  result.tax = tax.value_or(0);
  return true;
}

bool ImplementationReader::readCollectives(Implementation &result) {
  const llvm::json::Value *value = fields.get("collectives");
  if (!value)
    return true;
  const llvm::json::Array *names = value->getAsArray();
  if (!names || names->empty())
    return fail("field 'collectives' must be a list of names");
  CollectiveKinds kinds = CollectiveKinds::none();
  for (const llvm::json::Value &entry : *names) {
    std::optional<llvm::StringRef> text = entry.getAsString();
    std::optional<CollectiveKind> kind =
        text ? symbolizeCollectiveKind(*text) : std::nullopt;
    if (!kind || !result.collectives.has(*kind))
      return fail("field 'collectives' may have " +
                  result.collectives.toString() +
                  (text ? ", not '" + *text + "'" : llvm::Twine()));
    kinds.add(*kind);
  }
  if (name == Implementations::defaultName &&
      !kinds.contains(result.collectives))
    return fail("carries out all collectives that name no implementation: it "
                "has no field 'collectives'");
  result.collectives = kinds;
  return true;
}

bool ImplementationReader::readLimits(Implementation &result) {
  int64_t nodes = result.maxNodes;
  constexpr int64_t max64 = std::numeric_limits<int64_t>::max();
  if (!readCount("min_bytes", 0, max64, result.minBytes) ||
      !readCount("max_bytes", result.minBytes, max64, result.maxBytes) ||
      !readCount("max_nodes", 1, std::numeric_limits<int32_t>::max(), nodes))
    return false;
  result.maxNodes = static_cast<int32_t>(nodes);
  if (name == Implementations::defaultName)
    for (llvm::StringRef field : {"min_bytes", "max_bytes", "max_nodes"})
      if (fields.get(field))
        return fail("carries out all collectives that name no implementation: "
                    "it has no field '" +
                    field + "'");
  return true;
}

llvm::Expected<Implementation> ImplementationReader::read() {
  Implementation result;
  result.name = result.stream = name.str();
  if (checkFields() && readMethod(result) && readTime(result) &&
      readCollectives(result) && readLimits(result) &&
      readText("stream", result.stream))
    return result;
  return fields.takeError();
}

//===----------------------------------------------------------------------===//
// Implementations
//===----------------------------------------------------------------------===//

llvm::Expected<Implementations>
Implementations::parse(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return llvm::createStringError(
        "'implementations' must be an object of objects, by name");
  std::vector<llvm::StringRef> names;
  for (const auto &entry : *object)
    names.push_back(entry.first);
  llvm::sort(names);
  Implementations result;
  result.listed = true;
  for (llvm::StringRef name : names) {
    const llvm::json::Object *fields = object->getObject(name);
    if (name.empty() || !fields)
      return llvm::createStringError("implementation '" + name +
                                     "': must be an object with a name");
    llvm::Expected<Implementation> read =
        ImplementationReader(name, *fields).read();
    if (!read)
      return read.takeError();
    if (name == defaultName) {
      result.list.front() = std::move(*read);
      result.listsDefault = true;
    } else {
      result.list.push_back(std::move(*read));
    }
  }
  return result;
}

void Implementations::add(const Implementations &other) {
  if (!other.listed)
    return;
  listed = true;
  listsDefault |= other.listsDefault;
  for (const Implementation &added : other.list) {
    if (added.name == defaultName && !other.listsDefault)
      continue;
    if (std::optional<int32_t> index = find(added.name))
      list[*index] = added;
    else
      list.push_back(added);
  }
}

std::optional<int32_t> Implementations::find(llvm::StringRef name) const {
  for (auto [index, implementation] : llvm::enumerate(list))
    if (implementation.name == name)
      return static_cast<int32_t>(index);
  return std::nullopt;
}

std::string Implementations::listNames() const {
  return llvm::join(
      llvm::map_range(list,
                      [](const Implementation &entry) -> llvm::StringRef {
                        return entry.name;
                      }),
      ", ");
}
