# SPDX-License-Identifier: Apache-2.0
# What Debian wants otherwise than `cmake --install` leaves it: run by CPack before it packs.
file(GLOB packages "${CPACK_TEMPORARY_DIRECTORY}/*/usr")
foreach(usr IN LISTS packages)
  get_filename_component(component "${usr}" DIRECTORY)
  get_filename_component(component "${component}" NAME)
  set(package dprof)
  if(component STREQUAL "gui")
    set(package dprof-gui)
  endif()
  file(GLOB programs "${usr}/bin/*")
  foreach(program IN LISTS programs)
    file(RPATH_REMOVE FILE "${program}")
  endforeach()
  # Libraries that no program links stand in a folder of their own.
  file(GLOB libraries "${usr}/lib/lib*.so")
  foreach(library IN LISTS libraries)
    get_filename_component(name "${library}" NAME)
    file(MAKE_DIRECTORY "${usr}/lib/dprof")
    file(RENAME "${library}" "${usr}/lib/dprof/${name}")
    file(CHMOD "${usr}/lib/dprof/${name}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  endforeach()
  if(EXISTS "${usr}/share/zsh/site-functions")
    file(RENAME "${usr}/share/zsh/site-functions" "${usr}/share/zsh/vendor-completions")
  endif()
  set(documents "${usr}/share/doc/${package}")
  file(MAKE_DIRECTORY "${documents}")
  file(WRITE "${documents}/copyright" "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: dprof

Files: *
Copyright: 2026, the dprof authors
License: Apache-2.0
 On Debian systems the text of this license is in /usr/share/common-licenses/Apache-2.0.
")
  string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(COPY_FILE "${CPACK_DPROF_SOURCE}/CHANGELOG.md" "${documents}/NEWS")
  file(WRITE "${documents}/changelog" "\
dprof (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What is new is in NEWS.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
  file(GLOB to_compress "${documents}/changelog" "${documents}/NEWS" "${usr}/share/man/man1/*.1")
  foreach(file IN LISTS to_compress)
    execute_process(COMMAND gzip -9nf "${file}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
