//===- ChakraMessages.cpp - Messages of execution traces ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ChakraSteps.h"

#if COMMSCHED_HAVE_PROTOZERO

#include <protozero/pbf_builder.hpp>

using namespace mlir::commsched::chakra;

namespace {

enum class MetadataField : protozero::pbf_tag_type { version = 1 };

enum class NodeField : protozero::pbf_tag_type {
  id = 1,
  name = 2,
  type = 3,
  dataDeps = 5,
  startTimeMicros = 6,
  durationMicros = 7,
  attr = 10,
};

enum class AttributeField : protozero::pbf_tag_type {
  name = 1,
  int32Val = 7,
  int64Val = 9,
  uint64Val = 13,
  boolVal = 27,
  boolList = 28,
  stringVal = 29,
};

enum class ListField : protozero::pbf_tag_type { values = 1 };

using NodeBuilder = protozero::pbf_builder<NodeField>;
using AttributeBuilder = protozero::pbf_builder<AttributeField>;

/// The attributes of a node. Readers look at the field that they expect and at
/// no other, so that the type of each is part of the format.
class Attributes {
public:
  explicit Attributes(NodeBuilder &node) : node(node) {}

  void addBool(const char *name, bool value) {
    begin(name).add_bool(AttributeField::boolVal, value);
  }
  void addInt32(const char *name, int32_t value) {
    begin(name).add_int32(AttributeField::int32Val, value);
  }
  void addInt64(const char *name, int64_t value) {
    begin(name).add_int64(AttributeField::int64Val, value);
  }
  void addUint64(const char *name, uint64_t value) {
    begin(name).add_uint64(AttributeField::uint64Val, value);
  }
  void addString(const char *name, const std::string &value) {
    begin(name).add_string(AttributeField::stringVal, value);
  }
  void addBools(const char *name, const std::vector<bool> &values) {
    AttributeBuilder attribute = begin(name);
    protozero::pbf_builder<ListField> list(attribute, AttributeField::boolList);
    list.add_packed_bool(ListField::values, values.begin(), values.end());
  }

private:
  AttributeBuilder begin(const char *name) {
    AttributeBuilder attribute(node, NodeField::attr);
    attribute.add_string(AttributeField::name, name);
    return attribute;
  }

  NodeBuilder &node;
};

} // namespace

/// Every attribute that the readers of ASTRA-sim know is given: some have no
/// default for one that is absent.
static void addCommunication(Attributes &attributes, const Node &node) {
  attributes.addInt64("comm_size", node.bytes);
  attributes.addInt32("comm_priority", 0);
  if (node.type == NodeType::CommColl) {
    attributes.addInt64("comm_type", static_cast<int64_t>(node.collective));
    if (!node.axes.empty())
      attributes.addBools("involved_dim", node.axes);
    return;
  }
  attributes.addInt32("comm_src", node.peers.source);
  attributes.addInt32("comm_dst", node.peers.destination);
  attributes.addInt32("comm_tag", node.peers.tag);
}

bool mlir::commsched::chakra::canEncode() { return true; }

std::string mlir::commsched::chakra::encodeMetadata() {
  std::string message;
  protozero::pbf_builder<MetadataField> metadata(message);
  metadata.add_string(MetadataField::version, "0.0.4");
  return message;
}

std::string mlir::commsched::chakra::encodeNode(const Node &node) {
  std::string message;
  NodeBuilder builder(message);
  builder.add_uint64(NodeField::id, node.id);
  builder.add_string(NodeField::name, node.name.data(), node.name.size());
  builder.add_enum(NodeField::type, static_cast<int32_t>(node.type));
  builder.add_packed_uint64(NodeField::dataDeps, node.dependences->begin(),
                            node.dependences->end());
  builder.add_uint64(NodeField::startTimeMicros, node.startMicros);
  builder.add_uint64(NodeField::durationMicros, node.durationMicros);
  Attributes attributes(builder);
  attributes.addBool("is_cpu_op", false);
  attributes.addInt64("runtime_ns", node.runtimeNs);
  switch (node.type) {
  case NodeType::Comp:
    attributes.addInt64("num_ops", 0);
    break;
  case NodeType::MemLoad:
  case NodeType::MemStore:
    attributes.addUint64("tensor_size", static_cast<uint64_t>(node.bytes));
    break;
  case NodeType::CommSend:
  case NodeType::CommRecv:
  case NodeType::CommColl:
    addCommunication(attributes, node);
    break;
  }
  return message;
}

std::string mlir::commsched::chakra::encodeGroup(int64_t id) {
  std::string message;
  NodeBuilder builder(message);
  Attributes(builder).addString("pg_name", std::to_string(id));
  return message;
}

void mlir::commsched::chakra::appendMessage(std::string &trace,
                                            std::string_view first,
                                            std::string_view second) {
  protozero::add_varint_to_buffer(&trace, first.size() + second.size());
  trace.append(first);
  trace.append(second);
}

#else

bool mlir::commsched::chakra::canEncode() { return false; }
std::string mlir::commsched::chakra::encodeMetadata() { return {}; }
std::string mlir::commsched::chakra::encodeNode(const Node &) { return {}; }
std::string mlir::commsched::chakra::encodeGroup(int64_t) { return {}; }
void mlir::commsched::chakra::appendMessage(std::string &, std::string_view,
                                            std::string_view) {}

#endif
