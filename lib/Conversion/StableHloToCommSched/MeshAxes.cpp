//===- MeshAxes.cpp - Groups along the axes of a mesh ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A `#stablehlo.replica_group_mesh_axes` names axes of a mesh, which it holds
// or which the module declares, as Shardy does:
//
//   "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=4]>, sym_name = "mesh"}>
//   #stablehlo.replica_group_mesh_axes<
//     mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>
//
// Devices whose coordinates differ along these axes only are one group, in the
// order of their coordinates; the first axis varies slowest. All attributes are
// read as their text.
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

namespace {

struct Axis {
  std::string name;
  int64_t size = 1;
};

struct Mesh {
  SmallVector<Axis> axes;
  /// By coordinates, the last of which varies fastest; empty if they count.
  SmallVector<int64_t> deviceIds;
};

/// A part of an axis: the coordinate is divided by `stride`, modulo `size`.
struct AxisPart {
  size_t axis = 0;
  int64_t size = 1;
  int64_t stride = 1;
};

/// Consumes tokens from the front of a text.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}

  bool consume(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  bool consumeKey(StringRef key) { return consume(key) && consume("="); }
  bool consumeInteger(int64_t &value) {
    text = text.ltrim();
    return !text.consumeInteger(10, value);
  }
  bool consumeString(std::string &value) {
    if (!consume("\""))
      return false;
    auto [name, rest] = text.split('"');
    value = name.str();
    text = rest;
    return true;
  }
  /// `@name`, which may be quoted.
  bool consumeSymbol(std::string &name) {
    if (!consume("@"))
      return false;
    if (text.starts_with("\""))
      return consumeString(name);
    StringRef word = text.take_while([](char c) {
      return llvm::isAlnum(c) || StringRef("_$.-").contains(c);
    });
    name = word.str();
    text = text.drop_front(word.size());
    return !name.empty();
  }
  /// Integers, separated by commas, up to `close`.
  bool consumeIntegers(StringRef close, SmallVectorImpl<int64_t> &values) {
    while (!consume(close)) {
      if (!values.empty() && !consume(","))
        return false;
      if (!consumeInteger(values.emplace_back()))
        return false;
    }
    return true;
  }

private:
  StringRef text;
};

} // namespace

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

/// `dense<[0, 2, 1, 3]> : tensor<4xi64>` behind `device_ids =`.
static bool readDenseIds(Scanner &scanner, Mesh &mesh) {
  if (!scanner.consume("dense<"))
    return false;
  int64_t size = 0;
  if (scanner.consume("[")) {
    if (!scanner.consumeIntegers("]", mesh.deviceIds))
      return false;
  } else if (!scanner.consumeInteger(mesh.deviceIds.emplace_back())) {
    return false;
  }
  return scanner.consume(">") && scanner.consume(":") &&
         scanner.consume("tensor<") && scanner.consumeInteger(size) &&
         scanner.consume("xi64") && scanner.consume(">") &&
         size == static_cast<int64_t>(mesh.deviceIds.size());
}

/// `axes = [#stablehlo.mesh_axis<name = "x", size = 2>, ...]` and perhaps
/// `, device_ids = dense<...>`, up to `close`.
static bool readStableHloMesh(Scanner &scanner, StringRef close, Mesh &mesh) {
  if (!scanner.consumeKey("axes") || !scanner.consume("["))
    return false;
  while (!scanner.consume("]")) {
    if (!mesh.axes.empty() && !scanner.consume(","))
      return false;
    Axis &axis = mesh.axes.emplace_back();
    bool isAttribute = scanner.consume("#stablehlo.mesh_axis");
    bool isDictionary = !isAttribute && scanner.consume("{");
    if ((!isDictionary && !scanner.consume("<")) ||
        !scanner.consumeKey("name") || !scanner.consumeString(axis.name) ||
        !scanner.consume(",") || !scanner.consumeKey("size") ||
        !scanner.consumeInteger(axis.size))
      return false;
    if (scanner.consume(":") && !scanner.consume("i64"))
      return false;
    if (!scanner.consume(isDictionary ? "}" : ">"))
      return false;
  }
  if (scanner.consume(",") &&
      !(scanner.consumeKey("device_ids") && readDenseIds(scanner, mesh)))
    return false;
  return scanner.consume(close);
}

/// `#sdy.mesh<["x"=2, "y"=4], device_ids=[...]>`.
static bool readShardyMesh(Scanner &scanner, Mesh &mesh) {
  if (!scanner.consume("#sdy.mesh<") || !scanner.consume("["))
    return false;
  while (!scanner.consume("]")) {
    if (!mesh.axes.empty() && !scanner.consume(","))
      return false;
    Axis &axis = mesh.axes.emplace_back();
    if (!scanner.consumeString(axis.name) || !scanner.consume("=") ||
        !scanner.consumeInteger(axis.size))
      return false;
  }
  if (scanner.consume(",") &&
      !(scanner.consumeKey("device_ids") && scanner.consume("[") &&
        scanner.consumeIntegers("]", mesh.deviceIds)))
    return false;
  return scanner.consume(">");
}

/// The mesh that the module declares as `name`.
static bool readDeclaredMesh(ModuleOp module, StringRef name, Mesh &mesh) {
  Operation *declaration = SymbolTable::lookupSymbolIn(module, name);
  if (!declaration)
    return false;
  for (StringRef attribute : {"mesh", "stablehlo.mesh"}) {
    Attribute attr = getAttribute(declaration, attribute);
    if (!attr)
      continue;
    std::string text = llvm::to_string(attr);
    Scanner scanner(text);
    if (isa<DictionaryAttr>(attr))
      return scanner.consume("{") && readStableHloMesh(scanner, "}", mesh);
    return readShardyMesh(scanner, mesh);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// One `#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>`.
static bool readAxisPart(Scanner &scanner, const Mesh &mesh, AxisPart &part) {
  std::string name;
  scanner.consume("#stablehlo.axis_ref");
  if (!scanner.consume("<") || !scanner.consumeKey("name") ||
      !scanner.consumeString(name))
    return false;
  const auto *axis = llvm::find_if(
      mesh.axes, [&](const Axis &each) { return each.name == name; });
  if (axis == mesh.axes.end())
    return false;
  part.axis = axis - mesh.axes.begin();
  part.size = axis->size;
  if (!scanner.consume(","))
    return scanner.consume(">");
  int64_t preSize = 1;
  if (!scanner.consumeKey("sub_axis_info") || !scanner.consume("(") ||
      !scanner.consumeInteger(preSize) || !scanner.consume(")") ||
      !scanner.consumeInteger(part.size) || !scanner.consume(">"))
    return false;
  int64_t outer;
  if (preSize < 1 || part.size < 1 ||
      llvm::MulOverflow(preSize, part.size, outer) || axis->size % outer != 0)
    return false;
  part.stride = axis->size / outer;
  return true;
}

/// The number of devices of `mesh`; 0 if it is none.
static int64_t countDevices(const Mesh &mesh) {
  int64_t count = 1;
  for (const Axis &axis : mesh.axes)
    if (axis.size < 1 || llvm::MulOverflow(count, axis.size, count) ||
        count > maxNumDevices)
      return 0;
  int64_t numIds = mesh.deviceIds.size();
  return numIds == 0 || numIds == count ? count : 0;
}

/// One row for each group of the devices along `parts`.
static DenseIntElementsAttr listGroups(const Mesh &mesh,
                                       ArrayRef<AxisPart> parts,
                                       int64_t numDevices,
                                       MLIRContext *context) {
  int64_t groupSize = 1;
  for (const AxisPart &part : parts)
    groupSize *= part.size;
  // The place of a device in its group, and what it has in common with it.
  SmallVector<int64_t> members(numDevices, -1);
  llvm::DenseMap<int64_t, int64_t> rows;
  for (int64_t device = 0; device < numDevices; ++device) {
    int64_t place = 0, others = device;
    for (const AxisPart &part : parts) {
      int64_t stride = part.stride;
      for (const Axis &axis : ArrayRef(mesh.axes).drop_front(part.axis + 1))
        stride *= axis.size;
      int64_t coordinate = device / stride % part.size;
      place = place * part.size + coordinate;
      others -= coordinate * stride;
    }
    int64_t row = rows.try_emplace(others, rows.size()).first->second;
    members[row * groupSize + place] =
        mesh.deviceIds.empty() ? device : mesh.deviceIds[device];
  }
  auto type = RankedTensorType::get({numDevices / groupSize, groupSize},
                                    IntegerType::get(context, 64));
  return DenseIntElementsAttr::get(type, members);
}

bool mlir::commsched::stablehlo::isMeshAxes(Attribute groups) {
  return StringRef(llvm::to_string(groups))
      .starts_with("#stablehlo.replica_group_mesh_axes<");
}

DenseIntElementsAttr
mlir::commsched::stablehlo::expandMeshAxes(Attribute groups, ModuleOp module,
                                           std::string &reason) {
  std::string text = llvm::to_string(groups), symbol;
  Scanner scanner(text);
  Mesh mesh;
  reason = "the axes in its 'replica_groups' are not understood";
  if (!scanner.consume("#stablehlo.replica_group_mesh_axes<") ||
      !(scanner.consumeKey("mesh_name") || scanner.consumeKey("mesh")))
    return {};
  if (scanner.consumeSymbol(symbol)) {
    if (!readDeclaredMesh(module, symbol, mesh)) {
      reason = "its 'replica_groups' name the mesh @" + symbol +
               ", of which the module declares no axes";
      return {};
    }
  } else if (!scanner.consume("#stablehlo.mesh<") ||
             !readStableHloMesh(scanner, ">", mesh)) {
    return {};
  }
  int64_t numDevices = countDevices(mesh);
  SmallVector<AxisPart> parts;
  if (numDevices == 0 || !scanner.consume(",") || !scanner.consumeKey("axes") ||
      !scanner.consume("["))
    return {};
  int64_t groupSize = 1;
  while (!scanner.consume("]")) {
    if (!parts.empty() && !scanner.consume(","))
      return {};
    if (!readAxisPart(scanner, mesh, parts.emplace_back()))
      return {};
    // Parts that overlap would name more devices than there are.
    for (const AxisPart &other : ArrayRef(parts).drop_back())
      if (other.axis == parts.back().axis &&
          other.stride < parts.back().stride * parts.back().size &&
          parts.back().stride < other.stride * other.size)
        return {};
    groupSize *= parts.back().size;
  }
  if (!scanner.consume(">") || numDevices % groupSize != 0)
    return {};
  return listGroups(mesh, parts, numDevices, groups.getContext());
}
