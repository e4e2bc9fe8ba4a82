/*
 * The heartbeat: the helper thread of a profiled process, which closes a slice at each boundary.
 *
 * It is a raw clone with a small stack of its own, raw system calls only, no libc, no thread-local storage, a private
 * and empty descriptor table. It is started late (a wrapped call after the age of `helper_after_ms`, or MPI_Init) and
 * must be gone around every call that libc or the kernel refuses or changes in the presence of a second thread. All
 * functions preserve errno and may be called from any thread at any time.
 */
#ifndef XW_HEARTBEAT_H
#define XW_HEARTBEAT_H

#include "os.h"

/* Start the helper now unless it runs, is inhibited or forbidden. */
void xw_heartbeat_start(void) XW_HIDDEN;
/* Stop it and wait (some 20 us, at most 1 s) until the kernel has forgotten it. It starts again by itself after 1 s. */
void xw_heartbeat_stop(void) XW_HIDDEN;
/* Stop it and keep it from starting until as many xw_heartbeat_allow calls came: around set*id, unshare, setns, ... */
void xw_heartbeat_inhibit(void) XW_HIDDEN;
void xw_heartbeat_allow(void) XW_HIDDEN;
/* Stop it for ever and make the library abstain from system calls of its own from then on (seccomp).
   xw_heartbeat_permit takes that back when the call failed. */
void xw_heartbeat_forbid(void) XW_HIDDEN;
void xw_heartbeat_permit(void) XW_HIDDEN;
/* Stop it for ever: the process ends. */
void xw_heartbeat_finish(void) XW_HIDDEN;
/* After EAGAIN from fork or thread creation: give the helper's task back for good; 1 if there was one, so that the call
   is worth one retry. */
int xw_heartbeat_give_back(void) XW_HIDDEN;
/* Have it make room in the spool file now, not only at the next boundary. */
void xw_heartbeat_wake(void) XW_HIDDEN;
/* Whether it runs in this process now. */
int xw_heartbeat_runs(void) XW_HIDDEN;

#endif
