# What `cmake --install build --prefix PREFIX` puts where (docs/operations.md, Installing). The folders have the same names on
# every system; tools/library.py looks there.
#
#   lib/crosswind                 the libraries, the plugin for Slurm, load/
#   lib/crosswind/$LIB            the library under each name that ld.so has for its folder; for 32-bit programs the stub
#   lib/systemd, lib/tmpfiles.d   the units, and the spool directory
#   libexec/crosswind             scripts that batch systems run
#   share/crosswind               recipes for batch systems, experiments with their victims, suppressions for valgrind
#
# The Python part is pip's. Nothing of tests/ and tools/bench is installed.
set(LIBRARIES lib/crosswind)
set(SHARED share/crosswind)

# --- folders: none but root may put a file in place of another, and all reach them, whatever the umask is -----
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/make_folder.cmake)
foreach(folder ${LIBRARIES}/load ${SHARED} lib/systemd/system)
  install(CODE "make_folder(${folder})")
endforeach()

# --- what is loaded into programs that start at any moment ------------------------------------------------
set(ARRIVING ${LIBRARIES}/arriving)
install(TARGETS crosswind LIBRARY DESTINATION ${ARRIVING})
if(TARGET spank_crosswind)
  install(TARGETS spank_crosswind LIBRARY DESTINATION ${ARRIVING})
endif()
if(TARGET crosswind32)
  install(TARGETS crosswind32 LIBRARY DESTINATION ${ARRIVING}/lib32)
endif()
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/put_in_place.cmake)

# --- $LIB: Red Hat and SUSE say lib64 and lib, Debian lib/x86_64-linux-gnu and lib32 or lib/i386-linux-gnu ---
if(TARGET crosswind32)
  set(links ${CMAKE_BINARY_DIR}/lib_links)
  file(MAKE_DIRECTORY ${links}/lib64 ${links}/lib/x86_64-linux-gnu ${links}/lib/i386-linux-gnu)
  file(CREATE_LINK ../libcrosswind.so ${links}/lib64/libcrosswind.so SYMBOLIC)
  file(CREATE_LINK ../../libcrosswind.so ${links}/lib/x86_64-linux-gnu/libcrosswind.so SYMBOLIC)
  file(CREATE_LINK ../lib32/libcrosswind.so ${links}/lib/libcrosswind.so SYMBOLIC)
  file(CREATE_LINK ../../lib32/libcrosswind.so ${links}/lib/i386-linux-gnu/libcrosswind.so SYMBOLIC)
  install(DIRECTORY ${links}/ DESTINATION ${LIBRARIES})
endif()

# --- what is started by hand: the injector and the load programs ------------------------------------------
install(TARGETS crosswind-inject LIBRARY DESTINATION ${LIBRARIES})
# Each target there is named as the program that it makes.
get_property(load_programs DIRECTORY tools/load PROPERTY BUILDSYSTEM_TARGETS)
list(TRANSFORM load_programs PREPEND ${CMAKE_BINARY_DIR}/load/)
install(PROGRAMS ${load_programs} DESTINATION ${LIBRARIES}/load)

# --- what names the prefix: recipes and scripts of batch systems ----------------------------------------
set(BATCH ${PROJECT_SOURCE_DIR}/batch)
install(CODE "set(INSTALLED_COPIES [[${CMAKE_BINARY_DIR}/installed_copies]])")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_recipe.cmake)
foreach(recipe pbs/crosswind_hook.py flux/crosswind.lua modulefiles/crosswind)
  get_filename_component(folder ${recipe} DIRECTORY)
  install(CODE "install_recipe([[${BATCH}/${recipe}]] ${SHARED}/batch/${folder} FILE)")
endforeach()
install(CODE "install_recipe([[${BATCH}/environment.sh]] libexec/crosswind FILE)") # is sourced
foreach(script job_starter.sh slurm/job_event.sh)
  install(CODE "install_recipe([[${BATCH}/${script}]] libexec/crosswind PROGRAM)")
endforeach()

# --- the same under every prefix -------------------------------------------------------------------------
install(DIRECTORY experiments DESTINATION ${SHARED}
  PATTERN "*.sh" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
  PATTERN "*.tpr" EXCLUDE) # made by prepare.sh
install(FILES tools/valgrind.supp DESTINATION ${SHARED})
install(DIRECTORY packaging/systemd/ DESTINATION lib/systemd/system FILES_MATCHING PATTERN "*.service")
install(DIRECTORY packaging/tmpfiles.d DESTINATION lib FILES_MATCHING PATTERN "*.conf")
