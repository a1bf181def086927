# SPDX-License-Identifier: Apache-2.0
# `cpack --config build/release/CPackConfig.cmake -B FOLDER` after scripts/build: Debian packages of what was built, dprof and
# dprof-gui, which depend on the libraries of the machine. What runs on other machines is scripts/wheel's.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL runtime)
set(CPACK_PACKAGE_CONTACT "dprof maintainers <maintainers@dprof.example>")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME dprof)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Shows why a distributed PyTorch job is slow
Records all ranks of a training run without a change to its code, puts them on
one time axis, and says which rank is the culprit, which are its victims, where
every millisecond of a step went, and what to do.")
if(DPROF_HAVE_QT)
  list(APPEND CPACK_COMPONENTS_ALL gui)
  set(CPACK_DEBIAN_GUI_PACKAGE_NAME dprof-gui)
  set(CPACK_DEBIAN_GUI_PACKAGE_DEPENDS "dprof (= ${PROJECT_VERSION})")
  set(CPACK_COMPONENT_GUI_DESCRIPTION "Timeline of a recorded distributed training run
The window of dprof, which records distributed training jobs: all ranks on one
time axis, with what they wait for and what a change would gain.")
endif()
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/debian/arrange.cmake")
set(CPACK_DPROF_SOURCE "${PROJECT_SOURCE_DIR}")
include(CPack)
