// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "message.h"

namespace reprise::report {
namespace {

TEST(ReportText, EscapesWhateverHasAMeaningInPages) {
  EXPECT_EQ(escaped("<a href='x'>\"&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;");
  EXPECT_EQ(escaped("größe 层 🚀"), "größe 层 🚀");
  EXPECT_EQ(escaped(std::string_view("a\0b\x1b", 4)), "a\uFFFDb\uFFFD");
}

TEST(ReportText, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(escaped("a\xff\xc3(b"), "a\uFFFD\uFFFD(b");
  EXPECT_EQ(escaped("\xe2\x82"), "\uFFFD\uFFFD");
  EXPECT_EQ(escaped("\xc0\xaf\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");  // overlong; a surrogate
}

TEST(ReportText, WritesJsonThatReadsBackAndHoldsNoTag) {
  for (std::string text : {"</script><script>", "quote \" backslash \\ newline \n", "层 🚀 größe", "&amp;", ""}) {
    std::string json = json_string(text);
    EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), text);
    EXPECT_EQ(json.find_first_of("<>&"), std::string::npos) << json;
  }
  EXPECT_EQ(nlohmann::json::parse(json_string("\xff")).get<std::string>(), "\uFFFD");
}

TEST(ReportText, ShortensLongNamesInTheMiddle) {
  EXPECT_EQ(shortened("short", 8), "short");
  EXPECT_EQ(shortened("abcdefghijklmnop", 10), "abcdef…nop");
  EXPECT_EQ(shortened("äöüäöüäö", 8), "äöüäöüäö");  // 8 characters, 16 bytes
}

TEST(ReportText, TellsSharesWithAsManyDigitsAsTheyDeserve) {
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(percent(0.5), "50.0 %");
  EXPECT_EQ(percent(0.0123), "1.23 %");
  EXPECT_EQ(percent(0.00012), "0.012 %");
}

TEST(ReportText, SaysWhichFileCannotBeWritten) {
  EXPECT_EQ(message_of([] { write_file("/no/such/folder/x.html", "text"); }),
            "[report] cannot write '/no/such/folder/x.html': check the folder, its permissions and the space there");
}

}  // namespace
}  // namespace reprise::report
