// SPDX-License-Identifier: Apache-2.0
#include "yaml/document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>

namespace rdmend::yaml {
namespace {

// Thrown by the handler to leave yaml-cpp's parser; caught in parse().
struct Refused {
  Position at;
  std::string what;
};

Position position(const YAML::Mark& mark) {
  if (mark.is_null()) return {1, 1};
  return {static_cast<std::uint32_t>(mark.line) + 1, static_cast<std::uint32_t>(mark.column) + 1};
}

// The offset of the first byte that is not UTF-8.
std::optional<std::size_t> bad_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80 ? 1 : (lead & 0xe0U) == 0xc0 ? 2 : (lead & 0xf0U) == 0xe0 ? 3 : (lead & 0xf8U) == 0xf0 ? 4 : 0;
    if (length == 0 || at + length > text.size()) return at;
    std::uint32_t point = length == 1 ? lead : lead & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xc0U) != 0x80) return at;
      point = point << 6U | (next & 0x3fU);
    }
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLeast[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return at;
    at += length;
  }
  return std::nullopt;
}

// Builds the tree from yaml-cpp's events: its own node graph shares aliases, forgets key positions and drops duplicates.
class Builder : public YAML::EventHandler {
 public:
  Builder(const std::string& file, const std::string& source, Diagnostics& diagnostics)
      : file_(file), source_(source), diagnostics_(diagnostics) {}

  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(make(Node::Kind::null, mark), anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    Node node = make(Node::Kind::scalar, mark);
    node.plain = tag == "?";  // yaml-cpp's mark for "no tag, not quoted"
    node.text = value;
    if (!node.plain) check_quotes(node);
    if (bad_utf8(value)) throw Refused{node.at, "an escape that is no character of UTF-8"};
    leaf(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refused{position(mark), "an alias inside the node that it names"};
    count(found->second.weight(), position(mark));
    add(Node(found->second));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(make(Node::Kind::list, mark), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(make(Node::Kind::map, mark), anchor);
  }
  void OnMapEnd() override {
    merge(stack_.back().node);
    close();
  }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    bool have_key = false;
  };

  Node make(Node::Kind kind, const YAML::Mark& mark) {
    Node node;
    node.kind = kind;
    node.at = position(mark);
    node.offset = mark.is_null() ? 0 : static_cast<std::size_t>(mark.pos);
    count(1, node.at);
    return node;
  }
  void count(std::size_t nodes, Position at) {
    nodes_ += nodes;
    if (nodes_ > kMostNodes) throw Refused{at, fmt::format("more than {} values, aliases counted each time they are used", kMostNodes)};
  }
  void leaf(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = node;
    add(std::move(node));
  }
  void open(Node node, YAML::anchor_t anchor) {
    if (stack_.size() >= kMostDepth) throw Refused{node.at, fmt::format("nested deeper than {} levels", kMostDepth)};
    stack_.push_back({std::move(node), anchor});
  }
  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    if (frame.anchor != 0) anchors_[frame.anchor] = frame.node;
    add(std::move(frame.node));
  }
  void add(Node node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& parent = stack_.back();
    if (parent.node.kind == Node::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.have_key) {
      add_key(parent, std::move(node));
    } else {
      Entry& entry = parent.node.entries.back();
      // yaml-cpp gives an absent value the position of whatever comes next.
      if (node.kind == Node::Kind::null && !written_null(node)) node.at = entry.at;
      entry.value = std::move(node);
      parent.have_key = false;
    }
  }
  void add_key(Frame& parent, Node key) {
    if (key.kind != Node::Kind::scalar) throw Refused{key.at, fmt::format("a key must be a word, not {}", kind_name(key.kind))};
    if (const Entry* first = parent.node.find(key.text); first != nullptr)
      diagnostics_.error(file_, key.at, fmt::format("duplicate key '{}'", printable_key(key.text)),
                         fmt::format("it stands already at line {}", first->at.line));
    parent.node.entries.push_back({std::move(key.text), key.at, {}});
    parent.have_key = true;
  }
  [[nodiscard]] bool written_null(const Node& node) const {
    const std::string_view rest = std::string_view(source_).substr(std::min(node.offset, source_.size()));
    return rest.starts_with('~') || rest.starts_with("null") || rest.starts_with("Null") || rest.starts_with("NULL");
  }
  // yaml-cpp takes a quote that a newline and the end of the file follow for closed.
  void check_quotes(const Node& node) const {
    std::size_t at = node.offset;
    while (at < source_.size() && (source_[at] == '!' || source_[at] == '&')) {
      at = source_.find_first_of(" \t\n", at);
      at = at == std::string::npos ? source_.size() : source_.find_first_not_of(" \t\r\n", at);
    }
    if (at >= source_.size() || (source_[at] != '"' && source_[at] != '\'')) return;
    const char quote = source_[at];
    for (++at; at < source_.size(); ++at) {
      if (quote == '"' && source_[at] == '\\') {
        ++at;
      } else if (source_[at] == quote) {
        if (quote == '"' || at + 1 >= source_.size() || source_[at + 1] != quote) return;
        ++at;
      }
    }
    throw Refused{node.at, "not valid YAML: the quote is never closed"};
  }
  static std::string printable_key(const std::string& key) { return key.size() > 64 ? key.substr(0, 64) + "..." : key; }

  // "<<: *base" (or a list of them): the entries of base that the map has not itself.
  void merge(Node& map) {
    const auto at = std::find_if(map.entries.begin(), map.entries.end(), [](const Entry& e) { return e.key == "<<"; });
    if (at == map.entries.end()) return;
    const Node from = std::move(at->value);
    map.entries.erase(at);
    const auto take = [&](const Node& base) {
      if (base.kind != Node::Kind::map) throw Refused{base.at, fmt::format("'<<' merges maps, this is {}", kind_name(base.kind))};
      for (const Entry& entry : base.entries)
        if (map.find(entry.key) == nullptr) map.entries.push_back(entry);
    };
    if (from.kind == Node::Kind::list)
      for (const Node& base : from.items) take(base);
    else
      take(from);
  }

  const std::string& file_;
  const std::string& source_;
  Diagnostics& diagnostics_;
  Node root_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
};

// Bytes that yaml-cpp would take for another encoding, or that no text file holds.
std::optional<Refused> not_text(const std::string& source) {
  if (source.size() > kMostBytes) return Refused{{}, fmt::format("the file is larger than {} bytes", kMostBytes)};
  if (source.starts_with("\xff\xfe") || source.starts_with("\xfe\xff")) return Refused{{}, "the file is UTF-16, not UTF-8"};
  if (source.starts_with("\xef\xbb\xbf")) return Refused{{}, "the file begins with a byte order mark, which UTF-8 does not need"};
  const auto zero = source.find('\0');
  const auto bad = bad_utf8(source).value_or(source.size());
  const std::size_t at = std::min(zero, bad);
  if (at >= source.size()) return std::nullopt;
  const auto last = source.rfind('\n', at);
  const Position where{static_cast<std::uint32_t>(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1,
                       static_cast<std::uint32_t>(at - (last == std::string::npos ? 0 : last + 1)) + 1};
  return Refused{where, zero <= bad ? "a zero byte: this is not a text file" : "a byte that is not UTF-8"};
}

}  // namespace

const Entry* Node::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

std::size_t Node::weight() const {
  std::size_t total = 1;
  for (const Node& item : items) total += item.weight();
  for (const Entry& entry : entries) total += 1 + entry.value.weight();
  return total;
}

const char* kind_name(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::null: return "nothing";
    case Node::Kind::scalar: return "a single value";
    case Node::Kind::list: return "a list";
    case Node::Kind::map: return "a map";
  }
  return "nothing";
}

std::optional<Node> parse(const std::string& file, const std::string& source, Diagnostics& diagnostics) {
  if (const auto reason = not_text(source)) {
    diagnostics.error(file, reason->at, reason->what);
    return std::nullopt;
  }
  try {
    std::istringstream in(source);
    YAML::Parser parser(in);
    Builder builder(file, source, diagnostics);
    if (!parser.HandleNextDocument(builder)) return Node{};
    Node root = builder.take();
    Builder second(file, source, diagnostics);
    if (parser.HandleNextDocument(second)) {
      diagnostics.error(file, second.take().at, "a second document ('---')", "one file holds one document");
      return std::nullopt;
    }
    return root;
  } catch (const YAML::Exception& e) {
    diagnostics.error(file, position(e.mark), "not valid YAML: " + e.msg);
  } catch (const Refused& e) {
    diagnostics.error(file, e.at, e.what);
  } catch (const std::exception& e) {
    diagnostics.error(file, {}, std::string("not valid YAML: ") + e.what());
  }
  return std::nullopt;
}

}  // namespace rdmend::yaml
