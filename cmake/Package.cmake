# Packages by cpack, as `./dev package` configures them: a tar of all, with GPUHIST_BUNDLE; and Debian's two, whose paths are those of the prefix /usr and
# whose dependencies dpkg-shlibdeps finds.
set(CPACK_PACKAGE_NAME gpuhist)
set(CPACK_PACKAGE_VENDOR gpuhist)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "exact histograms and statistics of images")
set(CPACK_PACKAGE_FILE_NAME "gpuhist-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# Who builds a Debian package is who answers for it, by the variables that Debian's own tools read.
set(name "$ENV{DEBFULLNAME}")
set(address "$ENV{DEBEMAIL}")
if(NOT name)
  set(name "The gpuhist authors")
endif()
if(NOT address)
  cmake_host_system_information(RESULT host QUERY FQDN)
  set(address "gpuhist@${host}")
endif()
set(CPACK_PACKAGE_CONTACT "${name} <${address}>")

# A package a release of Debian or Ubuntu: they differ in the libraries that it needs.
set(release "1")
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release system REGEX "^(ID|VERSION_ID)=")
  if(system MATCHES "(^|;)ID=\"?([a-z]+)")
    set(release "1~${CMAKE_MATCH_2}")
    if(system MATCHES "VERSION_ID=\"?([0-9.]+)")
      string(APPEND release "${CMAKE_MATCH_1}")
    endif()
  endif()
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE "${release}")
set(CPACK_DEBIAN_PACKAGE_SOURCE gpuhist)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME gpuhist)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# Packages of libraries that the program loads late, which SHLIBDEPS does not see.
get_property(late_libraries GLOBAL PROPERTY gpuhist_late_libraries)
foreach(library ${late_libraries})
  file(REAL_PATH "${library}" real)
  get_filename_component(file_name "${real}" NAME)
  execute_process(COMMAND dpkg-query -S "*/${file_name}" OUTPUT_VARIABLE owner ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND owner MATCHES "^([^:,]+)[:,]")
    list(APPEND late_packages "${CMAKE_MATCH_1}")
  endif()
endforeach()
string(JOIN ", " CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS ${late_packages})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libgpuhist-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "the command
gpuhist measures images: exact histograms, statistics and normalized copies,
of one image or of any number of them, on a GPU or the CPU.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "static libraries, headers and CMake files of gpuhist
The libraries gpuhist::gpuhist, which measures pixels in memory, and
gpuhist::io, which reads and writes files, with the parts of OpenCV in it.")
get_property(codec_packages GLOBAL PROPERTY gpuhist_codec_packages)
string(JOIN ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ${codec_packages} libtbb-dev zlib1g-dev libjpeg-dev libtiff-dev libpng-dev libzstd-dev liblzma-dev
  libdeflate-dev libopenexr-dev libopenjp2-7-dev libwebp-dev libarchive-dev)

# Debian wants licenses, of what is linked statically too, and changes in files of its own.
set(copyright "${PROJECT_BINARY_DIR}/debian/copyright")
file(WRITE "${copyright}" "")
set(texts LICENSE io/report/fonts/LICENSE app/licenses/stb_truetype.txt app/licenses/cli11.txt app/licenses/json.txt app/licenses/cub.txt)
list(TRANSFORM texts PREPEND "${PROJECT_SOURCE_DIR}/")
if(GPUHIST_OPENCV)
  file(GLOB opencv "${GPUHIST_OPENCV}/share/licenses/opencv*/*")
  list(APPEND texts ${opencv})
endif()
foreach(text ${texts})
  file(READ "${text}" content)
  if(content MATCHES "^[ \n]*Apache License") # Debian wants no copies of it
    get_filename_component(name "${text}" NAME)
    set(content "${name}: the Apache License 2.0, which is in /usr/share/common-licenses/Apache-2.0\n")
  endif()
  file(APPEND "${copyright}" "${content}\n")
endforeach()
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${PROJECT_BINARY_DIR}/debian/changelog.Debian" "gpuhist (${PROJECT_VERSION}-${release}) unstable; urgency=medium

  * Built from the sources of gpuhist ${PROJECT_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
configure_file(CHANGELOG.md debian/changelog COPYONLY)
file(CONFIGURE OUTPUT debian/files.cmake @ONLY CONTENT [[
if(CPACK_GENERATOR STREQUAL "DEB")
  foreach(package program=gpuhist development=libgpuhist-dev)
    string(REGEX MATCH "^(.*)=(.*)$" package "${package}")
    set(tree "${CPACK_TEMPORARY_DIRECTORY}/${CMAKE_MATCH_1}/usr/share")
    set(documents "${tree}/doc/${CMAKE_MATCH_2}")
    file(REMOVE "${documents}/LICENSE")
    file(COPY "@PROJECT_BINARY_DIR@/debian/copyright" "@PROJECT_BINARY_DIR@/debian/changelog" "@PROJECT_BINARY_DIR@/debian/changelog.Debian"
      DESTINATION "${documents}" NO_SOURCE_PERMISSIONS)
    file(GLOB pages "${tree}/man/man1/*.1")
    execute_process(COMMAND gzip -9nf "${documents}/changelog" "${documents}/changelog.Debian" ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
]])
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_BINARY_DIR}/debian/files.cmake")
include(CPack)
