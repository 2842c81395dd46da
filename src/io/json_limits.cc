#include "io/json_limits.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/json_events.h"
#include "io/utf8.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

using Json = nlohmann::json;

class Builder final : public JsonEvents {
 public:
  Builder(std::string_view text, std::string_view where) : JsonEvents(text, where, kMaxJsonDepth) {}

  Json take() && { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool key(string_t& name) override {
    const auto [entry, is_new] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    if (!is_new) fail(fmt::format("key {} appears twice in one object", in_quotes(name)));
    value_ = &entry->second;
    return true;
  }

 private:
  void open(bool object) override {
    Json* added = place(object ? Json(Json::value_t::object) : Json(Json::value_t::array));
    open_.push_back(added);
  }
  void close() override { open_.pop_back(); }

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  // Puts the value where it belongs. The pointers in open_ stay valid: only the innermost array grows, and only after
  // the values inside it are complete.
  Json* place(Json value) {
    if (++n_values_ > kMaxJsonValues) fail(fmt::format("more than {} values", kMaxJsonValues));
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
};

}  // namespace

nlohmann::json parse_json(std::string_view text, std::string_view where) {
  if (text.size() > kMaxJsonBytes) {
    throw Error(ErrorKind::kInput, fmt::format("{}: {} bytes of JSON, expected at most {}; this may be the wrong file",
                                               where, text.size(), kMaxJsonBytes));
  }
  Builder builder(text, where);
  builder.parse();
  return std::move(builder).take();
}

}  // namespace rankfall
