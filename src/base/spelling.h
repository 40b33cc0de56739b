// SPDX-License-Identifier: Apache-2.0
// "Did you mean …?"
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace reprise {

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

/// The known word that `word` is most likely a misspelling of, if any is near enough.
template <class Words>
std::optional<std::string_view> nearest(std::string_view word, const Words& known) {
  std::optional<std::string_view> best;
  std::size_t least = 3;
  for (std::string_view candidate : known) {
    std::size_t tolerated = candidate.size() <= 4 ? 1 : 2;
    if (candidate.size() + tolerated < word.size() || word.size() + tolerated < candidate.size()) continue;
    std::size_t distance = edit_distance(word, candidate);
    if (distance > tolerated || distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

}  // namespace reprise
