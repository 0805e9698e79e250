//===- MeasuredTable.h - Measured times of collectives ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of measured collective times, read from JSON, and its lookup. A
// curve is the rows of one (collective, ranks, nodes). Between its points,
// time is interpolated on logarithmic axes, which is exact both where latency
// rules and where bandwidth does.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_MEASUREDTABLE_H
#define COMMSCHED_COSTMODEL_MEASUREDTABLE_H

#include "CommSched/CostModel/Collective.h"
#include "CommSched/CostModel/Implementations.h"
#include "CommSched/CostModel/ProductWaves.h"
#include "CommSched/CostModel/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace mlir::commsched::cost {

/// The operations of a measured profile, by name or by types, and their
/// look-up.
class MeasuredOperations {
public:
  /// Reads a list of `{"operator": "aten.mm", "name": "mm_3", "function":
  /// "step", "time_ns": 8100}` and `{"operator": "aten.mm", "types":
  /// "(tensor<8x4xf32>) -> tensor<8x4xf32>", "time_ns": 8100}`. A row has
  /// either a name, with or without the function or graph that it was measured
  /// in, or types; of a collective that did not run on NCCL it has the column
  /// "implementation", too. Further columns are ignored. Fails with one line of
  /// text that names the operation (counted from 0) and the column.
  static llvm::Expected<MeasuredOperations>
  parse(const llvm::json::Value &value);

  /// Nanoseconds by the implementation that ran; of what is no collective by
  /// Implementations::defaultName.
  using Times = std::map<std::string, int64_t, std::less<>>;

  bool hasNames() const { return !byName.empty(); }
  bool hasTypes() const { return !byTypes.empty(); }

  /// The times of the operation with this name in this graph, or null. Rows
  /// without a graph, which hold in any, are those of "".
  const Times *findByName(llvm::StringRef graph, llvm::StringRef name,
                          llvm::StringRef operatorName) const;

  /// The times of an operator from and to values of these types, or null.
  const Times *findByTypes(llvm::StringRef operatorName,
                           llvm::StringRef types) const;

  /// An operation that was measured by name, such as "'aten.mm' 'mm_3' of
  /// 'step'".
  std::string describeFirstName() const;

private:
  /// Graph (empty: any), name and operator.
  using NameKey = std::tuple<std::string, std::string, std::string>;
  /// Operator and types.
  using TypeKey = std::pair<std::string, std::string>;

  std::map<NameKey, Times> byName;
  std::map<TypeKey, Times> byTypes;
};

/// The products of matrices of a measured profile, and their look-up.
class MeasuredProducts {
public:
  /// Reads a list of `{"m": 8192, "n": 1792, "k": 4096, "batch": 1, "type":
  /// "bf16", "time_ns": 171000}`. `batch` is 1 if it is absent, the time may be
  /// given as `time_us`, and further columns are ignored. Fails with one line
  /// of text that names the product (counted from 0) and the column: a missing
  /// or wrong column, an unknown type, a size or a time below 1, and a product
  /// that contradicts another one.
  static llvm::Expected<MeasuredProducts> parse(const llvm::json::Value &value);

  bool empty() const { return times.empty(); }

  /// Nanoseconds of a product of exactly this shape and type, or interpolated
  /// linearly between two products that differ from it in `m` only. None for
  /// any other product.
  std::optional<int64_t> findNs(const ProductShape &shape,
                                ElementKind kind) const;

  /// Nanoseconds per multiplication of two elements of that type that no
  /// findNs() is below, but for rounding; none without products of the type.
  std::optional<double> getLeastNsPerMultiplication(ElementKind kind) const;

private:
  /// Type, n, k and batch.
  using Key = std::tuple<ElementKind, int64_t, int64_t, int64_t>;

  /// The times in nanoseconds by m.
  std::map<Key, std::map<int64_t, int64_t>> times;
  /// By type.
  std::map<ElementKind, double> leastNsPerMultiplication;
};

/// One measurement: `bytes` as in `CollectiveQuery`, time in nanoseconds.
struct MeasuredRow {
  CollectiveKind kind = CollectiveKind::AllReduce;
  int32_t ranks = 0;
  int32_t nodes = 1;
  int64_t bytes = 0;
  int64_t timeNs = 0;
  /// How many tensors one launch carries, which have these bytes together.
  int32_t tensors = 1;
  /// The implementation that was measured.
  std::string implementation = std::string(Implementations::defaultName);
};

/// The smoothed points of one (implementation, collective, ranks, nodes), by
/// bytes.
class MeasuredCurve {
public:
  struct Point {
    int64_t bytes;
    double timeNs;
  };

  /// `rows` must be sorted by bytes, without repeats, and not empty.
  explicit MeasuredCurve(llvm::ArrayRef<MeasuredRow> rows);

  /// True where `bytes` lies between the first and the last point.
  bool covers(int64_t bytes) const;
  /// Nanoseconds; `bytes` must be covered.
  double interpolateNs(int64_t bytes) const;
  const Point &front() const { return points.front(); }
  const Point &back() const { return points.back(); }
  llvm::ArrayRef<Point> getPoints() const { return points; }

private:
  std::vector<Point> points;
};

class MeasuredTable {
public:
  /// Reads `{"name", "source", "device", "target", "rows": [row, ...]}` or a
  /// bare list of rows, where a row is `{"collective": "all_reduce", "ranks":
  /// 8, "nodes": 1, "bytes": 65536, "time_ns": 39700}`, with "implementation"
  /// unless it is nccl, and the target
  /// `{"memory_gb_s": 20}`, measured values of any fields of a target. The
  /// member "implementations" is one for Implementations::parse(). The
  /// member "products" is a list that MeasuredProducts::parse() reads, and
  /// "operations" one for MeasuredOperations::parse(); "slack_percent" is a
  /// percentage from 0 to `mostSlackPercent`. Further columns and members are
  /// for others. Fails with one line of text that names
  /// the row (counted from 0) and the column, or the target's field.
  static llvm::Expected<MeasuredTable> fromJson(const llvm::json::Value &value);
  static llvm::Expected<MeasuredTable> parse(llvm::StringRef json);

  /// The content of a file, which parse() has accepted; errors start with the
  /// path.
  static llvm::Expected<llvm::json::Value> read(llvm::StringRef path);

  /// `parse` of a file's content; errors start with the path.
  static llvm::Expected<MeasuredTable> load(llvm::StringRef path);

  /// Fails on rows that are out of range or contradict each other, and on rows
  /// of several tensors whose bytes no curve of one tensor covers.
  static llvm::Expected<MeasuredTable> create(llvm::ArrayRef<MeasuredRow> rows);

  llvm::StringRef getName() const { return name; }
  /// The file that the table comes from, its member "file" or the one that was
  /// loaded; empty for a table that comes from none.
  llvm::StringRef getPath() const { return path; }
  llvm::StringRef getSource() const { return source; }
  llvm::StringRef getDevice() const { return device; }
  /// The products of matrices that were measured.
  const MeasuredProducts &getProducts() const { return products; }
  /// The operations that were measured; null if there are none.
  const std::shared_ptr<const MeasuredOperations> &getOperations() const {
    return operations;
  }
  /// By how many percent measured times exceed those of the table; none if it
  /// does not say.
  std::optional<int32_t> getSlackPercent() const { return slackPercent; }
  static constexpr int32_t mostSlackPercent = 1000;
  /// Replaces the fields and implementations of `target` that were measured.
  void applyTo(Target &target) const;

  /// The rows of one tensor as measured, sorted by collective, ranks, nodes and
  /// bytes.
  llvm::ArrayRef<MeasuredRow> getRows() const { return rows; }

  /// The curve of exactly this collective and group; null if there is none.
  const MeasuredCurve *findCurve(
      CollectiveKind kind, int32_t ranks, int32_t nodes,
      llvm::StringRef implementation = Implementations::defaultName) const;

  /// Nanoseconds that every further tensor of a launch adds in exactly this
  /// group, whatever its bytes: the lower median of what the rows of several
  /// tensors take beyond one tensor of the same bytes, and at least 0. Nothing
  /// if there are no such rows.
  std::optional<double> findFurtherTensorNs(
      CollectiveKind kind, int32_t ranks, int32_t nodes,
      llvm::StringRef implementation = Implementations::defaultName) const;

  /// The curves of this collective whose rank counts enclose `ranks` most
  /// closely and whose ranks a node equal the query's (or which, like the
  /// query, fit in one node). Either both or none.
  struct Neighbours {
    const MeasuredCurve *lower = nullptr;
    const MeasuredCurve *upper = nullptr;
    CollectiveQuery lowerGroup;
    CollectiveQuery upperGroup;
  };
  Neighbours findNeighbours(
      const CollectiveQuery &query,
      llvm::StringRef implementation = Implementations::defaultName) const;

private:
  /// Implementation, collective, ranks, nodes.
  using Key = std::tuple<std::string, CollectiveKind, int32_t, int32_t>;

  llvm::Error addRows(llvm::ArrayRef<MeasuredRow> measured);
  llvm::Error addCoalesced(llvm::ArrayRef<MeasuredRow> measured);
  llvm::Error readMembers(const llvm::json::Object &object);

  std::string name;
  std::string path;
  std::string source;
  std::string device;
  /// Keys and values that Target::setField() takes.
  std::vector<std::pair<std::string, double>> fields;
  Implementations implementations;
  MeasuredProducts products;
  /// Shared by copies of the table, since there may be many.
  std::shared_ptr<const MeasuredOperations> operations;
  std::optional<int32_t> slackPercent;
  std::vector<MeasuredRow> rows;
  std::map<Key, MeasuredCurve> curves;
  std::map<Key, double> furtherTensorNs;
};

/// Makes a noisy curve non-decreasing, so that schedulers that merge and split
/// collectives cannot exploit the dips of a measured table: the non-decreasing
/// sequence with the least sum of squared distances to `values` (pool adjacent
/// violators). Linear in the number of values.
std::vector<double> isotonicRegression(llvm::ArrayRef<double> values);

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_MEASUREDTABLE_H
