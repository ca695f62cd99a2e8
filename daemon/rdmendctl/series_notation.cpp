// SPDX-License-Identifier: Apache-2.0
#include "series_notation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/text.hpp"
#include "model/sample.hpp"

namespace rdmend::ctl {
namespace {

bool name_char(char c, bool first) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == ':' ||
         (!first && std::isdigit(static_cast<unsigned char>(c)));
}

class SeriesParser {
 public:
  explicit SeriesParser(std::string_view text) : text_(text) {}

  Result<Labels> run() {
    std::vector<Labels::Pair> pairs;
    if (const auto metric = name(); !metric.empty()) pairs.emplace_back(kMetricName, metric);
    skip();
    if (at_ < text_.size() && text_[at_] == '{') {
      ++at_;
      while (true) {
        skip();
        if (take('}')) break;
        const auto label = name();
        if (label.empty()) return fault("a label name or '}' is expected");
        skip();
        if (!take('=')) return fault("'=' is expected");
        skip();
        auto value = quoted();
        if (!value) return value.error();
        pairs.emplace_back(label, std::move(*value));
        skip();
        if (take(',')) continue;
        if (!take('}')) return fault("',' or '}' is expected");
        break;
      }
    }
    skip();
    if (at_ < text_.size()) return fault(fmt::format("unexpected '{}'", printable(text_.substr(at_), 20)));
    const std::size_t given = pairs.size();
    Labels labels(std::move(pairs));
    if (labels.size() > given) return fault("a label is given twice");
    return labels;
  }

 private:
  Error fault(const std::string& what) const {
    return {fmt::format("'{}': {} at character {}", printable(text_, 80), what, at_ + 1), 0};
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && name_char(text_[at_], at_ == begin)) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  Result<std::string> quoted() {
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '"' && quote != '\'' && quote != '`') return fault("a quoted value is expected");
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] != '\\' || quote == '`') {
        out += text_[at_];
        continue;
      }
      constexpr std::string_view kNames = "nrt\\\"'";
      constexpr std::string_view kMeans = "\n\r\t\\\"'";
      const auto escape = at_ + 1 < text_.size() ? kNames.find(text_[at_ + 1]) : std::string_view::npos;
      if (escape == std::string_view::npos) return fault("an unknown escape");
      out += kMeans[escape];
      ++at_;
    }
    if (!take(quote)) return fault("the quote is never closed");
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// One item: value, value x times, start +- step x times.
class ItemParser {
 public:
  ItemParser(std::string_view item, std::size_t most) : item_(item), most_(most) {}

  Result<void> run(std::vector<std::optional<double>>& out) {
    if (item_.starts_with('_')) {
      at_ = 1;
      const auto times = repeat();
      if (!times) return fault();
      return add(out, std::nullopt, 0, at_ == 1 ? 1 : *times);
    }
    if (item_ == "stale") return add(out, stale_marker(), 0, 1);
    if (item_.starts_with("{{"))
      return Error{fmt::format("'{}': histograms are not in rdmend", printable(item_, 40)), 0};
    const auto start = number(true);
    if (!start) return fault();
    double step = 0;
    if (at_ < item_.size() && (item_[at_] == '+' || item_[at_] == '-')) {
      const auto given = number(true);
      if (!given || at_ >= item_.size() || item_[at_] != 'x') return fault();
      step = *given;
    }
    const bool repeats = at_ < item_.size();
    const auto times = repeat();
    if (!times) return fault();
    return add(out, start, step, repeats ? *times + 1 : 1);  // the start itself is not counted
  }

 private:
  Error fault() const {
    return {fmt::format("'{}' is not a value; legal are: 5, 5x3, 0+10x5, 100-5x4, _, _x3, stale, NaN, Inf",
                        printable(item_, 40)),
            0};
  }

  Result<void> add(std::vector<std::optional<double>>& out, std::optional<double> value, double step,
                   std::size_t times) const {
    if (out.size() + times > most_) return Error{fmt::format("more than {} values", most_), 0};
    for (std::size_t i = 0; i < times; ++i) {
      out.push_back(value);
      if (value && times > 1) *value += step;
    }
    return {};
  }
  // "x5" at the end of the item, or nothing.
  std::optional<std::size_t> repeat() {
    if (at_ == item_.size()) return 0;
    if (item_[at_] != 'x') return std::nullopt;
    std::size_t times = 0;
    const char* end = item_.data() + item_.size();
    const auto [stop, bad] = std::from_chars(item_.data() + at_ + 1, end, times);
    if (bad != std::errc{} || stop != end || times > most_) return std::nullopt;
    at_ = item_.size();
    return times;
  }
  std::optional<double> number(bool sign) {
    const std::size_t begin = at_;
    bool negative = false;
    if (sign && at_ < item_.size() && (item_[at_] == '-' || item_[at_] == '+'))
      negative = item_[at_++] == '-';
    std::string word;
    for (std::size_t i = at_;
         i < item_.size() && std::isalpha(static_cast<unsigned char>(item_[i])) && item_[i] != 'x'; ++i)
      word += static_cast<char>(std::tolower(item_[i]));
    if (word == "nan" || word == "inf") {
      at_ += word.size();
      const double value = word == "nan" ? std::nan("") : HUGE_VAL;
      return negative ? -value : value;
    }
    double value = 0;
    const auto [stop, bad] = std::from_chars(item_.data() + at_, item_.data() + item_.size(), value);
    if (bad != std::errc{} || at_ >= item_.size() ||
        !(std::isdigit(static_cast<unsigned char>(item_[at_])) || item_[at_] == '.')) {
      at_ = begin;
      return std::nullopt;
    }
    at_ = static_cast<std::size_t>(stop - item_.data());
    return negative ? -value : value;
  }

  std::string_view item_;
  std::size_t most_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Labels> parse_series(std::string_view text) {
  return SeriesParser(text).run();
}

Result<std::vector<std::optional<double>>> parse_values(std::string_view text, std::size_t most) {
  std::vector<std::optional<double>> out;
  std::string plain(text);
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  for (const auto item : split(plain, ' ')) {
    if (item.empty()) continue;
    if (auto done = ItemParser(item, most).run(out); !done) return done.error();
  }
  return out;
}

}  // namespace rdmend::ctl
