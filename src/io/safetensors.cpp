// SPDX-License-Identifier: Apache-2.0
// https://github.com/huggingface/safetensors#format: a length, a JSON header, and the tensors without a gap between
// them.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "io/elements.h"
#include "io/file.h"
#include "reprise/io.h"

namespace reprise::io {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t largest_header = 100'000'000;

struct Row {
  const char* name;
  Element element;
};
constexpr Row dtypes[] = {{"F32", {'f', 4}},  {"F64", {'f', 8}}, {"I32", {'i', 4}},  {"I64", {'i', 8}},
                          {"BOOL", {'b', 1}}, {"F16", {'f', 2}}, {"BF16", {'g', 2}}, {"U8", {'u', 1}},
                          {"I8", {'i', 1}},   {"U16", {'u', 2}}, {"I16", {'i', 2}},  {"U32", {'u', 4}},
                          {"U64", {'u', 8}}};

struct Listed {
  std::string name;
  Element element;
  Shape shape;
  std::int64_t begin = 0, end = 0;
};

// The header as JSON, in which no name may stand twice: the last would win unseen.
Json parse_header(const InputFile& file, const std::string& text) {
  std::set<std::string> names;
  std::string twice;
  auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key && !names.insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  Json header = Json::parse(text, watch, false);
  if (!header.is_object()) file.reject("has a header that is not a JSON object");
  if (!twice.empty()) file.reject(fmt::format("names the tensor '{}' twice", twice));
  return header;
}

Listed entry_of(const InputFile& file, const std::string& name, const Json& json) {
  Listed e{name, {}, {}, 0, 0};
  auto dtype = json.at("dtype").get<std::string>();
  const Row* row = std::ranges::find_if(dtypes, [&](const Row& r) { return dtype == r.name; });
  if (row == std::end(dtypes)) file.reject(fmt::format("holds '{}' as {}, which cannot be read", name, dtype));
  e.element = row->element;
  for (const Json& size : json.at("shape")) {
    if (!size.is_number_unsigned() || e.shape.rank() == Shape::max_rank)
      file.reject(fmt::format("has a shape of '{}' that is not a list of at most {} sizes", name, Shape::max_rank));
    e.shape.push_back(size.get<std::int64_t>());
  }
  const Json& offsets = json.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    file.reject(fmt::format("has offsets of '{}' that are not two numbers", name));
  e.begin = offsets[0].get<std::int64_t>();
  e.end = offsets[1].get<std::int64_t>();
  if (e.end - e.begin != e.shape.elements() * e.element.bytes)
    file.reject(fmt::format("is damaged: the offsets of '{}' do not fit its shape {}", name, to_string(e.shape)));
  return e;
}

// Every byte belongs to exactly one tensor.
void check_cover(const InputFile& file, const std::vector<Listed>& entries, std::int64_t bytes) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (const Listed& e : entries) spans.emplace_back(e.begin, e.end);
  std::ranges::sort(spans);
  std::int64_t at = 0;
  for (const auto& [begin, end] : spans) {
    if (begin != at) file.reject("is damaged: its tensors overlap or leave gaps");
    at = end;
  }
  if (at != bytes) file.reject(fmt::format("is cut short or damaged: its tensors take {} bytes, it has {}", at, bytes));
}

}  // namespace

SafeTensors load_safetensors(const std::string& path) {
  InputFile file("safetensors", path);
  std::uint64_t length = 0;
  file.read(0, &length, 8);
  if (length > static_cast<std::uint64_t>(std::min(largest_header, file.bytes() - 8)))
    file.reject("is not a safetensors file, or it is cut short: its header would be longer than it");
  std::string text(length, '\0');
  auto header_bytes = static_cast<std::int64_t>(length);
  file.read(8, text.data(), header_bytes);
  Json header = parse_header(file, text);
  SafeTensors result;
  std::vector<Listed> entries;
  try {
    for (const auto& [name, json] : header.items()) {
      if (name == "__metadata__")
        result.metadata = json.get<Metadata>();
      else
        entries.push_back(entry_of(file, name, json));
    }
  } catch (const Json::exception& e) {
    file.reject(fmt::format("has a header without what it needs: {}", e.what()));
  }
  check_cover(file, entries, file.bytes() - 8 - header_bytes);
  for (const Listed& e : entries) {
    std::int64_t at = 8 + header_bytes + e.begin;
    result.tensors.emplace_back(e.name, read_elements(e.element, e.shape, [&](void* to, std::int64_t bytes) {
                                  file.read(at, to, bytes);
                                  at += bytes;
                                }));
  }
  return result;
}

void save_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    if (name == "__metadata__" || header.contains(name))
      fail("[safetensors] '{}': two tensors are named '{}', or it means something else there", path, name);
    Element e = element_of(tensor.dtype());
    const Row* row = std::ranges::find_if(
        dtypes, [&](const Row& r) { return r.element.kind == e.kind && r.element.bytes == e.bytes; });
    header[name] = {
        {"dtype", row->name}, {"shape", tensor.shape().sizes()}, {"data_offsets", {at, at + tensor.bytes()}}};
    at += tensor.bytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::uint64_t length = text.size();
  OutputFile file("safetensors", path);
  file.reserve(8 + static_cast<std::int64_t>(length) + at);
  file.write(&length, 8);
  file.write(text.data(), static_cast<std::int64_t>(length));
  for (const auto& [name, tensor] : tensors) file.write(tensor.data(), tensor.bytes());
  file.commit();
}

}  // namespace reprise::io
