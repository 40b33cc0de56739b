// SPDX-License-Identifier: Apache-2.0
// `reprise pack`
#include <fmt/core.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/verbs.h"
#include "memory/csv.h"

namespace reprise::cli {
namespace {

struct PackCommand {
  std::string file, capacity, output;
  double time_limit = 0;
  std::int64_t alignment = 1;
  bool json = false;
};

/// Empty, or what is wrong with the size.
std::string size_error(const std::string& text) {
  try {
    parse_bytes(text);
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

std::string alignment_error(const std::string& text) {
  constexpr std::uint64_t largest = 1 << 30;
  bool is_number = text.size() <= 10 && text.find_first_not_of("0123456789") == std::string::npos;
  std::uint64_t value = is_number ? std::stoull("0" + text) : 0;
  bool is_right = std::has_single_bit(value) && value <= largest;
  return is_right ? std::string{} : fmt::format("'{}' is not a power of two from 1 to {}", text, largest);
}

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) fail("'{}' is a folder: name a file in it", path);
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot open '{}': check the path", path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) fail("cannot read '{}'", path);
  return text;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  if (!out.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) fail("cannot write '{}'", path);
}

PackOptions options_of(const PackCommand& command) {
  PackOptions options{.alignment = command.alignment};
  if (!command.capacity.empty()) options.capacity = parse_bytes(command.capacity);
  if (command.time_limit > 0) {
    options.time_limit_seconds = command.time_limit;
    options.work_limit = std::numeric_limits<std::int64_t>::max() / 2;
  }
  return options;
}

void print_json(const PackCommand& command, std::size_t count, const PackResult& r) {
  nlohmann::ordered_json json{{"file", command.file},         {"buffers", count}, {"capacity", r.height},
                              {"lower_bound", r.lower_bound}, {"fits", r.fits},   {"proven_optimal", r.proven_optimal},
                              {"algorithm", r.algorithm},     {"work", r.work},   {"seconds", r.seconds}};
  if (!r.fits) json["why"] = r.why;
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_text(std::size_t count, const PackResult& r) {
  double above =
      r.lower_bound == 0 ? 0 : 100 * (static_cast<double>(r.height) / static_cast<double>(r.lower_bound) - 1);
  fmt::print("{} buffers | arena {} bytes ({}) | {:.2f} % above the largest live sum, {}{} | {} | {:.2f} s\n", count,
             r.height, format_bytes(r.height), above, r.lower_bound, r.proven_optimal ? ", proven optimal" : "",
             r.algorithm, r.seconds);
}

Status run_pack(const PackCommand& command) {
  expect_writable({command.output});
  expect_kept(command.file, {command.output});
  std::vector<Buffer> buffers = memory::read_csv(read_file(command.file));
  PackOptions options = options_of(command);
  PackResult result = pack(buffers, options);
  if (command.json)
    print_json(command, buffers.size(), result);
  else
    print_text(buffers.size(), result);
  if (!result) {
    fmt::print(stderr, "reprise: {}\n", result.why);
    return does_not_fit;
  }
  if (!command.output.empty()) write_file(command.output, memory::write_csv(buffers, result.layout));
  return done;
}

}  // namespace

std::function<Status()> add_pack(CLI::App& verb) {
  auto command = std::make_shared<PackCommand>();
  add_option(verb, "file", command->file,
             "Lifetimes: a CSV file with the columns id, lower, upper (half-open) and size",
             {.is_required = true, .type = "FILE.csv"});
  add_option(verb, "--capacity", command->capacity,
             "Bytes there are, such as 1048576 or 1MiB; status 3 if they do not do",
             {.check = check(size_error, "SIZE")});
  add_option(verb, "--align", command->alignment, "Every offset is a multiple of this power of two, such as 64",
             {.check = check(alignment_error, "N")});
  add_option(verb, "--time-limit", command->time_limit,
             "Seconds to search; without it the work is limited, and equal input gives equal output",
             {.check = positive()});
  add_flag(verb, "--json", command->json, "Print one JSON object");
  add_option(verb, "-o,--output", command->output, "Write the rows with their offsets to this CSV file");
  add_footer(verb,
             "Example: three buffers, of which the first and the last never meet\n"
             "  printf 'id,lower,upper,size\\na,0,2,64\\nb,1,3,32\\nc,2,4,64\\n' > lives.csv\n"
             "  reprise pack lives.csv -o placed.csv      # 96 bytes: a and c share a place");
  return [command] { return run_pack(*command); };
}

}  // namespace reprise::cli
