# Packages of the program, by cpack: a tar that runs wherever it is unpacked, and Debian's, whose dependencies dpkg-shlibdeps finds. Those that are
# handed out are built with the slim OpenCV, as `./dev package` does.
set(CPACK_PACKAGE_NAME gpuhist)
set(CPACK_PACKAGE_VENDOR gpuhist)
set(CPACK_PACKAGE_CONTACT "gpuhist <gpuhist@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "exact histograms and statistics of images")
set(CPACK_PACKAGE_DESCRIPTION "gpuhist measures images: exact histograms, statistics and normalised copies,
of one image or of any number of them, on a GPU or the CPU.")
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_PROGRAM_FILE_NAME "gpuhist-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME gpuhist)
set(CPACK_DEBIAN_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)

# Debian wants to find the licences there, of what is linked statically too.
set(copyright "${PROJECT_BINARY_DIR}/copyright")
file(WRITE "${copyright}" "")
foreach(text LICENSE io/report/fonts/LICENSE app/licenses/stb_truetype.txt app/licenses/cli11.txt app/licenses/json.txt app/licenses/cub.txt
    app/licenses/linked.txt)
  file(READ "${PROJECT_SOURCE_DIR}/${text}" content)
  file(APPEND "${copyright}" "${content}\n")
endforeach()
install(FILES "${copyright}" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/gpuhist" COMPONENT program)
include(CPack)
