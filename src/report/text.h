// SPDX-License-Identifier: Apache-2.0
// Text that goes into pages, pictures and JSON: whatever a name holds, it stays text there.
#pragma once

#include <string>
#include <string_view>

namespace reprise::report {

/// For HTML and SVG, between tags and in quoted attributes. What is no UTF-8, and control characters that these formats
/// forbid, becomes U+FFFD.
std::string escaped(std::string_view text);

/// A JSON string with its quotes, in ASCII. It holds none of < > &, so that it can stand inside a page's script.
std::string json_string(std::string_view text);

/// The text if it has at most `most` characters, else its beginning and end with … between them.
std::string shortened(std::string_view text, std::size_t most);

/// A share as people read it: "12.3 %", "0.04 %", "0 %".
std::string percent(double share);

/// Throws Error where the file cannot be written.
void write_file(const std::string& path, const std::string& text);

}  // namespace reprise::report
