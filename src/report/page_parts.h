// SPDX-License-Identifier: Apache-2.0
// The page's style sheet and script: page.css and page.js, which the build turns into text of the library.
#pragma once

namespace reprise::report {

extern const char page_style[];
extern const char page_script[];

}  // namespace reprise::report
