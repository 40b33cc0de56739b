// SPDX-License-Identifier: Apache-2.0
// The one function of libfmt whose name clang mangles otherwise than gcc, which built the library.
#include <fmt/format-inl.h>

namespace fmt::detail {
template void vformat_to<char>(buffer<char>&, basic_string_view<char>, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
}  // namespace fmt::detail
