// SPDX-License-Identifier: Apache-2.0
#include "data/files.h"

namespace reprise::data {
namespace {

using Csv = DataTest;
using Names = std::vector<std::string>;

TEST_F(Csv, TakesTheLastColumnForYAndSortsTheClasses) {
  Dataset data = load(put("a.csv", "1,2,setosa\n3,4.5,iris\n-1e2,+0,setosa\n"));
  EXPECT_EQ(data.size, 3);
  EXPECT_EQ(data.x, (Type{DType::f32, {2}}));
  EXPECT_EQ(data.y, (Type{DType::i64, {}}));
  EXPECT_EQ(data.classes, (Names{"iris", "setosa"}));
  EXPECT_EQ(sample(data, 2).x, (std::vector<float>{-100, 0}));
  EXPECT_EQ(sample(data, 2).label, 1);
}

TEST_F(Csv, TakesTheColumnThatIsNamedAfterIt) {
  for (const char* name : {"label", "Target", "CLASS", "y"}) {
    Dataset data = load(put("a.csv", std::string("first,") + name + ",second\n1,7,2\n3,10,4\n5,7,6"));
    EXPECT_EQ(data.classes, (Names{"7", "10"})) << name;  // by value, not by their letters
    EXPECT_EQ(sample(data, 1).x, (std::vector<float>{3, 4}));
    EXPECT_EQ(sample(data, 1).label, 1);
  }
}

TEST_F(Csv, LearnsQuantitiesWhereOneIsNoWholeNumber) {
  Dataset data = load(put("a.csv", "x,price\n1,3\n2,3.5\n"));
  EXPECT_EQ(data.y, (Type{DType::f32, {}}));
  EXPECT_TRUE(data.classes.empty());
  EXPECT_EQ(sample(data, 0).wanted, 3);
  EXPECT_EQ(sample(data, 1).wanted, 3.5);
}

TEST_F(Csv, ReadsQuotesOtherSeparatorsAndWindowsLines) {
  Dataset data = load(put(
      "a.csv", "\xef\xbb\xbf\"a;1\";b;class\r\n1;\"2\";\"say \"\"hi\"\"\"\r\n\r\n3;4;\"two\nlines\"\r\n5; 6 ;last"));
  EXPECT_EQ(data.classes, (Names{"last", "say \"hi\"", "two\nlines"}));
  EXPECT_EQ(sample(data, 2).x, (std::vector<float>{5, 6}));
  EXPECT_EQ(load(put("a.tsv", "1\t2\n3\t4\n")).x, (Type{DType::f32, {1}}));
  EXPECT_EQ(load(put("b.csv.gz", gzipped("1,2\n3,4\n"))).size, 2);
}

TEST_F(Csv, GivesXAnotherShapeOnRequest) {
  EXPECT_EQ(load(put("a.csv", "1,2,3,4,0\n"), {.x_shape = {1, 2, 2}}).x, (Type{DType::f32, {1, 2, 2}}));
  EXPECT_NE(complaint(put("a.csv", "1,2,3,4,0\n"), {.x_shape = {1, 2, 3}}).find("cannot become [1,2,3]"),
            std::string::npos);
}

TEST_F(Csv, NamesLineAndColumnOfWhatItRefuses) {
  EXPECT_EQ(complaint(put("a.csv", "1,2,0\n1,2\n")), "[data] 'a.csv', line 2: 2 fields where the first line has 3");
  EXPECT_EQ(complaint(put("a.csv", "h,w,label\n1,tall,0\n")),
            "[data] 'a.csv', line 2, column 2 (w): 'tall' is not a number: leave the line out or put a number there");
  for (const char* bad : {"nan", "inf", "-inf", "1e99", "1e999"})
    EXPECT_EQ(complaint(put("a.csv", std::string("1,0\n\n") + bad + ",1\n")),
              std::string("[data] 'a.csv', line 3, column 1: '") + bad +
                  "' is not a finite number: leave the line out or put another there");
  EXPECT_NE(complaint(put("a.csv", "1,1.5\n2,nan\n")).find("line 2, column 2: 'nan' is not a finite"),
            std::string::npos);
  EXPECT_NE(complaint(put("a.csv", "1,\n2,3\n")).find("line 1, column 2: there is nothing to learn"),
            std::string::npos);
  EXPECT_NE(complaint(put("a.csv", "1,,3\n")).find("has a header and no samples"), std::string::npos);
  EXPECT_NE(complaint(put("a.csv", "1,2,3\n1,,3\n")).find("line 2, column 2: '' is not a number"), std::string::npos);
}

TEST_F(Csv, RefusesTablesWithoutSamplesOrColumns) {
  EXPECT_EQ(complaint(put("a.csv", "\n \n")), "[data] 'a.csv' is empty: a table has a line for each sample");
  EXPECT_EQ(complaint(put("a.csv", "a,b,c\n")), "[data] 'a.csv' has a header and no samples");
  EXPECT_NE(complaint(put("a.csv", "1\n2\n")).find("line 1: a table needs two columns or more"), std::string::npos);
  EXPECT_EQ(complaint(put("a.csv", "1,2\n1,\"open\n")), "[data] 'a.csv', line 2: a quote that opens never closes");
  EXPECT_NE(complaint(put("a.csv", "1,2\n1,\"a\"b\n")).find("line 2: text follows the closing quote of 'a'"),
            std::string::npos);
}

TEST_F(Csv, TakesTooManyClassesForQuantities) {
  std::string file;
  for (int i = 0; i < 65537; ++i) file += "1," + std::to_string(i) + "\n";
  EXPECT_EQ(complaint(put("a.csv", file)),
            "[data] 'a.csv', column 2: 65537 different classes: to learn whole numbers as quantities, write one of "
            "them as 3.0");
}

}  // namespace
}  // namespace reprise::data
