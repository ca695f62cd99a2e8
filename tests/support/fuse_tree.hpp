// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

namespace rdmend::test {

// A tree of files whose reads fail with any errno, or hang as a dead firmware makes them: no signal ends such a read.
// It is a FUSE file system in this process and needs root and /dev/fuse.
class FuseTree {
 public:
  FuseTree();
  ~FuseTree();  // lets every read that hangs go
  FuseTree(const FuseTree&) = delete;
  FuseTree& operator=(const FuseTree&) = delete;

  // Empty when it is mounted, else why not.
  [[nodiscard]] const std::string& trouble() const;
  [[nodiscard]] const std::string& path() const;

  void file(const std::string& name, const std::string& text);
  void link(const std::string& name, const std::string& target);
  void fails(const std::string& name, int error);
  void hangs(const std::string& name);
  void list_hangs(const std::string& directory, bool yes);
  void remove(const std::string& name);
  // How often the file has been read, with whatever outcome.
  [[nodiscard]] int asked(const std::string& name) const;
  // Waits until a read or a listing hangs.
  bool await_hanging();
  // Those that hang now.
  [[nodiscard]] int hanging() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::test
