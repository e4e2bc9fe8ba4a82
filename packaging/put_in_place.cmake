# Runs at installation (install.cmake). What is loaded into programs that start at any moment came into lib/crosswind/arriving;
# a rename puts it in place. Such a program finds the old file or the new one: with a part of one it would die of SIGBUS.
set(libraries "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/crosswind")
file(GLOB_RECURSE arrived RELATIVE "${libraries}/arriving" "${libraries}/arriving/*.so")
foreach(file IN LISTS arrived)
  get_filename_component(folder "lib/crosswind/${file}" DIRECTORY)
  make_folder("${folder}")
  file(RENAME "${libraries}/arriving/${file}" "${libraries}/${file}")
endforeach()
file(REMOVE_RECURSE "${libraries}/arriving")
list(TRANSFORM CMAKE_INSTALL_MANIFEST_FILES REPLACE "/lib/crosswind/arriving/" "/lib/crosswind/")
