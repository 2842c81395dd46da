#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rankfall {

// Reads an untrusted JSON text as a series of events, which a derived class turns into what it wants. Before any event
// the text is known to be UTF-8 without NUL characters; nesting is limited while reading, not afterwards. A derived
// class overrides the events of nlohmann::json_sax for null, boolean, number_*, string and key, and open() and close()
// for objects and arrays; it returns true or calls fail(). `text` must outlive the object.
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  // `where` begins every message: a file's name, perhaps with a part of it.
  JsonEvents(std::string_view text, std::string_view where, int max_depth)
      : text_(text), where_(where), max_depth_(max_depth), read_(text.data()) {}

  // Throws Error (kInput) with line and column of the first problem.
  void parse();

  bool start_object(std::size_t) final { return enter(true); }
  bool start_array(std::size_t) final { return enter(false); }
  bool end_object() final { return leave(); }
  bool end_array() final { return leave(); }
  bool binary(binary_t&) final { return false; }  // no JSON text has one
  bool parse_error(std::size_t position, const std::string& last_token, const nlohmann::json::exception& e) final;

 protected:
  virtual void open(bool object) = 0;  // the value that begins is an object or else an array; depth() counts it already
  virtual void close() = 0;            // the innermost object or array ended; depth() does not count it any more

  int depth() const { return depth_; }

  // Throws "WHERE: line L, column C: problem" for the place read last.
  [[noreturn]] void fail(std::string_view problem) const;
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
  }

 private:
  bool enter(bool object);
  bool leave();
  [[noreturn]] void fail_at(std::size_t offset, std::string_view problem) const;

  std::string_view text_;
  std::string where_;
  int max_depth_;
  int depth_ = 0;
  const char* read_;  // end of what the parser has taken
};

}  // namespace rankfall
