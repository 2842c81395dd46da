#include "io/json_limits.h"

#include <utility>
#include <vector>

#include "base/errors.h"
#include "io/json_events.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

using Json = nlohmann::json;

class Builder final : public JsonEvents {
 public:
  // Keeps the first entries of lists of more than `rank` levels: see parse_json_lists().
  Builder(std::string_view text, std::string_view where, std::size_t rank, std::size_t n_kept)
      : JsonEvents(text, where, kMaxJsonDepth), rank_(rank), n_kept_(n_kept) {}

  Json take() && { return std::move(root_); }
  const std::map<std::string, std::size_t>& n_skipped() const { return n_skipped_; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool key(string_t& name) override {
    if (skipping()) return true;
    if (open_.size() == 1) key_ = name;
    const auto [entry, is_new] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    if (!is_new) fail("key {} appears twice in one object", in_quotes(name));
    value_ = &entry->second;
    return true;
  }

 private:
  void open(bool object) override {
    if (!skipping() && is_beyond()) skipped_from_ = depth();
    if (skipping()) {
      count();
      return;
    }
    Json* added = place(object ? Json(Json::value_t::object) : Json(Json::value_t::array));
    open_.push_back(added);
  }
  void close() override {
    if (!skipping()) {
      open_.pop_back();
    } else if (depth() < skipped_from_) {
      skipped_from_ = 0;
    }
  }

  bool add(Json value) {
    if (skipping() || is_beyond()) {
      count();
    } else {
      place(std::move(value));
    }
    return true;
  }

  bool skipping() const { return skipped_from_ > 0; }

  // Whether the value that comes next is an entry that is not kept; counts it if so.
  bool is_beyond() {
    if (n_kept_ == 0 || open_.empty() || !open_.back()->is_array()) return false;
    const bool outermost = open_.size() == 1 || (open_.size() == 2 && root_.is_object());
    if (!outermost || open_.back()->size() < n_kept_ || !has_more_levels(*open_.back())) return false;
    ++n_skipped_[open_.size() == 1 ? std::string() : key_];
    return true;
  }

  bool has_more_levels(const Json& list) const {
    std::size_t levels = 0;
    for (const Json* v = &list; v->is_array(); v = &v->front()) {
      ++levels;
      if (v->empty()) break;
    }
    return levels > rank_;
  }

  void count() {
    if (++n_values_ > kMaxJsonValues) fail("more than {} values", kMaxJsonValues);
  }

  // Puts the value where it belongs. The pointers in open_ stay valid: only the innermost array grows, and only after
  // the values inside it are complete.
  Json* place(Json value) {
    count();
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& array = open_.back()->get_ref<Json::array_t&>();
      return &array.emplace_back(std::move(value));
    }
    *value_ = std::move(value);
    return value_;
  }

  Json root_;
  std::vector<Json*> open_;
  Json* value_ = nullptr;  // where the value of the key read last goes
  std::size_t n_values_ = 0;
  std::size_t rank_ = 0, n_kept_ = 0;  // n_kept_ = 0: all entries
  int skipped_from_ = 0;               // depth of what is being skipped; 0: nothing
  std::string key_;                    // of the outermost object
  std::map<std::string, std::size_t> n_skipped_;
};

}  // namespace

nlohmann::json parse_json(std::string_view text, std::string_view where) {
  return parse_json_lists(text, where, 0, 0).root;
}

JsonLists parse_json_lists(std::string_view text, std::string_view where, std::size_t rank, std::size_t n_kept) {
  if (text.size() > kMaxJsonBytes) {
    throw input_error("{}: {} bytes of JSON, expected at most {}; this may be the wrong file", where, text.size(),
                      kMaxJsonBytes);
  }
  Builder builder(text, where, rank, n_kept);
  builder.parse();
  JsonLists lists;
  lists.n_skipped = builder.n_skipped();
  lists.root = std::move(builder).take();
  return lists;
}

}  // namespace rankfall
