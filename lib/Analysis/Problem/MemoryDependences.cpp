//===- MemoryDependences.cpp - Order of accesses to memory ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryDependences.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::DependenceKind;
using schedule::NodeId;
using schedule::noNode;

void MemoryDependences::depend(NodeId from, NodeId to) {
  if (from != noNode && from != to)
    problem.addDependence(from, to, DependenceKind::Memory);
}

void MemoryDependences::read(Frontier &frontier, NodeId node) {
  depend(frontier.writer, node);
  if (frontier.readers.empty() || frontier.readers.back() != node)
    frontier.readers.push_back(node);
}

void MemoryDependences::write(Frontier &frontier, NodeId node) {
  if (frontier.readers.empty())
    depend(frontier.writer, node);
  for (NodeId reader : frontier.readers)
    depend(reader, node);
  frontier.readers.clear();
  frontier.writer = node;
}

MemoryDependences::Frontier &
MemoryDependences::getFrontier(const MemoryAccess &access) {
  if (access.isAnywhere())
    return anywhere;
  return access.resource ? resources[access.resource] : objects[access.object];
}

void MemoryDependences::visit(Operation *op, NodeId node) {
  accesses.visit(op, node, [&](const MemoryAccess &access) {
    Frontier &frontier = getFrontier(access);
    access.isWrite ? write(frontier, node) : read(frontier, node);
  });
}
