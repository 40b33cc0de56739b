# SPDX-License-Identifier: Apache-2.0
# `find_package(reprise)` and `pkg-config reprise` for the installed library.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
include(CMakePackageConfigHelpers)
install(TARGETS reprise EXPORT reprise-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS reprise_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/reprise TYPE INCLUDE)
install(EXPORT reprise-targets NAMESPACE reprise:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise FILE reprise-config.cmake)
write_basic_package_version_file(reprise-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/reprise-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)
configure_file(cmake/reprise.pc.in reprise.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/reprise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/reprise/data FILES_MATCHING PATTERN *.gz PATTERN NOTICE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual and the completions are what the tool itself says of its options.
set(help_files reprise.1 completions/reprise completions/_reprise completions/reprise.fish)
list(TRANSFORM help_files PREPEND ${CMAKE_CURRENT_BINARY_DIR}/)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/completions)
add_custom_command(OUTPUT ${help_files} DEPENDS reprise_cli
  COMMAND reprise_cli man > reprise.1
  COMMAND reprise_cli completion bash > completions/reprise
  COMMAND reprise_cli completion zsh > completions/_reprise
  COMMAND reprise_cli completion fish > completions/reprise.fish)
add_custom_target(reprise_help ALL DEPENDS ${help_files})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/reprise.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/completions/reprise DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/completions/_reprise DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/completions/reprise.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
