//===- GroupContentionTest.cpp - Tests of contention between groups -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/GroupContention.h"

#include "../Testing.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <limits>
#include <random>

using namespace mlir;
using namespace mlir::commsched;
using mlir::commsched::testing::Seeds;

using schedule::Contention;
using schedule::StreamId;
using Pairs = std::vector<std::pair<StreamId, StreamId>>;

namespace {

class GroupContentions : public ::testing::Test {
protected:
  GroupContentions() {
    context.loadDialect<CommSchedDialect, func::FuncDialect>();
  }

  /// Reads a program; `streams` are its collectives.
  void parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text.str();
    streams.clear();
    module->walk([&](CollectiveOpInterface collective) {
      streams.push_back(collective);
    });
  }

  FailureOr<GroupContention> compute(const cost::Target &target) {
    SymbolTableCollection symbolTables;
    return computeContention(streams, target, symbolTables);
  }
  /// The contention, which there has to be.
  Contention find(const cost::Target &target) {
    FailureOr<GroupContention> result = compute(target);
    EXPECT_TRUE(succeeded(result) && result->unknownGroups.empty());
    return succeeded(result) ? result->contention : Contention();
  }

  /// Reads groups declared as `@g0 declarations[0]` and so on, each with one
  /// barrier.
  void declare(ArrayRef<std::string> declarations) {
    std::string text, body;
    for (auto [index, declaration] : llvm::enumerate(declarations)) {
      std::string name = " @g" + std::to_string(index);
      text += "commsched.group" + name + " " + declaration + "\n";
      body += "commsched.barrier on" + name + "\n";
    }
    parse(text + "func.func @f() {\n" + body + "return\n}");
  }

  Pairs getExclusive(ArrayRef<std::string> declarations) {
    declare(declarations);
    cost::Target target;
    target.exclusiveGroups = 1;
    Contention contention = find(target);
    EXPECT_TRUE(contention.links.empty());
    return contention.exclusive;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallVector<ContentionStream> streams;
};

const Pairs none;
const Pairs both = {{0, 1}};

TEST_F(GroupContentions, LargestNumbers) {
  std::string most = std::to_string(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(getExclusive({"size(" + most + ") stride(" + most + ")",
                          "size(" + most + ")"}),
            none);
  EXPECT_EQ(getExclusive({"size(" + most + ") stride(3)",
                          "size(" + most + ") stride(2)"}),
            both);
  std::string almost = std::to_string(std::numeric_limits<int64_t>::max() - 1);
  std::string listed =
      "size(2) ranks(dense<[[0, " + almost + "]]> : tensor<1x2xi64>)";
  EXPECT_EQ(getExclusive({listed, "size(2) stride(2)"}), none);
  EXPECT_EQ(getExclusive({listed, "size(" + most + ") stride(2)"}), both);
}

TEST_F(GroupContentions, GroupsOfManyRanks) {
  // Listed in reverse, and with two of each row's ranks exchanged.
  auto list = [](int64_t flip) {
    std::string text = "size(1000) ranks(dense<[";
    for (int64_t row = 99; row >= 0; --row) {
      text += "[";
      for (int64_t i = 0; i < 1000; ++i)
        text += std::to_string(row + 100 * (i ^ flip)) + (i < 999 ? "," : "]");
      text += row ? "," : "]> : tensor<100x1000xi64>)";
    }
    return text;
  };
  EXPECT_EQ(getExclusive({list(0), list(1), "size(100)", "size(101)"}),
            (Pairs{{0, 1}, {0, 3}, {1, 3}, {2, 3}}));
}

TEST_F(GroupContentions, AgreesWithLookingAtAllPairsOfRanks) {
  constexpr int64_t numRanks = 40;
  for (uint64_t seed : Seeds(300)) {
    std::mt19937_64 random(seed);
    auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    SmallVector<std::string> declarations;
    // By group and rank: the row, or -1.
    std::vector<std::vector<int64_t>> rowOf;
    for (int64_t group = 0; group < 5; ++group) {
      int64_t size = 1 + below(4), stride = 1 + below(8);
      std::vector<int64_t> rows(numRanks, -1);
      if (below(2)) {
        declarations.push_back("size(" + std::to_string(size) + ") stride(" +
                               std::to_string(stride) + ")");
        // Every block begins with the first member of its rows.
        for (int64_t rank = 0; rank < numRanks; ++rank)
          for (int64_t first = 0; first <= rank; ++first)
            if (first % (size * stride) < stride &&
                (rank - first) % stride == 0 && rank - first < size * stride)
              rows[rank] = first;
      } else {
        std::vector<int64_t> ranks(numRanks);
        for (int64_t i = 0; i < numRanks; ++i)
          std::swap(ranks[i] = i, ranks[below(i + 1)]);
        int64_t numRows = 1 + below(numRanks / size);
        std::string list;
        for (int64_t i = 0; i < numRows * size; ++i) {
          list += (i % size ? "," : i ? "],[" : "[") + std::to_string(ranks[i]);
          rows[ranks[i]] = i / size;
        }
        declarations.push_back("size(" + std::to_string(size) +
                               ") ranks(dense<[" + list + "]]> : tensor<" +
                               std::to_string(numRows) + "x" +
                               std::to_string(size) + "xi64>)");
      }
      rowOf.push_back(rows);
    }
    Pairs expected;
    for (StreamId second = 0; second < 5; ++second)
      for (StreamId first = 0; first < second; ++first) {
        const auto &a = rowOf[first], &b = rowOf[second];
        bool share = false;
        for (int64_t x = 0; x < numRanks; ++x)
          for (int64_t y = 0; y < x; ++y)
            share |= a[x] >= 0 && b[x] >= 0 && a[x] == a[y] && b[x] == b[y];
        if (share)
          expected.push_back({first, second});
      }
    EXPECT_EQ(getExclusive(declarations), expected);
  }
}

TEST_F(GroupContentions, LinksInsideAndBetweenNodes) {
  cost::Target target;
  target.linkSharing = 1;
  target.computeSlowdown = 0.19;
  declare({"size(8)", "size(16) ranks_per_node(1) stride(8)",
           "size(4) ranks_per_node(4)", "size(4) ranks_per_node(2)", "size(1)",
           "size(16)"});
  Contention contention = find(target);
  EXPECT_EQ(contention.links, (std::vector<int32_t>{0, 1, 0, 1, -1, 1}));
  EXPECT_EQ(contention.exclusive, none);
  EXPECT_EQ(contention.slowdownPpm, std::vector<int64_t>(6, 190'000));
}

TEST_F(GroupContentions, TransfersShareTheNetworkIfNamed) {
  parse(R"(
    commsched.group @node size(8)
    commsched.group @across size(16)
    func.func @f(%x: tensor<8xf32>, %h: tensor<8xf32, #commsched.host>) {
      commsched.barrier on @node
      %out = commsched.offload %x : tensor<8xf32>
          -> !commsched.future<tensor<8xf32, #commsched.host>>
      commsched.barrier on @across
      %in = commsched.reload %h : tensor<8xf32, #commsched.host>
          -> !commsched.future<tensor<8xf32>>
      %0 = commsched.wait %out
          : !commsched.future<tensor<8xf32, #commsched.host>>
      %1 = commsched.wait %in : !commsched.future<tensor<8xf32>>
      return
    })");
  ASSERT_EQ(streams.size(), 4u);
  auto getLinks = [&](double groups, double toHost, double fromHost) {
    cost::Target target;
    target.linkSharing = groups;
    target.linkSharingD2h = toHost;
    target.linkSharingH2d = fromHost;
    return find(target).links;
  };
  using Links = std::vector<int32_t>;
  EXPECT_EQ(getLinks(0, 0, 0), Links());
  EXPECT_EQ(getLinks(1, 0, 0), (Links{0, -1, 1, -1}));
  EXPECT_EQ(getLinks(0, 1, 0), (Links{0, 1, 1, -1}));
  EXPECT_EQ(getLinks(1, 0, 1), (Links{0, -1, 1, 1}));
  EXPECT_EQ(getLinks(1, 1, 1), (Links{0, 1, 1, 1}));

  // Copies take no multiprocessors.
  cost::Target target;
  target.computeSlowdown = 0.19;
  EXPECT_EQ(find(target).slowdownPpm,
            (std::vector<int64_t>{190'000, 0, 190'000, 0}));
}

TEST_F(GroupContentions, Implementations) {
  parse(R"(
    commsched.group @dp size(8) ranks_per_node(8)
    commsched.group @rows size(16) ranks_per_node(8)
    func.func @f() {
      commsched.barrier on @dp
      commsched.barrier on @dp {commsched.implementation = "shy"}
      commsched.barrier on @dp {commsched.implementation = "own"}
      commsched.barrier on @rows {commsched.implementation = "shy"}
      return
    })");
  cost::Target target;
  target.implementations = llvm::cantFail(cost::Implementations::parse(
      llvm::cantFail(llvm::json::parse(R"({"nccl": {"tax": 0.25},
        "shy": {"method": "nccl", "tax": 0.125, "stream": "nccl"},
        "own": {"method": "nccl"}})"))));
  Contention contention = find(target);
  using Slowdowns = std::vector<int64_t>;
  EXPECT_EQ(contention.slowdownPpm, (Slowdowns{250'000, 125'000, 0, 125'000}));
  EXPECT_EQ(contention.exclusive, (Pairs{{0, 1}}));
  // NVLink and the network are separate.
  EXPECT_EQ(contention.links, (std::vector<int32_t>{0, 0, 0, 1}));

  target.computeSlowdown = 0.2;
  EXPECT_EQ(find(target).slowdownPpm,
            (Slowdowns{250'000, 200'000, 200'000, 200'000}));
  EXPECT_TRUE(find({}).isNone());
}

TEST_F(GroupContentions, NoneByDefault) {
  declare({"size(8)", "size(8)"});
  EXPECT_TRUE(find({}).isNone());
}

TEST_F(GroupContentions, TooManyGroups) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  cost::Target target;
  target.linkSharing = 1;
  SmallVector<std::string> declarations(maxExclusiveStreams + 1, "size(1)");
  declare(declarations);
  EXPECT_TRUE(succeeded(compute(target)));
  target.exclusiveGroups = 1;
  EXPECT_TRUE(failed(compute(target)));
  EXPECT_EQ(message, "'commsched.barrier' op is on group @g4096, one of 4097: "
                     "groups can be exclusive if there are no more than 4096");
  declarations.pop_back();
  declare(declarations);
  EXPECT_TRUE(succeeded(compute(target)));
}

} // namespace
