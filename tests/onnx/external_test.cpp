// SPDX-License-Identifier: Apache-2.0
// A model may name files of its own folder and nothing else.
#include "onnx/external.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "message.h"
#include "onnx/document.h"
#include "onnx/wire_writer.h"
#include "temporary.h"

namespace reprise::onnx {
namespace {

class OnnxExternal : public testing::Test {
 protected:
  OnnxExternal() {
    std::filesystem::create_directories(inside("parts"));
    write_bytes(outside(), WireMessage::raw<float>({1, 2}));
    write_bytes(inside("w"), WireMessage::raw<float>({1, 2}));
    write_bytes(inside("parts/w"), WireMessage::raw<float>({1, 2}));
  }
  std::string inside(const std::string& name) const { return folder_.path() + "/model/" + name; }
  std::string outside() const { return folder_.path() + "/secret"; }
  // What is said of a model whose tensor f32[2] is there.
  std::string said(const std::string& location, const std::string& offset = "", const std::string& length = "") {
    write_bytes(inside("m.onnx"),
                wire_model(WireMessage().message(5, wire_external("t", {2}, location, offset, length))).bytes());
    std::string why = message_of([&] { read_document(inside("m.onnx")).initializers.at(0).read(); });
    std::string begin = "[onnx] '" + inside("m.onnx") + "' ";
    return why.starts_with(begin) ? why.substr(begin.size()) : why;
  }

  TemporaryFolder folder_;
};

TEST_F(OnnxExternal, FilesOfTheFolderAndBelowAreRead) {
  EXPECT_EQ(said("w"), "no error");
  EXPECT_EQ(said("parts/w"), "no error");
  EXPECT_EQ(said("w", "0", "8"), "no error");
}

TEST_F(OnnxExternal, NamesThatAreNotPlainAreRefused) {
  for (std::string name : {"../secret", "parts/../w", "./w", "/etc/passwd", "parts//w", "parts/", "..", ".", "/"})
    EXPECT_EQ(said(name), "has its data in '" + name +
                              "', which is no plain name of a file in the model's own folder: save it with such names");
  EXPECT_NE(said(std::string("w\0x", 3)).find("no plain name"), std::string::npos);
  EXPECT_NE(said(std::string(5000, 'w')).find("no plain name"), std::string::npos);
  EXPECT_EQ(said(""), "has a tensor 't', float[2], whose external data have no file: export it again");
}

TEST_F(OnnxExternal, LinksAreRefused) {
  std::filesystem::create_symlink(outside(), inside("link"));
  std::filesystem::create_symlink("w", inside("near"));
  std::filesystem::create_directory_symlink(folder_.path(), inside("up"));
  for (std::string name : {"link", "near", "up/secret"})
    EXPECT_EQ(said(name),
              "has its data in '" + name + "', which is a symbolic link: put the file itself into the model's folder");
  std::filesystem::create_hard_link(outside(), inside("hard"));
  EXPECT_EQ(said("hard"),
            "has its data in 'hard', which has other names too (hard links): copy it into the model's folder");
}

TEST_F(OnnxExternal, WhatIsNoFileIsRefused) {
  mkfifo(inside("pipe").c_str(), 0600);
  EXPECT_EQ(said("pipe"), "has its data in 'pipe', which is not a file: put the data there");
  EXPECT_EQ(said("parts"), "has its data in 'parts', which is not a file: put the data there");
  EXPECT_EQ(said("absent"),
            "has its data in 'absent', which cannot be opened: No such file or directory; put it beside the model");
}

TEST_F(OnnxExternal, PlacesPastTheEndAreRefused) {
  EXPECT_EQ(said("w", "4"), "has a tensor 't', float[2], past the end of 'w': 8 bytes at 4 of 8; copy that file again");
  EXPECT_NE(said("w", "9223372036854775807").find("past the end"), std::string::npos);
  EXPECT_EQ(said("w", "0", "4"), "has a tensor 't', float[2], with 4 bytes of numbers instead of 8: export it again");
  for (std::string odd : {"-1", "1e3", "99999999999999999999", "0x10", " 0"})
    EXPECT_EQ(said("w", odd), "has a tensor 't', float[2], whose place in its file is '" + odd + "': export it again");
}

TEST_F(OnnxExternal, DataThatShrankSinceAreRefused) {
  said("w");
  Document d = read_document(inside("m.onnx"));
  std::filesystem::resize_file(inside("w"), 4);
  EXPECT_NE(message_of([&] { d.initializers.at(0).read(); }).find("is cut short"), std::string::npos);
}

TEST_F(OnnxExternal, AnOlderKernelRefusesTheSame) {
  std::filesystem::create_symlink(outside(), inside("link"));
  std::filesystem::create_directory_symlink(folder_.path(), inside("up"));
  int folder = open(inside("").c_str(), O_PATH | O_DIRECTORY);
  auto tried = [&](const char* name) {
    int descriptor = open_by_steps(folder, name);
    int error = descriptor < 0 ? errno : 0;
    if (descriptor >= 0) close(descriptor);
    return error;
  };
  EXPECT_EQ(tried("w"), 0);
  EXPECT_EQ(tried("parts/w"), 0);
  EXPECT_EQ(tried("link"), ELOOP);
  EXPECT_TRUE(tried("up/secret") == ELOOP || tried("up/secret") == ENOTDIR);
  EXPECT_EQ(tried("parts/absent"), ENOENT);
  close(folder);
}

}  // namespace
}  // namespace reprise::onnx
