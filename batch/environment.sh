# environment.sh   To be sourced by a POSIX shell: the library in front of LD_PRELOAD, for batch systems without a plugin.
#
# Before it: CROSSWIND_SITE_LIBRARY, path of libcrosswind.so (default below); CROSSWIND_SITE_SPOOL, if it is not
# /dev/shm/crosswind. Whoever sets CROSSWIND_DISABLE is left alone. It prints nothing, ends nothing, and where the library
# is missing it does nothing: the dynamic linker would say so at every exec.
crosswind_library=${CROSSWIND_SITE_LIBRARY:-/usr/lib/crosswind/libcrosswind.so}

case ${CROSSWIND_DISABLE:-0} in
0 | off | no)
  case ":$(printf %s "${LD_PRELOAD:-}" | tr ' ' ':'):" in
  *"/libcrosswind.so:"*) ;; # there already, ours or the user's own
  *)
    if [ -r "$crosswind_library" ]; then
      LD_PRELOAD=$crosswind_library${LD_PRELOAD:+:$LD_PRELOAD}
      export LD_PRELOAD
      if [ -n "${CROSSWIND_SITE_SPOOL:-}" ] && [ -z "${CROSSWIND_SPOOL:-}" ]; then
        CROSSWIND_SPOOL=$CROSSWIND_SITE_SPOOL
        export CROSSWIND_SPOOL
      fi
    fi
    ;;
  esac
  ;;
esac
unset crosswind_library CROSSWIND_SITE_LIBRARY CROSSWIND_SITE_SPOOL
